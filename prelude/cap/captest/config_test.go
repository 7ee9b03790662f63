package captest_test

import (
	"strings"
	"testing"

	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/ext"
)

type settings struct {
	Digits int `json:"digits"`
}

func TestAConfigurationLastsAsLongAsItsTest(t *testing.T) {
	t.Run("with one", func(t *testing.T) {
		captest.New(t).Config(map[string]any{"digits": 3})
		got, err := ext.Config[settings]()
		if err != nil || got.Digits != 3 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	if got, err := ext.Config[settings](); err == nil {
		t.Errorf("it is still there afterwards: %+v", got)
	}
}

func TestWithoutATestThereIsNoConfiguration(t *testing.T) {
	host := captest.Open()
	defer host.End()
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "make the host with New") {
			t.Errorf("Config says %q", text)
		}
	}()
	host.Config(map[string]any{"digits": 3})
}
