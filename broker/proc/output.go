package proc

import "sync"

// output is both outputs of one command. What is beyond a bound is read and lost; what is beyond both ends the command.
type output struct {
	mu             sync.Mutex
	stdout, stderr half
	total          int64
	over           bool
	end            func()
}

// half keeps the beginning of one of them.
type half struct {
	of   *output
	kept []byte
	lost bool
}

func newOutput(end func()) *output {
	o := &output{end: end}
	o.stdout.of, o.stderr.of = o, o
	return o
}

// Write never fails: the command must not notice, but for its end.
func (h *half) Write(p []byte) (int, error) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	n := len(p)
	if h.of.total += int64(n); h.of.total > MaxFlood && !h.of.over {
		h.of.over = true
		h.of.end()
	}
	if room := MaxOutput - len(h.kept); n > room {
		h.lost = true
		p = p[:room]
	}
	h.kept = append(h.kept, p...)
	return n, nil
}

func (o *output) flooded() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.over
}

func (o *output) truncated() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stdout.lost || o.stderr.lost
}
