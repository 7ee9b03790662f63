package host

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAllWhoWatchShareOneLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int64
		var mu sync.Mutex
		current, fault := map[string]string{"a": "a-1"}, error(nil)
		w := &watcher{every: lookEvery, look: func() (map[string]string, error) {
			looks.Add(1)
			mu.Lock()
			defer mu.Unlock()
			return current, fault
		}}
		const watching = 64
		var changed [watching]<-chan struct{}
		var stop [watching]func()
		for i := range watching {
			changed[i], stop[i] = w.join()
		}
		told := func() (n int) {
			time.Sleep(4 * lookEvery)
			synctest.Wait()
			for _, c := range changed {
				select {
				case <-c:
					n++
				default:
				}
			}
			return n
		}
		if n := told(); n != watching {
			t.Errorf("%d of %d were told of what the first look found", n, watching)
		}
		if n := looks.Load(); n > 4 {
			t.Errorf("%d looks in four times of one, for %d who watch", n, watching)
		}
		for _, step := range []struct {
			what   string
			change func()
			want   int
		}{
			{"nothing", func() {}, 0},
			{"an install", func() { current = map[string]string{"a": "a-1", "b": "b-1"} }, watching},
			{"another generation", func() { current = map[string]string{"a": "a-2", "b": "b-1"} }, watching},
			{"a store that cannot be read", func() { fault = errors.New("no such directory") }, watching},
			{"the same", func() {}, 0},
			{"a store that can be read again", func() { fault = nil }, watching},
		} {
			mu.Lock()
			step.change()
			mu.Unlock()
			if n := told(); n != step.want {
				t.Errorf("%d were told of %s, want %d", n, step.what, step.want)
			}
		}
		for _, s := range stop {
			s()
			s()
		}
		before := looks.Load()
		time.Sleep(4 * lookEvery)
		if n := looks.Load() - before; n > 0 {
			t.Errorf("%d looks that are for nobody", n)
		}
		again, end := w.join()
		defer end()
		time.Sleep(2 * lookEvery)
		synctest.Wait()
		select {
		case <-again:
		default:
			t.Error("who watches after all had ended is told nothing")
		}
	})
}
