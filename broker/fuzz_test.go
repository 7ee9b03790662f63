package broker

import (
	"context"
	"slices"
	"testing"

	"github.com/loomext/loomext/internal/wire"
)

// FuzzServe serves whatever a satellite can say. No call brings the host down, and each has an answer that travels.
func FuzzServe(f *testing.F) {
	seed := func(capability string, args ...wire.Field) {
		frame, err := wire.AppendCapCall(nil, 1, wire.CapCall{Cap: capability, Args: wire.Map(args...), DeadlineMS: 1})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame[4:])
	}
	key, value := arg("key", wire.String("k")), arg("value", wire.Bin([]byte("v")))
	seed("kv.set", key, value)
	seed("kv.get", key)
	seed("kv.delete", key)
	seed("kv.get", value)
	seed("clock.now")
	seed("rand.bytes", arg("n", wire.Int(16)))
	seed("report.emit", emission("partial", "text/plain", "x")...)
	seed("report.emit", emission("chart", "image/png", "x")...)
	seed("net.request", arg("method", wire.String("GET")), arg("url", wire.String("https://example.com")), arg("headers", wire.Map(arg("A", wire.String("b")))), arg("body", wire.Bin(nil)))
	for _, one := range []wire.Value{
		question("k", AskUser, `{"message":"?","requestedSchema":{}}`), question("k", AskModel, `{"messages":[{"role":"user","text":"?"}],"max_tokens":1}`), question("k", AskRoots, "{}"),
	} {
		seed("ask.input", arg("requests", wire.List(one)))
	}
	seed("fs.read", arg("path", wire.String("a")))
	seed("fs.list", arg("path", wire.String(".")))
	seed("fs.write", arg("path", wire.String("a/../b")), arg("contents", wire.String("x")))
	seed("fs.edit", arg("path", wire.String("a")), arg("edits", wire.List(edit("x", "y"))))
	seed("no.such", arg("list", wire.List(wire.Nil(), wire.Float(1), wire.Bool(true))))

	b, err := New(Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(b.Close)
	w, _ := inWorkspace(f)
	s := b.Open(Terms{Extension: "e", Requested: everything, Granted: everything, Workspace: w}, "s") // and no [net]
	codes := []string{
		wire.CodeUnknownCapability, wire.CodeUnavailable, wire.CodeInvalidArgument, wire.CodeTooLarge, wire.CodePolicy, wire.CodeNetworkOff,
		wire.CodeNotFound, wire.CodePermissionDenied, wire.CodeWrongKind, wire.CodeStaleContent,
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		frame, err := wire.Decode(payload, wire.Host)
		if err != nil || frame.Kind != wire.KindCapCall {
			return
		}
		r := s.Begin(nil, answering).Serve(context.Background(), frame.Cap.Cap, frame.Cap.Args)
		if !r.OK && !slices.Contains(codes, r.Fault.Code) {
			t.Errorf("%s: %v", frame.Cap.Cap, r.Fault)
		}
		if _, err := wire.AppendResult(nil, wire.KindCapResult, 1, r); err != nil {
			t.Errorf("%s: %v", frame.Cap.Cap, err)
		}
	})
}
