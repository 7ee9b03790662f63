// Package tool does what a test asks for.
package tool

import (
	"fmt"
	"strings"
	"time"

	"github.com/loomext/loomext/prelude/cap/fs"
	"github.com/loomext/loomext/prelude/cap/kv"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

type request struct {
	Op   string `json:"op"`
	Key  string `json:"key"`
	Text string `json:"text"`
	N    int    `json:"n"`
}

// Run is the tool.
var Run = ext.Typed(func(ctx ext.Ctx, r request) (ext.Outcome, error) {
	switch r.Op {
	case "":
		if err := emit(ctx, "photo.png", "image/png", "a picture"); err != nil {
			return ext.Outcome{}, err
		}
		return ext.Outcome{Content: []ext.Content{ext.TextContent{}}}, nil
	case "echo":
		return ext.Text(r.Text), nil
	case "json":
		return ext.Outcome{Content: []ext.Content{ext.JSONContent{Value: []byte(r.Text)}}}, nil
	case "both":
		return ext.Outcome{Content: []ext.Content{ext.TextContent{Text: "first"}, ext.JSONContent{Value: []byte(r.Text)}}}, nil
	case "refuse":
		return ext.Outcome{}, ext.Refuse("%s", r.Text)
	case "panic":
		panic(r.Text)
	case "die": // in a goroutine, which nothing can recover
		go func() { panic(r.Text) }()
		select {}
	case "hold": // until the context ends
		ctx.Report("holding")
		<-ctx.Done()
		return ext.Outcome{}, ctx.Err()
	case "spin": // and heed nothing
		ctx.Report("spinning")
		for i := 0; ; i++ {
			spun = i
		}
	case "pid": // another one is another satellite
		return ext.Text(fmt.Sprint(born)), nil
	case "report":
		for i := range r.N {
			ctx.Report(fmt.Sprint(r.Text, i))
		}
		return ext.Text("reported"), nil
	case "flood": // standard error, in the one way there is
		go func() { panic(strings.Repeat(strings.Repeat(r.Text, 100)+"\n", r.N)) }()
		select {}
	case "big":
		return ext.Text(strings.Repeat("0123456789", r.N/10)), nil
	case "emit":
		return ext.Text("emitted"), emit(ctx, r.Key, r.Text, strings.Repeat("x", r.N))
	case "write":
		return ext.Text("written"), fs.Write(ctx, r.Key, r.Text)
	case "next":
		return next(ctx, r.Key)
	}
	return questions(ctx, r)
})

var (
	spun int
	born = time.Now().UnixNano()
)

func emit(ctx ext.Ctx, name, contentType, data string) error {
	_, err := report.Emit(ctx, name, contentType, []byte(data))
	return err
}

// next counts, which tells how often the tool was run.
func next(ctx ext.Ctx, key string) (ext.Outcome, error) {
	value, _, err := kv.Get(ctx, key)
	if err != nil {
		return ext.Outcome{}, err
	}
	value = append(value, '|')
	return ext.Text(fmt.Sprint(len(value))), kv.Set(ctx, key, value)
}
