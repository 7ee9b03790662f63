// Package shell reads a shell's command line far enough to see which programs it runs with which
// words. It knows quotes, escapes, comments, separators, redirections, command substitution and
// the programs that run another. It expands nothing and is no shell: what a variable holds is not
// known, and a reader of its answers has to allow for that.
package shell

import (
	"strings"
)

// MaxDepth is how deep commands inside commands are read.
const MaxDepth = 8

// MaxCommands is how many commands of one line are read.
const MaxCommands = 2000

// Command is one simple command.
type Command struct {
	Words []Word
	// Redirects are the files that it writes, as the line has them.
	Redirects []Word
	// Piped says that its input is the output of the command before it in the list.
	Piped bool
	// Inner are the commands substituted into its words, its input and its here-document.
	Inner []Command
	// Input is the text of its here-document or here-string.
	Input string
}

// Word is one word of a command, its quotes gone.
type Word struct {
	Text string
	// Expands says that a shell puts something else in the place of some of it: a variable, a
	// pattern, a substitution. A variable stands in Text as $name, one that must not be empty as
	// ${name:?}.
	Expands bool
	// Home says that it begins with a ~ that a shell expands.
	Home bool
	// Bare says that no part of it is quoted, so that it can be a keyword or a descriptor.
	Bare bool
}

// Parse reads a line, or a script of several. Whole is false where it is nested too deeply or has
// too many commands to be read to its end. A quote that is never closed ends the text, as a shell
// would run nothing of it.
func Parse(line string) (commands []Command, whole bool) {
	p := &parser{text: line, whole: true}
	p.list(0)
	return p.commands, p.whole
}

type parser struct {
	text     string
	at       int
	commands []Command
	whole    bool
	heredocs []heredoc // of this line: their texts follow it
}

type heredoc struct {
	end     string
	literal bool // its delimiter is quoted, so that nothing in it is expanded
	command int  // the index of the command that reads it
}

// list reads commands up to the end, or to the closing parenthesis of where it stands.
func (p *parser) list(depth int) {
	var now Command
	finish := func(piped bool) {
		if len(now.Words) > 0 || len(now.Redirects) > 0 || len(now.Inner) > 0 {
			if len(p.commands) == MaxCommands {
				p.whole = false
				p.at = len(p.text)
				return
			}
			p.commands = append(p.commands, now)
		}
		now = Command{Piped: piped}
	}
	if depth > MaxDepth {
		p.whole, p.at = false, len(p.text)
		return
	}
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			p.at++
		case c == '\\' && strings.HasPrefix(p.text[p.at:], "\\\n"):
			p.at += 2
		case c == '#':
			for p.at < len(p.text) && p.text[p.at] != '\n' {
				p.at++
			}
		case c == '\n':
			p.at++
			finish(false)
			p.skipHeredocs()
		case c == ';':
			p.at++
			finish(false)
		case c == '&':
			if strings.HasPrefix(p.text[p.at:], "&>") {
				p.at += 2
				p.redirect(&now, depth)
				continue
			}
			p.at++
			if p.at < len(p.text) && p.text[p.at] == '&' {
				p.at++
			}
			finish(false)
		case c == '|':
			p.at++
			piped := true
			if p.at < len(p.text) && p.text[p.at] == '|' {
				p.at++
				piped = false
			} else if p.at < len(p.text) && p.text[p.at] == '&' {
				p.at++
			}
			finish(piped)
		case c == '(':
			p.at++
			if len(now.Words) == 1 && p.at < len(p.text) && p.text[p.at] == ')' {
				p.at++ // a function's definition: its body follows
				now = Command{}
				continue
			}
			finish(false)
			p.list(depth + 1)
		case c == ')':
			finish(false)
			if depth > 0 {
				p.at++
				return
			}
			p.at++ // of a case pattern, or a slip
		case (c == '<' || c == '>') && strings.HasPrefix(p.text[p.at+1:], "("):
			p.at += 2
			p.inner(&now, depth)
			now.Words = append(now.Words, Word{Text: "/dev/fd/63", Expands: true, Bare: true})
		case c == '>':
			p.at++
			if p.at < len(p.text) && (p.text[p.at] == '>' || p.text[p.at] == '|' || p.text[p.at] == '&') {
				p.at++
			}
			p.redirect(&now, depth)
		case c == '<':
			p.input(&now, depth)
		default:
			word := p.word(&now, depth)
			if descriptor(word) && p.at < len(p.text) && (p.text[p.at] == '>' || p.text[p.at] == '<') {
				continue // 2>, 2>>, 2>&1
			}
			if word.Bare && keywords[word.Text] && len(now.Words) == 0 {
				continue
			}
			now.Words = append(now.Words, word)
		}
	}
	finish(false)
}

