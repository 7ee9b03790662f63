package config

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestReadingBeforeSetIsAnError(t *testing.T) {
	var s slot
	if document, err := s.read(); !errors.Is(err, ErrUnset) || document != nil {
		t.Fatalf("read %q, %v", document, err)
	}
}

func TestSetTakesOneObjectOnce(t *testing.T) {
	var s slot
	for text, says := range map[string]string{``: "empty", `{"a":`: "not JSON", `[]`: "got array", `null`: "got null", `{} {}`: "not JSON"} {
		if err := s.set([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("set(%s): %v", text, err)
		}
		if _, err := s.read(); !errors.Is(err, ErrUnset) {
			t.Errorf("a refused document left something behind: %v", err)
		}
	}
	document := []byte(` {"results":10}`)
	if err := s.set(document); err != nil {
		t.Fatal(err)
	}
	document[3] = 'X' // the caller's buffer is the caller's
	if err := s.set([]byte(`{"results":99}`)); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second document: %v", err)
	}
	if got, err := s.read(); err != nil || string(got) != ` {"results":10}` {
		t.Errorf("read %s, %v", got, err)
	}
}

func TestOneOfManySettersWins(t *testing.T) {
	var s slot
	var group sync.WaitGroup
	won := make(chan string, 16)
	for i := range cap(won) {
		group.Go(func() {
			text := fmt.Sprintf(`{"n":%d}`, i)
			if s.set([]byte(text)) == nil {
				won <- text
			}
		})
	}
	group.Wait()
	close(won)
	first, ok := <-won
	if _, more := <-won; !ok || more {
		t.Fatal("not exactly one setter won")
	}
	if got, err := s.read(); err != nil || string(got) != first {
		t.Errorf("read %s, %v; the winner set %s", got, err, first)
	}
}
