package vet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
)

// Library is where the types of the packages outside an extension are read from. None of it comes from the extension.
type Library struct {
	Dir     string            // the directory that holds the compiled packages, absolute
	Exports map[string]string // import path to the file with its export data, from Dir
	Version string            // of the Go that compiled them
}

// The bounds of the jailed child. An extension of twenty files takes it 60 ms and 29 MiB, and the largest tree that can be
// read takes 1.7 s and 275 MiB, or 4 s and 395 MiB where most of it hands values around.
const (
	typedCPU  = 10 * time.Second
	typedWall = 60 * time.Second
	typedData = 512 << 20
	// typedAddress only caps page tables.
	typedAddress = 4 << 30
	// typedThreads is for the Go runtime's own; typedDescriptors is for export data, of which one is open at a time.
	typedThreads     = 256
	typedDescriptors = 64
	// maxReply bounds what the child may say: more than MaxFindings of every file of a large tree.
	maxReply = 8 << 20
)

// Typed type-checks a source that passed [Syntax] against the compiled packages of lib, in a jailed child, and judges it
// by its types. The Package it returns has passed both halves; its Uses are those of the objects, and not of the names.
//
// The error is [Findings], all of them, or a *[jail.Error] where the child could not be started, or wraps the cause of
// ctx's end, or says why there is no answer. What comes back from the child is as foreign as the source: a child that was
// taken over can say that nothing was found, and nothing worse.
func Typed(ctx context.Context, p Package, lib Library, o jail.Options) (Package, error) {
	return typed(ctx, p, lib, o, limits{})
}

// limits replace the constants in tests.
type limits struct{ cpu, wall time.Duration }

func typed(ctx context.Context, p Package, lib Library, o jail.Options, l limits) (Package, error) {
	if l.cpu == 0 {
		l = limits{typedCPU, typedWall}
	}
	text, err := json.Marshal(p.question(lib))
	if err != nil {
		return Package{}, fmt.Errorf("%s: %w", Layer, err)
	}
	said, exit, report, err := ask(ctx, text, lib, o, l)
	if err != nil {
		return Package{}, err
	}
	at, answer, err := p.understand(said.text.Bytes())
	switch {
	case exit.bound != "":
		return Package{}, Findings{p.tooMuch(at, exit.bound)}
	case said.over:
		return Package{}, fmt.Errorf("%s: the type checker said more than %d bytes", Layer, maxReply)
	case err != nil || answer == nil:
		return Package{}, fmt.Errorf("%s: the type checker gave no answer (%s)%s", Layer, exit.how, detail(err, exit.stderr))
	case answer.Fault != "":
		return Package{}, fmt.Errorf("%s: %s (compiled by %s); use the Go toolchain that this loomext was made for, or a newer loomext", Layer, plain(answer.Fault), plain(lib.Version))
	}
	found := answer.Findings
	judgeUses(answer.Uses, p.manifest, p.tree, answer.Incomplete, &found)
	if len(found) > 0 {
		return Package{}, found.sorted()
	}
	p.uses, p.typed, p.report = answer.Uses, true, report
	return p, nil
}

func detail(err error, stderr string) string {
	switch first, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n"); {
	case first != "":
		return ": " + plain(first)
	case err != nil:
		return ": " + plain(err.Error())
	}
	return ""
}

// question is what the child is asked.
func (p Package) question(lib Library) question {
	q := question{Format: replyFormat, Module: p.module, Dir: lib.Dir, Exports: map[string]string{}, Entries: entriesWanted(p.manifest)}
	for path, file := range lib.Exports {
		if allowed[path] {
			q.Exports[path] = file
		}
	}
	for _, path := range p.tree.Paths() {
		if strings.HasSuffix(path, ".go") {
			text, _ := p.tree.File(path)
			q.Files = append(q.Files, sourceFile{path, string(text)})
		}
	}
	return q
}

// speech is what the child writes, up to a bound.
type speech struct {
	text bytes.Buffer
	over bool
}

func (s *speech) Write(p []byte) (int, error) {
	if s.text.Len()+len(p) > maxReply {
		s.over = true
		return len(p), nil
	}
	return s.text.Write(p)
}

// ending is how the child ended. bound is not "" where it was ended at a bound of the check.
type ending struct{ bound, how, stderr string }

