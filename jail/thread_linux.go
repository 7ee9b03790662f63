//go:build amd64 || arm64

package jail

import (
	"runtime"
	"sync"
)

// thread is the one operating system thread that forks. The kernel sends a
// child its death signal when the thread that forked it ends, so this thread
// must not end while a child lives: it is started by the first holder and
// ended by the last.
type thread struct {
	mu      sync.Mutex
	holders int
	jobs    chan func()
}

var forks thread

// hold keeps the thread alive, starting it if nobody did, and returns the way
// to run a job on it. Every hold is followed by one release.
func (t *thread) hold() chan<- func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holders == 0 {
		t.jobs = make(chan func())
		go serveThread(t.jobs)
	}
	t.holders++
	return t.jobs
}

func (t *thread) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holders--
	if t.holders == 0 {
		close(t.jobs)
		t.jobs = nil
	}
}

// serveThread never unlocks: a goroutine that ends locked takes its thread with
// it, and a thread that has forked is nobody else's.
func serveThread(jobs <-chan func()) {
	runtime.LockOSThread()
	for job := range jobs {
		job()
	}
}
