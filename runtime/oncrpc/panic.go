package oncrpc

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrPanic reports that a Handler panicked or ended its goroutine. Unless package rpc has recovered
// the panic and answered the call, this side then closed the connection.
var ErrPanic = errors.New("oncrpc: a handler panicked")

// PanicError is the error of a Handler or of a procedure that panicked or ended its goroutine. It
// wraps ErrPanic, but not Value: an error that a procedure panics with is no answer for a caller.
type PanicError struct {
	// Value is the argument of panic, or a text if the goroutine was ended.
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
