package workspace

import (
	"context"
	"sync"
)

// turns lets one call at a time write a file, by its folded path.
type turns struct {
	mu   sync.Mutex
	held map[string]*turn
}

type turn struct {
	free  chan struct{} // has one element while nobody holds the turn
	users int           // that hold it or wait for it
}

// take waits for the turn at a path, and gives the call that ends it.
func (t *turns) take(ctx context.Context, path string) (release func(), err error) {
	t.mu.Lock()
	one, ok := t.held[path]
	if !ok {
		one = &turn{free: make(chan struct{}, 1)}
		one.free <- struct{}{}
		if t.held == nil {
			t.held = map[string]*turn{}
		}
		t.held[path] = one
	}
	one.users++
	t.mu.Unlock()
	select {
	case <-one.free:
		return func() { one.free <- struct{}{}; t.leave(path, one) }, nil
	case <-ctx.Done():
		t.leave(path, one)
		return nil, ctx.Err()
	}
}

func (t *turns) leave(path string, one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(t.held, path)
	}
}
