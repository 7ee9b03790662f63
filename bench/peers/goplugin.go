package main

import (
	"context"
	"os/exec"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The service is written out here and not generated: its one message is a type that protobuf itself brings.
const (
	serviceName = "peers.Echo"
	methodName  = "Call"
	method      = "/" + serviceName + "/" + methodName
)

var handshake = plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "LOOMEXT_BENCH_PEERS", MagicCookieValue: tool}

// echoServer is the far end's part.
type echoServer interface {
	Call(context.Context, *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error)
}

type echoed struct{}

func (echoed) Call(_ context.Context, args *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
	return args, nil
}

var service = grpc.ServiceDesc{
	ServiceName: serviceName,
	HandlerType: (*echoServer)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: methodName,
		// As protoc-gen-go-grpc writes it.
		Handler: func(srv any, ctx context.Context, decode func(any) error, between grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.BytesValue)
			if err := decode(in); err != nil {
				return nil, err
			}
			if between == nil {
				return srv.(echoServer).Call(ctx, in)
			}
			info := &grpc.UnaryServerInfo{Server: srv, FullMethod: method}
			return between(ctx, in, info, func(ctx context.Context, in any) (any, error) {
				return srv.(echoServer).Call(ctx, in.(*wrapperspb.BytesValue))
			})
		},
	}},
}

// echoPlugin is both ends as go-plugin wants them.
type echoPlugin struct {
	plugin.NetRPCUnsupportedPlugin
}

func (echoPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(&service, echoed{})
	return nil
}

func (echoPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

var plugins = plugin.PluginSet{tool: echoPlugin{}}

func serveGoPlugin() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake, Plugins: plugins, GRPCServer: plugin.DefaultGRPCServer, Logger: hclog.NewNullLogger(),
	})
}

type goPlugin struct {
	client *plugin.Client
	conn   *grpc.ClientConn
}

func openGoPlugin(self string) (peer, error) {
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: handshake, Plugins: plugins, Cmd: exec.Command(self, serverGoPlugin),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, Logger: hclog.NewNullLogger(),
	})
	protocol, err := client.Client()
	if err != nil {
		client.Kill()
		return nil, err
	}
	raw, err := protocol.Dispense(tool)
	if err != nil {
		client.Kill()
		return nil, err
	}
	return &goPlugin{client: client, conn: raw.(*grpc.ClientConn)}, nil
}

func (g *goPlugin) call(ctx context.Context, text string) (string, error) {
	out := new(wrapperspb.BytesValue)
	if err := g.conn.Invoke(ctx, method, &wrapperspb.BytesValue{Value: []byte(text)}, out); err != nil {
		return "", err
	}
	return string(out.GetValue()), nil
}

func (g *goPlugin) close() error {
	g.client.Kill()
	return nil
}
