package host

import "sync"

// printed hands on the lines that one satellite writes, to the invocation that is open. A
// satellite has its own, so that the last words of one that died reach no caller of the next.
type printed struct {
	mu   sync.Mutex
	tell func(line string) // nil where no invocation is open, or it wants none
}

// tellTo has the lines from now on told to an invocation, or to nobody. When it returns, the one
// before is told no more.
func (p *printed) tellTo(tell func(line string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell = tell
}

func (p *printed) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tell != nil {
		p.tell(text)
	}
}
