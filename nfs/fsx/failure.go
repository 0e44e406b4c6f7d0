package fsx

import (
	"fmt"
	"strings"
)

// Failure is the error of a Run: an operation that failed, or a result that differs from the model.
type Failure struct {
	Seed uint64
	Step int      // counts from 1
	Op   string   // the operation, with its arguments
	Last []string // the operations before it, each with its step
	Err  error
}

// Error returns the failure in several lines.
func (f *Failure) Error() string {
	return fmt.Sprintf("fsx: seed %d, step %d, %s: %v\nbefore it:\n\t%s",
		f.Seed, f.Step, f.Op, f.Err, strings.Join(f.Last, "\n\t"))
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// lastOps is the number of operations in a Failure.
const lastOps = 24

func (t *Tester) fail(err error) error {
	var last []string
	for _, entry := range t.last[max(0, len(t.last)-1-lastOps):max(0, len(t.last)-1)] {
		last = append(last, entry.String())
	}
	f := &Failure{Seed: t.cfg.Seed, Step: t.step, Last: last, Err: err}
	if len(t.last) > 0 {
		f.Op = t.last[len(t.last)-1].what
	}
	return f
}

// differ returns how the bytes found at off in a file differ from those expected.
func (t *Tester) differ(name string, off int, found, expected []byte) error {
	at := 0
	for at < min(len(found), len(expected)) && found[at] == expected[at] {
		at++
	}
	if at == len(found) && at == len(expected) {
		return nil
	}
	if at == min(len(found), len(expected)) {
		return fmt.Errorf("%s: %d bytes at %d, expected %d", name, len(found), off, len(expected))
	}
	wrong := 0
	for i := range min(len(found), len(expected)) {
		if found[i] != expected[i] {
			wrong++
		}
	}
	show := func(p []byte) string {
		return fmt.Sprintf("% x (%s)", p[at:min(at+8, len(p))], origin(t.cfg.Seed, t.writes, p[at:], off+at))
	}
	return fmt.Errorf("%s: first differs at offset %d, %d wrong of %d bytes at %d:\n\tfound    %s\n\texpected %s",
		name, off+at, wrong, len(expected), off, show(found), show(expected))
}
