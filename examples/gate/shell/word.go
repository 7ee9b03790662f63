package shell

import (
	"strconv"
	"strings"
)

// word reads one word.
func (p *parser) word(now *Command, depth int) Word {
	var b strings.Builder
	w := Word{Bare: true, Home: p.at < len(p.text) && p.text[p.at] == '~'}
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case strings.IndexByte(" \t\r\n;&|<>()", c) >= 0:
			w.Text = b.String()
			return w
		case c == '\\':
			p.at++
			w.Bare = false
			if p.at < len(p.text) {
				if p.text[p.at] != '\n' {
					b.WriteByte(p.text[p.at])
				}
				p.at++
			}
		case c == '\'':
			w.Bare = false
			p.at++
			end := strings.IndexByte(p.text[p.at:], '\'')
			if end < 0 {
				end = len(p.text) - p.at
			}
			b.WriteString(p.text[p.at : p.at+end])
			p.at = min(p.at+end+1, len(p.text))
		case c == '"':
			w.Bare = false
			p.at++
			p.double(now, depth, &b, &w)
		case c == '`':
			w.Expands = true
			p.backquoted(now, depth)
		case c == '$':
			p.dollar(now, depth, &b, &w, false)
		default:
			if c == '*' || c == '?' || c == '[' {
				w.Expands = true
			}
			b.WriteByte(c)
			p.at++
		}
	}
	w.Text = b.String()
	return w
}

// double reads what stands between double quotes.
func (p *parser) double(now *Command, depth int, b *strings.Builder, w *Word) {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; c {
		case '"':
			p.at++
			return
		case '\\':
			p.at++
			if p.at < len(p.text) {
				if strings.IndexByte("\"\\$`\n", p.text[p.at]) < 0 {
					b.WriteByte('\\')
				}
				if p.text[p.at] != '\n' {
					b.WriteByte(p.text[p.at])
				}
				p.at++
			}
		case '`':
			w.Expands = true
			p.backquoted(now, depth)
		case '$':
			p.dollar(now, depth, b, w, true)
		default:
			b.WriteByte(c)
			p.at++
		}
	}
}

// backquoted reads a command between backquotes.
func (p *parser) backquoted(now *Command, depth int) {
	p.at++
	var b strings.Builder
	for p.at < len(p.text) && p.text[p.at] != '`' {
		if p.text[p.at] == '\\' && p.at+1 < len(p.text) {
			p.at++
		}
		b.WriteByte(p.text[p.at])
		p.at++
	}
	p.at = min(p.at+1, len(p.text))
	sub := &parser{text: b.String(), whole: true}
	if depth < MaxDepth {
		sub.list(depth + 1)
	} else {
		sub.whole = false
	}
	p.whole = p.whole && sub.whole
	now.Inner = append(now.Inner, sub.commands...)
}

// dollar reads a variable, a substitution or a quoted text with escapes. A variable stays in the
// word as it is written.
func (p *parser) dollar(now *Command, depth int, b *strings.Builder, w *Word, quotes bool) {
	rest := p.text[p.at+1:]
	switch {
	case strings.HasPrefix(rest, "(("):
		// Arithmetic names no program, but what is substituted into it runs.
		end := strings.Index(rest, "))")
		if end < 0 {
			end = len(rest)
		}
		w.Expands = true
		p.expand(now, rest[2:end], depth+1)
		p.at = min(p.at+1+end+2, len(p.text))
	case strings.HasPrefix(rest, "("):
		w.Expands = true
		p.at += 2
		p.inner(now, depth)
	case strings.HasPrefix(rest, "'") && !quotes:
		w.Bare = false
		p.at += 2
		p.ansi(b)
	case strings.HasPrefix(rest, "{"):
		w.Expands = true
		end := braced(rest)
		name, operator := rest[1:end], ""
		if i := strings.IndexAny(name, ":-=+?#%/,^@["); i > 0 {
			name, operator = name[:i], name[i:]
		}
		p.expand(now, operator, depth+1)
		if strings.HasPrefix(operator, ":?") {
			b.WriteString("${" + name + ":?}")
		} else {
			b.WriteString("$" + name)
		}
		p.at = min(p.at+1+end+1, len(p.text))
	default:
		n := 0
		for n < len(rest) && (rest[n] == '_' || rest[n] >= '0' && rest[n] <= '9' || rest[n]|0x20 >= 'a' && rest[n]|0x20 <= 'z') {
			n++
		}
		if n == 0 && rest != "" && strings.IndexByte("@*#?$!-", rest[0]) >= 0 {
			n = 1
		}
		w.Expands = w.Expands || n > 0
		b.WriteString("$" + rest[:n])
		p.at += 1 + n
	}
}

// ansi reads $'…', in which a program's name can be spelled with escapes.
func (p *parser) ansi(b *strings.Builder) {
	for p.at < len(p.text) && p.text[p.at] != '\'' {
		if p.text[p.at] != '\\' || p.at+1 >= len(p.text) {
			b.WriteByte(p.text[p.at])
			p.at++
			continue
		}
		p.at++
		c := p.text[p.at]
		p.at++
		digits := func(most, base int) {
			n := 0
			for n < most && p.at+n < len(p.text) {
				if _, err := strconv.ParseUint(p.text[p.at:p.at+n+1], base, 32); err != nil {
					break
				}
				n++
			}
			if v, err := strconv.ParseUint(p.text[p.at:p.at+n], base, 32); err == nil && n > 0 {
				if base == 16 && most > 2 {
					b.WriteRune(rune(v))
				} else {
					b.WriteByte(byte(v))
				}
			}
			p.at += n
		}
		switch c {
		case 'x':
			digits(2, 16)
		case 'u':
			digits(4, 16)
		case 'U':
			digits(8, 16)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			p.at--
			digits(3, 8)
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		default:
			b.WriteByte(c)
		}
	}
	p.at = min(p.at+1, len(p.text))
}

// braced is where the brace of ${… closes, those inside it counted.
func braced(text string) int {
	open := 0
	for i, c := range []byte(text) {
		switch c {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return i
			}
		}
	}
	return len(text)
}
