package host

import (
	"maps"
	"sync"
	"time"
)

// lookEvery is how often the store is looked at while anybody watches: a change is to be
// seen within a second, and a look costs a few links.
const lookEvery = 250 * time.Millisecond

// Watch tells when something was installed or removed, by any process, within a second: what
// follows is for [Session.Refresh]. Whoever opens a session after Watch misses no change; it
// may be told of one that it knows already, and is told once for several. All that watch
// share one look at the store. A store that cannot be read is a change, which Refresh says
// more of. Stop ends it, and may be called again.
func (h *Host) Watch() (changed <-chan struct{}, stop func()) { return h.watcher.join() }

// watcher looks at a store for as long as anybody is to be told.
type watcher struct {
	look  func() (map[string]string, error) // what is current, by name
	every time.Duration

	mu    sync.Mutex
	told  map[chan struct{}]struct{} // each has room for one change
	end   chan struct{}              // of the looking, while there is some
	ended chan struct{}
}

func (w *watcher) join() (changed <-chan struct{}, stop func()) {
	own := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.told) == 0 {
		w.told, w.end, w.ended = map[chan struct{}]struct{}{}, make(chan struct{}), make(chan struct{})
		go w.watch(w.end, w.ended)
	}
	w.told[own] = struct{}{}
	return own, sync.OnceFunc(func() { w.leave(own) })
}

// leave waits for the end of the looking, where nobody else is told.
func (w *watcher) leave(own chan struct{}) {
	w.mu.Lock()
	delete(w.told, own)
	var ended chan struct{}
	if len(w.told) == 0 {
		close(w.end)
		ended = w.ended
	}
	w.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// watch looks until its end. What the first look finds may be new to those who joined before it.
func (w *watcher) watch(end, ended chan struct{}) {
	defer close(ended)
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	var had map[string]string
	var fault string
	for first := true; ; first = false {
		select {
		case <-end:
			return
		case <-tick.C:
		}
		has, err := w.look()
		now := ""
		if err != nil {
			has, now = had, err.Error()
		}
		if first || now != fault || !maps.Equal(has, had) {
			w.tell(end)
		}
		had, fault = has, now
	}
}

// tell tells everybody, but where the looking has ended: those who are there then have
// another.
func (w *watcher) tell(end chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.end != end {
		return
	}
	for own := range w.told {
		select {
		case own <- struct{}{}:
		default:
		}
	}
}
