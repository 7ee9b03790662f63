package proc

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
)

// TestThePageHasTheBounds holds docs/proc.md to what holds.
func TestThePageHasTheBounds(t *testing.T) {
	raw, err := os.ReadFile("../../docs/proc.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for _, text := range []string{
		fmt.Sprintf("| words of a command | %s, of %s bytes together |", thousands(MaxArguments), thousands(MaxArgumentBytes)),
		fmt.Sprintf("| standard input | %d MiB |", MaxStdin>>20),
		fmt.Sprintf("the first %d MiB of each is kept", MaxOutput>>20),
		fmt.Sprintf("| both together | %d MiB are read |", MaxFlood>>20),
		map[time.Duration]string{10 * time.Minute: "and ten minutes, whichever is least"}[MaxTimeout],
		fmt.Sprintf("in one session at once | %d |", maxLanes),
		fmt.Sprintf("| private memory of each process | %d GiB |", dataLimit>>30),
		fmt.Sprintf("| size of a file | %d GiB |", fileLimit>>30),
		"at `" + jail.WorkspaceDir + "`, where it starts",
		"in `" + strings.Join(systemPath[:2], "`, `") + "` and `" + systemPath[2] + "`",
	} {
		if text == "" || !strings.Contains(page, text) {
			t.Errorf("the page does not say %q", text)
		}
	}
	_, example, _ := strings.Cut(page, "```toml\n")
	example, _, _ = strings.Cut(example, "```")
	text := "[extension]\nname = \"x\"\ndescription = \"d\"\n" + example + "[[hook]]\nevent = \"tool_call\"\nentry = \"gate\"\n"
	m, err := manifest.Decode([]byte(text), tree{})
	if err != nil {
		t.Fatal(err)
	}
	if table, ok := m.Proc(); !ok || len(table.Commands) != 2 || len(table.Env) != 1 {
		t.Errorf("the example is %v", table)
	}
	_, rule, _ := strings.Cut(page, "cannot be named: ")
	rule, _, _ = strings.Cut(rule, " in it.")
	for _, name := range strings.FieldsFunc(rule, func(r rune) bool { return r == '`' || r == ',' || r == ' ' || r == '\n' }) {
		name = strings.ReplaceAll(name, "*", "X")
		if strings.ToUpper(name) == name && manifest.NotForCommands(name) == "" {
			t.Errorf("the page says that %s cannot be named", name)
		}
	}
}

func thousands(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }

type tree struct{}

func (tree) File(string) ([]byte, bool) { return nil, false }
func (tree) Packages() []string         { return []string{"gate"} }
