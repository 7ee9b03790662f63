package loomext_test

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// TestLinksLeadSomewhere follows every relative link of every page: the file is there, and a
// heading of it has the anchor.
func TestLinksLeadSomewhere(t *testing.T) {
	pages := map[string]page{}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && file != "." && (name[0] == '.' || name == "third_party" || name == "vendor" || name == "bin"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(file)
		if err == nil {
			pages[file] = readPage(string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	followed := 0
	for file, page := range pages {
		for _, link := range page.links {
			to, err := url.Parse(link.target)
			if err != nil {
				t.Errorf("%s:%d: %q is no link: %v", file, link.line, link.target, err)
				continue
			}
			if to.Scheme != "" || to.Host != "" {
				continue // where it leads is not ours
			}
			followed++
			target := file
			if to.Path != "" {
				target = filepath.Join(filepath.Dir(file), filepath.FromSlash(to.Path))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s:%d: %s leads nowhere: %v", file, link.line, link.target, err)
				continue
			}
			if other, read := pages[target]; to.Fragment != "" && (!read || !other.anchors[to.Fragment]) {
				t.Errorf("%s:%d: %s: no heading of %s has this anchor", file, link.line, link.target, target)
			}
		}
	}
	if least := 50; followed < least {
		t.Errorf("%d links were found; the pages are not read as they are written", followed)
	}
}

// page is what a page links to, and what can be linked to in it.
type page struct {
	links   []link
	anchors map[string]bool
}

type link struct {
	target string
	line   int
}

var (
	codeSpan   = regexp.MustCompile("``[^`]+``|`[^`]*`")
	linkTarget = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading    = regexp.MustCompile(`^#{1,6} +(.+?)[ #]*$`)
	linkedText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// readPage finds the links and headings of a page. What stands in code is neither.
func readPage(text string) page {
	p := page{anchors: map[string]bool{}}
	times := map[string]int{}
	fence, number := "", 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		mark := strings.TrimLeft(line, " ")
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) && strings.Trim(mark, "`~ ") == "" {
				fence = ""
			}
			continue
		case strings.HasPrefix(mark, "```") || strings.HasPrefix(mark, "~~~"):
			fence = mark[:len(mark)-len(strings.TrimLeft(mark, mark[:1]))]
			continue
		}
		if found := heading.FindStringSubmatch(line); found != nil {
			at := anchor(found[1])
			if n := times[at]; n > 0 {
				p.anchors[at+"-"+strconv.Itoa(n)] = true
			} else {
				p.anchors[at] = true
			}
			times[at]++
		}
		for _, found := range linkTarget.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
			p.links = append(p.links, link{found[1], number})
		}
	}
	return p
}

// anchor is what a heading goes by in a link: in lower case, a hyphen for each space, and of
// the rest letters, digits, hyphens and underscores.
func anchor(heading string) string {
	heading = linkedText.ReplaceAllString(heading, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

func TestPagesAreReadAsTheyAreRendered(t *testing.T) {
	p := readPage("# One two: `x_y`, [z](w.md)\n[a](b.md#c) and [`d`](e.md)[f](g)\n## Same\n## Same\n~~~~md\n~~~\n# no\n[no](no.md)\n~~~~\n`[no](no.md)` [h](#i)\n")
	var links []string
	for _, l := range p.links {
		links = append(links, l.target+":"+strconv.Itoa(l.line))
	}
	if got, want := strings.Join(links, " "), "w.md:1 b.md#c:2 e.md:2 g:2 #i:10"; got != want {
		t.Errorf("the links are %s, want %s", got, want)
	}
	for _, at := range []string{"one-two-x_y-z", "same", "same-1"} {
		if !p.anchors[at] {
			t.Errorf("there is no anchor %s in %v", at, p.anchors)
		}
	}
	if len(p.anchors) != 3 {
		t.Errorf("the anchors are %v", p.anchors)
	}
}
