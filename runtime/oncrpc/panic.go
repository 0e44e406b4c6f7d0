package oncrpc

import (
	"errors"
	"fmt"
	"path"
	"runtime/debug"
	"strings"
)

// ErrPanic reports that a Handler panicked or exited its goroutine. Unless package rpc has
// recovered the panic and answered the call, this side then closed the connection.
var ErrPanic = errors.New("oncrpc: a handler panicked")

// PanicError is the error of a Handler or procedure that panicked or exited its goroutine. It wraps
// ErrPanic, but not Value, because an error that a procedure panics with is not an answer for the
// caller.
type PanicError struct {
	// Value is the argument of panic, or a text if the goroutine exited.
	Value any

	// Stack is the stack of the goroutine, as runtime/debug.Stack returns it.
	Stack []byte
}

// Panicked returns the error for a result of recover in a deferred function of a call that has not
// returned. nil stands for runtime.Goexit, because recover returns an error for panic(nil).
func Panicked(recovered any) *PanicError {
	if recovered == nil {
		recovered = "it called runtime.Goexit, as testing.T.Fatal does"
	}
	return &PanicError{Value: recovered, Stack: debug.Stack()}
}

// Error returns the value without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("%v: %v", ErrPanic, e.Value) }

// Unwrap returns ErrPanic.
func (*PanicError) Unwrap() error { return ErrPanic }

// maxFrames is the largest number of functions that Frames returns.
const maxFrames = 8

// Frames returns the innermost functions of the stack on one line, for a log: the one that panicked
// first, each with its file and line. Stack has all of them.
func (e *PanicError) Frames() string {
	lines := strings.Split(string(e.Stack), "\n")
	first := 1 // behind "goroutine 7 [running]:"
	for i, line := range lines {
		// The functions before are the deferred ones, which have recovered the panic.
		if strings.HasPrefix(line, "panic(") || strings.HasPrefix(line, "runtime.Goexit(") {
			first = i + 2
		}
	}
	var frames []string
	for i := first; i+1 < len(lines) && len(frames) < maxFrames; i += 2 {
		name, file := lines[i], strings.TrimSpace(lines[i+1])
		if strings.HasPrefix(name, "created by ") {
			break
		}
		if strings.HasPrefix(name, "runtime.") {
			continue
		}
		if end := strings.LastIndexByte(name, '('); end > 0 { // the arguments
			name = name[:end]
		}
		file, _, _ = strings.Cut(file, " +0x")
		frames = append(frames, path.Base(name)+" "+path.Base(file))
	}
	return strings.Join(frames, " < ")
}
