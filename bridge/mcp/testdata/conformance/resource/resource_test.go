package resource_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"example.com/every/resource/binary"
	"example.com/every/resource/record"
	"example.com/every/resource/text"
	"example.com/every/resource/watched"
	"example.com/every/sample"

	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

func TestTexts(t *testing.T) {
	for want, tool := range map[string]ext.Tool{
		"This is the content of the static text resource.": text.Run,
		"This is the content of the watched resource.":     watched.Run,
	} {
		out, err := tool(captest.New(t).Ctx(), json.RawMessage(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Content[0].(ext.TextContent).Text; got != want {
			t.Errorf("read %q; want %q", got, want)
		}
	}
}

func TestARecordHasItsID(t *testing.T) {
	out, err := record.Run(captest.New(t).Ctx(), json.RawMessage(`{"id": "123"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(out.Content[0].(ext.JSONContent).Value); got != `{"id":"123","templateTest":true,"data":"Data for ID: 123"}` {
		t.Errorf("read %s", got)
	}
}

func TestBytesAreAllThatIsRead(t *testing.T) {
	host := captest.New(t)
	out, err := binary.Run(host.Ctx(), json.RawMessage(`{}`))
	if err != nil || len(out.Content) != 0 {
		t.Fatalf("answered %+v, %v", out.Content, err)
	}
	picture, err := sample.Picture()
	if err != nil {
		t.Fatal(err)
	}
	if data, err := report.BytesAt(host.Calls()[0].Args, "bytes"); err != nil || !bytes.Equal(data, picture) {
		t.Errorf("emitted %d bytes, %v", len(data), err)
	}
}
