package broker

import (
	"log/slog"

	"github.com/loomext/loomext/broker/artifact"
	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/egress"
)

// Options are what a broker serves with.
type Options struct {
	Config    config.Config
	Artifacts *artifact.Store // nil: report.emit of anything but a partial is unavailable
	Logger    *slog.Logger    // nil: none. At debug: extension, capability, code and duration of each call, never arguments
}

// Broker serves the scopes that it opens. It is for use by many goroutines.
type Broker struct {
	client    *egress.Client
	ceilings  config.Ceilings
	artifacts *artifact.Store
	log       *slog.Logger
}

// New makes a broker with a network client of its own, which [Broker.Close] ends. The error is the client's, about the
// [egress] of the configuration.
func New(o Options) (*Broker, error) {
	routes := make([]egress.Route, 0, len(o.Config.Egress.Resolve))
	for _, r := range o.Config.Egress.Resolve {
		routes = append(routes, egress.Route{Host: r.Host, Port: r.Port, Address: r.Address})
	}
	client, err := egress.New(egress.Options{
		Roots:   o.Config.Egress.Roots,
		Resolve: routes,
		Private: o.Config.Egress.Private,
		Proxy:   o.Config.Egress.Proxy,
		Secret:  secrets(o.Config.Secrets).resolve,
	})
	if err != nil {
		return nil, err
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ceilings := o.Config.Ceilings
	if ceilings.MaxResponseBytes <= 0 { // a Config that was made by hand
		ceilings.MaxResponseBytes = config.Default().Ceilings.MaxResponseBytes
	}
	return &Broker{client: client, ceilings: ceilings, artifacts: o.Artifacts, log: log}, nil
}

// Close calls off the requests that are under way, waits for them and ends the connections. What else is being served is
// for its contexts to end.
func (b *Broker) Close() { b.client.Close() }
