package satlog

import "time"

const (
	// floodRate is how many bytes a second one satellite may fill files with in the long run:
	// writing them costs the host some percent of a processor, where an empty line, which costs
	// the satellite a byte, costs the host forty.
	floodRate = 4 << 20
	// floodBurst is how much it may write before that, at any speed: all that one file holds.
	floodBurst = fileBytes
	// floodPause is the longest wait for one Write. The end of a satellite waits for the last
	// of its output: what a pipe holds is eight of them.
	floodPause = 20 * time.Millisecond
)

// pace makes whoever floods wait. The zero value is of somebody who has written nothing.
type pace struct {
	paid time.Time // when what was written is within the rate
}

// after is how long to wait after that many bytes were written.
func (p *pace) after(now time.Time, written int) time.Duration {
	if p.paid.Before(now) {
		p.paid = now
	}
	p.paid = p.paid.Add(costOf(written))
	ahead := p.paid.Sub(now) - costOf(floodBurst)
	if ahead > floodPause {
		// What cannot be waited for is forgiven: a line that comes later must not pay for it.
		p.paid = p.paid.Add(floodPause - ahead)
		return floodPause
	}
	return max(ahead, 0)
}

func costOf(n int) time.Duration { return time.Duration(n) * time.Second / floodRate }
