package mcp

import (
	"bytes"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/install"
)

// answeringAt is a record whose one tool answers under URIs.
func answeringAt(extension string, uris ...string) install.Record {
	r := recorded(extension, "read")
	r.MCP = &install.RecordMCP{}
	for _, uri := range uris {
		r.MCP.Resources = append(r.MCP.Resources, install.RecordResource{URI: uri, Name: "read", Tool: "read"})
	}
	return r
}

func TestAURIThatTwoExtensionsAnswerForIsNeithers(t *testing.T) {
	for _, c := range []struct {
		name    string
		records []install.Record
		want    []string // each with its extension
		left    int      // warnings
	}{
		{"the same URI", []install.Record{answeringAt("alpha", "notes://today"), answeringAt("beta", "notes://today")}, nil, 2},
		{"the same form under other names", []install.Record{answeringAt("alpha", "notes://{zid}"), answeringAt("beta", "notes://{aname}")}, nil, 2},
		{"a URI within a template", []install.Record{answeringAt("alpha", "notes://{id}"), answeringAt("beta", "notes://today", "notes://today/1")}, []string{"beta notes://today/1"}, 2},
		{"a template around a URI", []install.Record{answeringAt("alpha", "notes://today"), answeringAt("beta", "notes://{id}", "notes://{id}/1")}, []string{"beta notes://{id}/1"}, 2},
		{"two templates that meet in some", []install.Record{answeringAt("alpha", "notes://{id}/x"), answeringAt("beta", "notes://a/{id}", "notes://{id}/y")}, []string{"beta notes://{id}/y"}, 2},
		{"three that meet", []install.Record{answeringAt("alpha", "notes://{a}/x"), answeringAt("beta", "notes://x/{b}"), answeringAt("gamma", "notes://x/y")}, nil, 3},
		{"both of one extension", []install.Record{answeringAt("alpha", "notes://{id}", "notes://today")}, []string{"alpha notes://today", "alpha notes://{id}"}, 0},
		{"others", []install.Record{answeringAt("alpha", "notes://{id}"), answeringAt("beta", "pages://{id}")}, []string{"alpha notes://{id}", "beta pages://{id}"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			b := &Bridge{server: sdk.NewServer(&sdk.Implementation{Name: "test"}, nil), logger: slog.New(slog.NewTextHandler(&log, nil)), warned: new(warned)}
			for range 2 { // as with a change of the store
				b.apply(c.records)
			}
			var got []string
			for _, list := range []features{b.catalog.resources, b.catalog.patterns} {
				for _, uri := range slices.Sorted(maps.Keys(list)) {
					got = append(got, list[uri].extension+" "+uri)
				}
			}
			slices.Sort(got)
			if slices.Sort(c.want); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if n := strings.Count(log.String(), "left out"); n != c.left {
				t.Errorf("%d warnings, want %d:\n%s", n, c.left, &log)
			}
		})
	}
}
