package broker

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomext/loomext/broker/artifact"
	"github.com/loomext/loomext/internal/wire"
)

func emission(name, contentType, data string) []wire.Field {
	return []wire.Field{arg("name", wire.String(name)), arg("content_type", wire.String(contentType)), arg("bytes", wire.Bin([]byte(data)))}
}

func emit(t *testing.T, i *Invocation, name, contentType, data string) string {
	t.Helper()
	id, _ := mustGet(t, done(t, serve(i, "report.emit", emission(name, contentType, data)...)), "id").AsString()
	return id
}

func TestPartialsAreShownInOrderAndNotKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "artifacts")
	var got []string
	b := newBroker(t, Options{Artifacts: artifact.Open(dir)})
	i := b.Open(Terms{Extension: "e"}, "s").Begin(func(r Report) { // which needs no grant
		if r.Name != "partial" || r.ContentType != "text/plain" || r.ID != "" {
			t.Errorf("shown %+v", r)
		}
		got = append(got, string(r.Data))
	}, nil)
	for n := range 3 {
		if id := emit(t, i, "partial", "text/plain", fmt.Sprint(n)); id != fmt.Sprint("report-", n+1) {
			t.Errorf("%d has the id %q", n, id)
		}
	}
	if !slices.Equal(got, []string{"0", "1", "2"}) {
		t.Errorf("shown %q", got)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was kept: %v", err)
	}
	if r := serve(b.Open(Terms{Extension: "e"}, "s").Begin(nil, nil), "report.emit", emission("partial", "text/plain", "x")...); !r.OK {
		t.Errorf("with nobody to show it to: %v", r.Fault)
	}
}

func TestAnArtifactIsKeptUnderTheIDThatIsAnswered(t *testing.T) {
	store := artifact.Open(t.TempDir())
	var shown []Report
	i := open(t, Options{Artifacts: store}, func(r Report) { shown = append(shown, r) })
	for n, r := range []Report{
		{Name: "chart.png", ContentType: "image/png", Data: []byte("PNG")},
		{Name: "partial", ContentType: "text/html", Data: []byte("<p>")},
		{Name: "notes", ContentType: "text/plain", Data: nil},
	} {
		id := emit(t, i, r.Name, r.ContentType, string(r.Data))
		kept, err := store.Get(id)
		if err != nil || kept.Extension != "weather" || kept.Session != "s1" || kept.Name != r.Name || kept.ContentType != r.ContentType {
			t.Errorf("kept %+v, %v", kept, err)
		}
		path, err := store.Path(id)
		if err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != string(r.Data) {
			t.Errorf("kept %q, %v", data, err)
		}
		if len(shown) != n+1 || shown[n].ID != id || shown[n].Name != r.Name || string(shown[n].Data) != string(r.Data) {
			t.Errorf("shown %+v", shown)
		}
	}
}

func TestWithoutAStoreOnlyPartialsAreServed(t *testing.T) {
	i := open(t, Options{}, nil)
	refusedWith(t, serve(i, "report.emit", emission("a", "text/plain", "x")...), wire.CodeUnavailable, "keeps no artifacts; return the data")
	emit(t, i, "partial", "text/plain", "x")
}

func TestNamesOfReportsAreOneLine(t *testing.T) {
	i := open(t, Options{Artifacts: artifact.Open(t.TempDir())}, func(r Report) { t.Errorf("shown %+v", r) })
	for _, c := range []struct{ name, contentType, code, says string }{
		{"", "text/plain", wire.CodeInvalidArgument, "name is empty"},
		{"a", "", wire.CodeInvalidArgument, "content_type is empty"},
		{"a\nb", "text/plain", wire.CodeInvalidArgument, "name holds a control or format character"},
		{"a\u202eb", "text/plain", wire.CodeInvalidArgument, "name holds a control or format character"},
		{"a", "text/\x00", wire.CodeInvalidArgument, "content_type holds a control or format character"},
		{strings.Repeat("n", artifact.MaxName+1), "text/plain", wire.CodeTooLarge, "name has 256 bytes; at most 255"},
		{"a", strings.Repeat("t", artifact.MaxContentType+1), wire.CodeTooLarge, "content_type has 128 bytes; at most 127"},
	} {
		refusedWith(t, serve(i, "report.emit", emission(c.name, c.contentType, "x")...), c.code, c.says)
	}
}

func TestReportsOfOneInvocationAreBounded(t *testing.T) {
	shown := 0
	store := artifact.Open(t.TempDir())
	i := open(t, Options{Artifacts: store}, func(Report) { shown++ })
	refusedWith(t, serve(i, "report.emit", emission("partial", "text/plain", strings.Repeat("x", maxPartial+1))...), wire.CodeTooLarge, "a partial has 65537 bytes; at most 65536")
	for range maxPartialBytes / maxPartial {
		emit(t, i, "partial", "text/plain", strings.Repeat("x", maxPartial))
	}
	refusedWith(t, serve(i, "report.emit", emission("partial", "text/plain", "x")...), wire.CodePolicy, "more than 4 MiB together")
	for n := maxPartialBytes / maxPartial; n < maxPartials; n++ {
		emit(t, i, "partial", "text/plain", "")
	}
	refusedWith(t, serve(i, "report.emit", emission("partial", "text/plain", "")...), wire.CodePolicy, "reported 6000 partials")
	for range maxArtifacts {
		emit(t, i, "a", "text/plain", "x")
	}
	refusedWith(t, serve(i, "report.emit", emission("a", "text/plain", "x")...), wire.CodePolicy, "reported 64 artifacts")
	if shown != maxPartials+maxArtifacts {
		t.Errorf("shown %d", shown)
	}
	next := i.scope.Begin(nil, nil)
	emit(t, next, "partial", "text/plain", "the next invocation has its own")
	emit(t, next, "a", "text/plain", "x")
	refusedWith(t, serve(next, "report.emit", emission("a", "text/plain", strings.Repeat("x", artifact.MaxData+1))...), wire.CodeTooLarge, "an artifact has 15728641 bytes")
	big := strings.Repeat("x", artifact.MaxData)
	for range maxArtifactBytes / artifact.MaxData {
		emit(t, next, "big", "text/plain", big)
	}
	refusedWith(t, serve(next, "report.emit", emission("big", "text/plain", big)...), wire.CodePolicy, "more than 64 MiB together")
}

func TestAFullDiskIsNoFaultOfTheExtension(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	o := Options{Artifacts: artifact.Open(file), Logger: slog.New(slog.NewTextHandler(&log, nil))}
	i := open(t, o, func(Report) { t.Error("shown") })
	r := serve(i, "report.emit", emission("a", "text/plain", "x")...)
	refusedWith(t, r, wire.CodeUnavailable, "could not keep the artifact; return the data")
	if !strings.Contains(log.String(), "extension=weather") || !strings.Contains(log.String(), file) {
		t.Errorf("the operator reads %s", &log)
	}
	if strings.Contains(r.Fault.Msg, file) {
		t.Errorf("the message has a path of the host: %s", r.Fault.Msg)
	}
}
