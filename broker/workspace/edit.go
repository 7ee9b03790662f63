package workspace

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/loomext/loomext/internal/wire"
)

const (
	// MaxEdits is how many edits one call makes. Each is a search through the whole file.
	MaxEdits = 256
	// maxCounted is how many places of a text are counted, for the message.
	maxCounted = 100
)

// Edit is a text to find, exactly as it stands in the file, and what to put in its place.
type Edit struct {
	Find, ReplaceWith string
}

// Edit makes edits in a file, in their order, all of them or none. Each text has to stand exactly once in the file as
// the edits before it leave it; places that overlap count as two. A file that somebody else changes meanwhile stays as
// they made it, and the edit is stale_content.
func (w *Workspace) Edit(ctx context.Context, path string, edits []Edit) error {
	return explain("edit", path, w.edit(ctx, path, edits))
}

func (w *Workspace) edit(ctx context.Context, path string, edits []Edit) error {
	at, err := w.target(path)
	if err != nil {
		return err
	}
	if err := judge(edits); err != nil {
		return err
	}
	leave, err := w.alone(ctx, at)
	if err != nil {
		return err
	}
	defer leave()
	dir, err := w.tree.folder(at.dir())
	if err != nil {
		return err
	}
	defer dir.close()
	text, before, err := readIn(ctx, dir, at.name())
	if err != nil {
		return err
	}
	edited, err := apply(ctx, string(text), edits)
	if err != nil || edited == string(text) {
		return err
	}
	as, err := target(dir, at.name())
	if err != nil {
		return err
	}
	if as == nil {
		return changed()
	}
	return w.replace(ctx, dir, at, edited, as, func() error { return w.unchanged(ctx, dir, at.name(), text, before) })
}

// judge holds what can be told of edits without the file.
func judge(edits []Edit) error {
	if len(edits) == 0 || len(edits) > MaxEdits {
		return refuse(wire.CodeInvalidArgument, "there are "+strconv.Itoa(len(edits))+" edits; want 1 to "+strconv.Itoa(MaxEdits))
	}
	for i, e := range edits {
		if e.Find == "" {
			return refuse(wire.CodeInvalidArgument, field(i, "find")+" is empty, which stands everywhere; name the text to replace")
		}
		if err := writable(field(i, "find"), e.Find); err != nil {
			return err
		}
		if err := writable(field(i, "replace_with"), e.ReplaceWith); err != nil {
			return err
		}
	}
	return nil
}

func field(i int, name string) string { return "edits[" + strconv.Itoa(i) + "]." + name }

func readIn(ctx context.Context, dir folder, name string) ([]byte, fs.FileInfo, error) {
	f, err := dir.open(name, os.O_RDONLY)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	return readText(ctx, f)
}

// apply makes the edits in a text.
func apply(ctx context.Context, text string, edits []Edit) (string, error) {
	for i, e := range edits {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		at := strings.Index(text, e.Find)
		if at < 0 {
			return "", refuse(wire.CodeStaleContent, field(i, "find")+" stands nowhere in it"+after(i)+"; read it again"+ends(text, e.Find))
		}
		if n := count(text[at:], e.Find); n > 1 {
			times := strconv.Itoa(n) + " times"
			if n > maxCounted {
				times = "more than " + strconv.Itoa(maxCounted) + " times"
			}
			return "", refuse(wire.CodeInvalidArgument, field(i, "find")+" stands "+times+" in it"+after(i)+"; take more of the text around the place, until it stands once")
		}
		if size := len(text) - len(e.Find) + len(e.ReplaceWith); size > MaxFile {
			return "", tooLarge("with "+field(i, "replace_with")+" it", int64(size))
		}
		text = text[:at] + e.ReplaceWith + text[at+len(e.Find):]
	}
	return text, nil
}

// count is how often a text stands in another, overlaps included, up to one more than maxCounted.
func count(text, find string) int {
	n := 0
	for at := strings.Index(text, find); at >= 0 && n <= maxCounted; at = strings.Index(text, find) {
		n++
		text = text[at+1:]
	}
	return n
}

func after(i int) string {
	if i == 0 {
		return ""
	}
	return " after the edits before it"
}

// ends is a hint at the most common reason for a text of several lines not to be found.
func ends(text, find string) string {
	if strings.Contains(text, "\r\n") && strings.Contains(find, "\n") && !strings.Contains(find, "\r\n") {
		return ` (its lines end in "\r\n")`
	}
	return ""
}

// unchanged holds that the file is the one that was read. Times of a disk are too coarse to tell alone, so the text is
// compared as well.
func (w *Workspace) unchanged(ctx context.Context, dir folder, name string, text []byte, before fs.FileInfo) error {
	now, info, err := readIn(ctx, dir, name)
	if _, refused := errors.AsType[*Error](err); refused || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errLink) {
		return changed()
	}
	if err != nil {
		return err
	}
	if !os.SameFile(before, info) || before.Size() != info.Size() || !before.ModTime().Equal(info.ModTime()) || !bytes.Equal(text, now) {
		return changed()
	}
	return nil
}

func changed() error {
	return refuse(wire.CodeStaleContent, "somebody else changed it meanwhile, and it is as they left it; read it again")
}
