package oncrpc

import (
	"context"
	"fmt"
)

// Submitter is a Carrier whose Calls need no goroutine: a Call in flight is a record in memory.
type Submitter interface {
	Carrier

	// Submit begins a Call, and does not wait for its reply, nor for a place or a credit: Calls
	// without one are kept in their order. It allocates nothing. If it returns an error, which is a
	// *CallError with MayHaveRun false, the Call did not begin and done is never called. Otherwise
	// done is called once, with the reply or a *CallError, maybe before Submit returns. All memory
	// of the Call belongs to the Carrier until then.
	//
	// The Call fails when ctx is done, and at Call.Deadline.
	//
	// done runs on a goroutine of the Carrier, and for the Calls of one connection one at a time.
	// While it runs the connection may do nothing else: it must not block, nor wait for another
	// Call, nor close the connection, which waits for it. It may submit Calls. Those that it
	// submits leave together. A panic in done is logged with its stack and closes the connection
	// (ErrPanic), if the Call was on one.
	Submit(ctx context.Context, call *Call, done func(*Reply, error)) error
}

// Submit begins a Call on any Carrier, as described at Submitter. If the Carrier is not a
// Submitter, the Call has a goroutine, on which done runs.
func Submit(ctx context.Context, c Carrier, call *Call, done func(*Reply, error)) error {
	if s, ok := c.(Submitter); ok {
		return s.Submit(ctx, call, done)
	}
	if err := CheckSubmit(ctx, call, done); err != nil {
		return err
	}
	go wait(ctx, c, call, done)
	return nil
}

// CheckSubmit returns the *CallError of a Call that cannot be submitted at all. A Submitter begins
// with it: a done function that submits again at each error then ends with its context.
func CheckSubmit(ctx context.Context, call *Call, done func(*Reply, error)) error {
	err := CheckCall(call)
	switch {
	case err != nil:
		return err
	case done == nil:
		return &CallError{XID: call.XID(), Err: ErrNoDone}
	case ctx.Err() != nil:
		return &CallError{XID: call.XID(), Err: ctx.Err()}
	}
	return nil
}

// CheckCall returns the *CallError of a Call that cannot be made at all: one that is nil, or whose
// message is not a Call.
func CheckCall(call *Call) error {
	if call == nil {
		return &CallError{Err: fmt.Errorf("%w: the Call is nil", ErrMessage)}
	}
	if err := call.Check(MsgCall); err != nil {
		return &CallError{Err: err}
	}
	return nil
}

// wait makes a Call and calls done.
func wait(ctx context.Context, c Carrier, call *Call, done func(*Reply, error)) {
	if !call.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, call.Deadline)
		defer cancel()
	}
	done(c.Call(ctx, call))
}