// keywords stand before a command and are none.
var keywords = map[string]bool{
	"if": true, "then": true, "elif": true, "else": true, "fi": true, "while": true, "until": true, "do": true, "done": true, "{": true, "}": true,
	"!": true, "esac": true, "time": true, "coproc": true,
}

func descriptor(w Word) bool {
	if !w.Bare || w.Text == "" {
		return false
	}
	return strings.Trim(w.Text, "0123456789") == ""
}

// redirect reads the file that is written.
func (p *parser) redirect(now *Command, depth int) {
	p.blanks()
	if p.at < len(p.text) && !strings.ContainsRune("\n;&|()<>", rune(p.text[p.at])) {
		now.Redirects = append(now.Redirects, p.word(now, depth))
	}
}

// input passes what a command reads, and remembers a here-document.
func (p *parser) input(now *Command, depth int) {
	kind := "<"
	for _, longer := range []string{"<<<", "<<-", "<<", "<>", "<&"} {
		if strings.HasPrefix(p.text[p.at:], longer) {
			kind = longer
			break
		}
	}
	p.at += len(kind)
	p.blanks()
	switch {
	case p.at >= len(p.text) || strings.ContainsRune("\n;&|)", rune(p.text[p.at])):
		return
	case strings.HasPrefix(p.text[p.at:], "<("): // bash < <(curl …)
		p.at += 2
		p.inner(now, depth)
		return
	}
	word := p.word(now, depth)
	switch kind {
	case "<<", "<<-":
		p.heredocs = append(p.heredocs, heredoc{end: word.Text, literal: !word.Bare, command: len(p.commands)})
	case "<<<":
		now.Input = word.Text
	}
}

func (p *parser) blanks() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
}

// skipHeredocs passes the texts that follow a line. They are data of the command that reads them,
// and what is substituted into them runs.
func (p *parser) skipHeredocs() {
	for _, doc := range p.heredocs {
		begin, end := p.at, p.at
		for p.at < len(p.text) {
			line, rest, more := strings.Cut(p.text[p.at:], "\n")
			end = p.at
			p.at = len(p.text)
			if more {
				p.at -= len(rest)
			}
			if strings.TrimLeft(line, "\t") == doc.end {
				break
			}
			end = p.at
		}
		if doc.command >= len(p.commands) {
			continue
		}
		reader := &p.commands[doc.command]
		reader.Input = p.text[begin:end]
		if !doc.literal {
			p.expand(reader, reader.Input, 1)
		}
	}
	p.heredocs = nil
}

// expand reads what is substituted into a text as between double quotes.
func (p *parser) expand(into *Command, text string, depth int) {
	if depth > MaxDepth {
		p.whole = false
		return
	}
	sub := &parser{text: text, whole: true}
	for sub.at < len(sub.text) {
		var b strings.Builder
		var w Word
		sub.double(into, depth, &b, &w) // ends at a quote, which means nothing here
	}
	p.whole = p.whole && sub.whole
}

// inner reads commands up to the closing parenthesis into a command's own.
func (p *parser) inner(now *Command, depth int) {
	sub := &parser{text: p.text, at: p.at, whole: true}
	sub.list(depth + 1)
	p.at = sub.at
	p.whole = p.whole && sub.whole
	now.Inner = append(now.Inner, sub.commands...)
}
