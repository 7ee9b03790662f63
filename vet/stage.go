package vet

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/loomext/loomext/jail"
)

// stageName is what the jail knows the typed half by.
const stageName = "vet"

func init() { jail.Register(stageName, stage) }

const (
	// replyFormat is raised whenever the messages between the host and its stage change: the stage may be another
	// loomext's.
	replyFormat = 1
	// questionDescriptor is where the stage reads its question.
	questionDescriptor = 3
	// maxQuestion bounds a question: a tree of the largest size, escaped.
	maxQuestion = 32 << 20
	// maxStack ends a recursion that no source needs before it has taken all memory.
	maxStack = 128 << 20
	// collect has the collector run when the memory has grown to five times what is in use. A stage lives for
	// milliseconds, in memory that is bounded.
	collect = 400
	// crowded is where it runs more often, so that the memory is not full of what nothing needs.
	crowded = 400 << 20
)

// following is what the stage says it has begun with after the last package.
const following = "*"

// message is one value that the stage writes: the package that it has begun with, or at the end its reply.
type message struct {
	At    string `json:"at,omitempty"`
	Reply *reply `json:"reply,omitempty"`
}

// stage is the whole life of the jailed child: one question, one reply.
func stage() int {
	debug.SetGCPercent(collect)
	debug.SetMemoryLimit(crowded)
	debug.SetMaxStack(maxStack)
	out := json.NewEncoder(os.Stdout)
	q, err := readQuestion(os.NewFile(questionDescriptor, "question"))
	if err == nil {
		r := check(q, func(dir string) { _ = out.Encode(message{At: dir}) })
		err = out.Encode(message{Reply: &r})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func readQuestion(f *os.File) (question, error) {
	var q question
	if f == nil {
		return q, fmt.Errorf("there is no question on descriptor %d", questionDescriptor)
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxQuestion)).Decode(&q); err != nil {
		return q, fmt.Errorf("the question: %w", err)
	}
	if q.Format != replyFormat {
		return q, fmt.Errorf("the question has format %d, and this program answers format %d", q.Format, replyFormat)
	}
	return q, nil
}
