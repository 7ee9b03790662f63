// Package tool does what a test asks for.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"extension.invalid/probe/start"
	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/cap/clock"
	"github.com/loomext/loomext/prelude/cap/fs"
	"github.com/loomext/loomext/prelude/cap/kv"
	"github.com/loomext/loomext/prelude/cap/net"
	"github.com/loomext/loomext/prelude/cap/rand"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

type request struct {
	Op   string `json:"op"`
	Key  string `json:"key"`
	Text string `json:"text"`
	N    int    `json:"n"`
}

// heard is what a goroutine was told after its invocation was answered.
var heard = make(chan string, 1)

// kept is the context of an invocation that was answered.
var kept context.Context

// Run is the tool.
var Run = ext.Typed(func(ctx ext.Ctx, r request) (ext.Outcome, error) {
	switch r.Op {
	case "echo":
		return ext.Text(r.Text), nil
	case "refuse":
		return ext.Outcome{}, ext.Refuse("%s", r.Text)
	case "panic":
		panic(r.Text)
	case "die": // in a goroutine, which nothing can recover
		go func() { panic(r.Text) }()
		select {}
	case "dielater": // once it is answered
		go func() {
			<-ctx.Done()
			panic(r.Text)
		}()
		return ext.Text("answered"), nil
	case "hold": // until the context ends
		ctx.Report("holding")
		<-ctx.Done()
		return ext.Outcome{}, ctx.Err()
	case "spin": // and heed nothing
		ctx.Report("spinning")
		for i := 0; ; i++ {
			spun = i
		}
	case "restarts":
		return ext.Text(fmt.Sprint(start.Restarts)), nil
	case "report":
		for i := range r.N {
			ctx.Report(fmt.Sprint(r.Text, i))
		}
		return ext.Text("reported"), nil
	case "emit":
		id, err := report.Emit(ctx, r.Key, "text/csv", []byte(r.Text))
		return ext.Text(id), err
	case "after": // call once the invocation is answered, under its context and under none
		kept = ctx
		go func() {
			<-ctx.Done()
			_, _, with := kv.Get(context.WithoutCancel(ctx), "key")
			_, _, without := kv.Get(context.Background(), "key")
			heard <- fmt.Sprint(with, " / ", without)
		}()
		return ext.Text("answered"), nil
	case "heard":
		return ext.Text(<-heard), nil
	case "stale": // call with the context of another invocation while this one is open
		_, _, err := kv.Get(context.WithoutCancel(kept), "key")
		return ext.Text(fmt.Sprint(err)), nil
	case "overlap":
		return overlap(ctx, r.N)
	}
	text, err := capability(ctx, r)
	return ext.Text(text), err
})

var spun int

// capability makes one call of a capability.
func capability(ctx context.Context, r request) (string, error) {
	switch r.Op {
	case "set":
		return "", kv.Set(ctx, r.Key, []byte(r.Text))
	case "get":
		value, found, err := kv.Get(ctx, r.Key)
		return fmt.Sprintf("%t %s", found, value), err
	case "write":
		return "wrote", fs.Write(ctx, r.Key, r.Text)
	case "now":
		at, err := clock.Now(ctx)
		return at.Format(time.RFC3339), err
	case "random":
		b, err := rand.Bytes(ctx, r.N)
		return fmt.Sprintf("%x", b), err
	case "ask": // everybody, at once
		responses, err := ask.All(ctx,
			ask.Question{Key: r.Key, Message: r.Text, Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)},
			ask.Prompt{Key: r.Key + "_model", Messages: []ask.Message{{Role: ask.RoleUser, Text: r.Text}}, MaxTokens: 10},
			ask.RootsRequest{Key: r.Key + "_roots"},
		)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %s, %s, %s", responses[0].Reply.Action, responses[0].Reply.Content, responses[1].Completion.Text, responses[2].Roots[0].URI), nil
	case "askagain": // one question after the other
		for n := range r.N {
			reply, err := ask.User(ctx, ask.Question{Key: fmt.Sprint(r.Key, n), Message: r.Text})
			if err != nil {
				return fmt.Sprint(n, " answers, then ", err), nil
			}
			if reply.Action != ask.Accept {
				return reply.Action, nil
			}
		}
		return fmt.Sprint(r.N, " answers"), nil
	case "fetch":
		response, err := net.Fetch(ctx, r.Text)
		return fmt.Sprint(response.Status, " ", string(response.Body)), err
	}
	return "", errors.New("no such op")
}

// overlap has many calls under way at once.
func overlap(ctx context.Context, n int) (ext.Outcome, error) {
	var all sync.WaitGroup
	results := make([]string, n)
	for i := range n {
		all.Go(func() {
			key := fmt.Sprint("overlap", i)
			err := kv.Set(ctx, key, []byte(key))
			value, _, got := kv.Get(ctx, key)
			if err != nil || got != nil || string(value) != key {
				results[i] = fmt.Sprint(key, ": ", err, " ", got, " ", string(value))
			}
		})
	}
	all.Wait()
	return ext.Text(strings.Trim(strings.Join(results, "\n"), "\n")), nil
}
