package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/satellite"
)

const (
	roleRoundTrip  = "roundtrip"
	roleJailedTrip = "jailedtrip"
	echoTool       = "echo"

	smallArgs = 1 << 10
	largeArgs = 64 << 10

	smallLimit = 1.3
	largeLimit = 1.5

	jailedTripLimit = 1.15

	// A batch takes a third of a millisecond: far above what reading the clock costs, and so far below a time slice that
	// most batches end before the core is given to somebody else.
	smallBatch, smallRounds = 20, 1500
	largeBatch, largeRounds = 2, 1000
	// leadIn is how many trips come before a batch and do not count: the first ones meet caches that the other side filled.
	leadIn = 4
)

func smallCall(ctx context.Context, b *bed) (row, error) {
	return roundTrip(ctx, b, smallArgs, smallLimit)
}

func largeCall(ctx context.Context, b *bed) (row, error) {
	return roundTrip(ctx, b, largeArgs, largeLimit)
}

// roundTrip is a call of package satellite against the same bytes.
func roundTrip(ctx context.Context, b *bed, size int, limit float64) (row, error) {
	s, err := inPinnedChild(ctx, roleRoundTrip, b.echo, b.netecho, strconv.Itoa(size))
	if err != nil {
		return row{}, err
	}
	return ratioRow(s, most(limit), behind(s)), nil
}

// jailedTrip is a call of a satellite in a jail against that of one outside, the host's part being the same.
func jailedTrip(ctx context.Context, b *bed) (row, error) {
	s, err := inPinnedChild(ctx, roleJailedTrip, b.echo)
	if err != nil {
		return row{}, err
	}
	return ratioRow(s, most(jailedTripLimit), behind(s)), nil
}

func takeJailedTrip(ctx context.Context, args []string) (_ sample, err error) {
	if len(args) != 1 {
		return sample{}, errors.New("want an artifact")
	}
	s, err := newStarts(ctx, args[0])
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	var sides [2]func() error
	text := jsonText(smallArgs)
	for i, begin := range []starter{unjailed(s.artifact, s.env, s.null), jailed(s.image, s.env)} {
		d, err := begin(ctx)
		if err != nil {
			return sample{}, err
		}
		defer func() { err = errors.Join(err, d.close()) }()
		sides[i] = func() error { return d.call(echoTool, text) }
	}
	return compare(ctx, smallRounds, batches(smallBatch, sides[0]), batches(smallBatch, sides[1]))
}

func takeRoundTrip(ctx context.Context, args []string) (_ sample, err error) {
	if len(args) != 3 {
		return sample{}, errors.New("want an artifact, an echo and a size")
	}
	artifact, netecho := args[0], args[1]
	size, err := strconv.Atoi(args[2])
	if err != nil {
		return sample{}, err
	}
	text := jsonText(size)
	echo, err := echoOfCall(ctx, netecho, text)
	if err != nil {
		return sample{}, err
	}
	defer func() { err = errors.Join(err, echo.close()) }()
	s, err := launch(ctx, artifact)
	if err != nil {
		return sample{}, err
	}
	defer s.Close()

	call := func() error {
		outcome, err := s.Tool(ctx, echoTool, text, "", 0)
		if err != nil {
			return err
		}
		if len(outcome.Content) != 1 || len(outcome.Content[0].Body) != len(text) {
			return errors.New("the satellite did not give the arguments back")
		}
		return nil
	}
	floor, batch, rounds := echo.trip, smallBatch, smallRounds
	if size >= largeArgs {
		batch, rounds = largeBatch, largeRounds
		floor = func() error {
			if err := echo.trip(); err != nil {
				return err
			}
			if !json.Valid(text) {
				return errors.New("the text is no JSON")
			}
			return nil
		}
	}
	return compare(ctx, rounds, batches(batch, floor), batches(batch, call))
}

// batches is an op that does n times the same, once it has warmed up, and tells the time of one.
func batches(n int, do func() error) op {
	return func(context.Context) (time.Duration, error) {
		var start time.Time
		for i := -leadIn; i < n; i++ {
			if i == 0 {
				start = time.Now()
			}
			if err := do(); err != nil {
				return 0, err
			}
		}
		return time.Since(start) / time.Duration(n), nil
	}
}

// echo is the floor of a round trip: a child on the other end of a net.UnixConn, and frames as long as those of what is
// measured.
type echo struct {
	conn  *net.UnixConn
	child *exec.Cmd
	sent  []byte
	back  []byte
}

// echoOfCall has the frames of a call of the echo tool with the text as its arguments.
func echoOfCall(ctx context.Context, program string, text []byte) (*echo, error) {
	call, err := wire.AppendHookCall(nil, 1, toolCall(text))
	if err != nil {
		return nil, err
	}
	answer, err := wire.AppendResult(nil, wire.KindHookResult, 1, toolResult(text))
	if err != nil {
		return nil, err
	}
	return newEcho(ctx, program, call, len(answer))
}

// newEcho sends a frame and gets so many bytes back.
func newEcho(ctx context.Context, program string, sent []byte, back int) (*echo, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer ours.Close() // FileConn has a copy
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	e := &echo{conn: conn.(*net.UnixConn), sent: sent, back: make([]byte, back)}
	e.child = exec.CommandContext(ctx, program, strconv.Itoa(back))
	e.child.ExtraFiles = []*os.File{theirs}
	if err := e.child.Start(); err != nil {
		_ = e.conn.Close()
		return nil, err
	}
	return e, nil
}

func (e *echo) trip() error {
	if _, err := e.conn.Write(e.sent); err != nil {
		return err
	}
	_, err := io.ReadFull(e.conn, e.back)
	return err
}

func (e *echo) close() error { return errors.Join(e.conn.Close(), e.child.Wait()) }

// toolCall is the hook_call of a tool as a host writes it.
func toolCall(text []byte) wire.HookCall {
	return wire.HookCall{
		Token: make([]byte, wire.TokenLen), Kind: wire.CallTool, Name: echoTool,
		Args:       wire.Map(wire.Field{Key: "args", Value: wire.Text(text)}, wire.Field{Key: "strand", Value: wire.String("")}),
		DeadlineMS: satellite.DefaultDeadline.Milliseconds(),
	}
}

// toolResult is the answer of the echo tool.
func toolResult(text []byte) wire.Result {
	block := wire.Map(wire.Field{Key: "type", Value: wire.String("text")}, wire.Field{Key: "text", Value: wire.Text(text)})
	return wire.Result{OK: true, Value: wire.Map(
		wire.Field{Key: "content", Value: wire.List(block)}, wire.Field{Key: "terminate", Value: wire.Bool(false)})}
}

// jsonText is a JSON document of exactly so many bytes that looks like what a model calls a tool with: a few short values, and
// a long text with lines, quotes and letters that are not ASCII.
func jsonText(size int) []byte {
	const (
		head = `{"path":"internal/report/format.go","line":42,"all":false,"text":"`
		line = `\tif name == \"naïve\" { return format(name, 0.5) } // the rest is looked up once and kept\n`
		tail = `"}`
	)
	text := make([]byte, 0, size)
	text = append(text, head...)
	for len(text)+len(line)+len(tail) <= size {
		text = append(text, line...)
	}
	for len(text)+len(tail) < size {
		text = append(text, '.')
	}
	return append(text, tail...)
}
