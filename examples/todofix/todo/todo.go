// Package todo finds the comments that say what is still to be done.
package todo

import "strings"

// Comment is one of them.
type Comment struct {
	Line int    `json:"line"` // from 1
	Text string `json:"text"` // the whole line
}

var (
	words = []string{"TODO", "FIXME"}
	marks = []string{"//", "#", "/*", "*", "--", ";", "<!--"}
)

// Find gives the comments of a text, in order. A word counts where it begins a comment: TODO in a
// string, or in the middle of a sentence, is no comment.
func Find(text string) []Comment {
	found := []Comment{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSuffix(line, "\r"); isComment(line) {
			found = append(found, Comment{Line: i + 1, Text: line})
		}
	}
	return found
}

func isComment(line string) bool {
	for _, mark := range marks {
		for rest := line; ; {
			_, after, ok := strings.Cut(rest, mark)
			if !ok {
				break
			}
			rest = after
			if begins(strings.TrimLeft(after, " \t/*!-#")) {
				return true
			}
		}
	}
	return false
}

// begins says that a text begins with one of the words, and not with a longer one.
func begins(text string) bool {
	for _, word := range words {
		if after, ok := strings.CutPrefix(text, word); ok && (after == "" || !letter(after[0])) {
			return true
		}
	}
	return false
}

func letter(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