// ask runs the child once.
func ask(ctx context.Context, text []byte, lib Library, o jail.Options, l limits) (said *speech, e ending, report jail.Report, err error) {
	limited, cancel := context.WithTimeout(ctx, l.wall)
	defer cancel()
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, e, report, fmt.Errorf("%s: %w", Layer, err)
	}
	said = &speech{}
	command, err := jail.StartStage(limited, stageName, jail.Spec{
		Files:    []*os.File{theirs},
		Stdout:   said,
		ReadOnly: []string{lib.Dir},
		Profile:  jail.Build,
		Limits: jail.Limits{
			CPU: l.cpu, DataBytes: typedData, AddressBytes: typedAddress, FileBytes: jail.Nothing, Processes: typedThreads, Descriptors: typedDescriptors,
		},
	}, o)
	theirs.Close()
	if err != nil {
		ours.Close()
		return nil, e, report, err
	}
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		_, _ = ours.Write(text) // a child that is gone, or does not read, has no answer either
		ours.Close()
	}()
	exit, waitErr := command.Wait()
	<-wrote // the child's end of the pipe is closed
	e.how, e.stderr, report = exit.String(), command.Stderr(), command.Report()
	switch {
	case ctx.Err() != nil:
		return nil, e, report, fmt.Errorf("%s: stopped: %w", Layer, context.Cause(ctx))
	case limited.Err() != nil:
		e.bound = fmt.Sprintf("%s of time", l.wall)
	case exit.Bound == jail.BoundCPU:
		e.bound = fmt.Sprintf("%s of processor time", l.cpu)
	case exit.Bound == jail.BoundMemory:
		e.bound = fmt.Sprintf("%d MiB of memory", typedData>>20)
	case strings.Contains(e.stderr, "goroutine stack exceeds"):
		e.bound = fmt.Sprintf("%d MiB of stack", maxStack>>20)
	case waitErr != nil:
		return nil, e, report, waitErr
	case !exit.OK():
		said.text.Reset()
	}
	return said, e, report, nil
}

// tooMuch is the finding about a source that is too dear to check.
func (p Package) tooMuch(at, bound string) Finding {
	if at == following {
		return Finding{Path: manifest.FileName, Lint: LintBound, What: "to follow the values of this extension takes more than " + bound,
			Fix: "make it smaller: what is generated, or written out as code where data would do, is the most of it"}
	}
	path := manifest.FileName
	for _, file := range p.tree.Paths() {
		if strings.HasSuffix(file, ".go") && dirOf(file) == at {
			path = file
			break
		}
	}
	return Finding{Path: path, Lint: LintBound, What: "to check the types of this package takes more than " + bound,
		Fix: "look for types, constants or calls of generic functions that double with every line"}
}

func dirOf(file string) string {
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		return file[:i]
	}
	return "."
}

// understand reads what the child wrote: the directory it was last at, and its reply if there is one. Whatever the bytes
// are, the reply names files of the tree, rules and capabilities that there are, and places that can be.
func (p Package) understand(text []byte) (at string, r *reply, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for r == nil {
		var m message
		if err := decoder.Decode(&m); err != nil {
			return at, nil, errors.New("it is cut off or no JSON")
		}
		if m.At != "" {
			at = m.At
		}
		r = m.Reply
	}
	if r.Format != replyFormat {
		return at, nil, fmt.Errorf("it has format %d, and format %d is understood", r.Format, replyFormat)
	}
	for _, f := range r.Findings {
		known := slices.ContainsFunc(lints, func(l Lint) bool { return l.Name == f.Lint })
		if _, ok := p.tree.File(f.Path); !ok || !known || f.Line < 0 || f.Col < 0 {
			return at, nil, fmt.Errorf("it has a finding of %q in %q", f.Lint, f.Path)
		}
	}
	for _, u := range r.Uses {
		if _, ok := p.tree.File(u.Path); !ok || u.Line < 1 || u.Col < 1 || !isCapability(u.Capability) || plain(u.Symbol) != u.Symbol {
			return at, nil, fmt.Errorf("it has a use of %q in %q", u.Capability, u.Path)
		}
	}
	sortUses(r.Uses)
	return at, r, nil
}

// isCapability reports whether a use may name a capability.
func isCapability(name string) bool {
	for _, pkg := range capabilityPackages() {
		functions, parts := split[pkg]
		if !parts && pkg == name {
			return true
		}
		for _, c := range functions {
			if c == name {
				return true
			}
		}
	}
	return false
}
