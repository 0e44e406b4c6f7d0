package rpc

import (
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Served describes a call that a Handler has answered, or dropped. It is valid until the function
// that it was passed to returns.
type Served struct {
	*Request

	// Status is the refusal that was sent, or nil for the results of the procedure, and for a call
	// that was dropped.
	Status *oncrpc.ReplyError

	// Err is the error behind Status or ErrDrop: of the procedure, or of decoding the arguments.
	Err error

	// ArgBytes and ResultBytes are the sizes of the call's message and of its reply, headers
	// and items of bulk data included. ResultBytes is zero for a call that was dropped.
	ArgBytes, ResultBytes int

	// Time is the time from the arrival of the call to its answer.
	Time time.Duration
}

// event passes the end of a call to the function of HandlerConfig.Events.
func (p *pooledRequest) event(status *oncrpc.ReplyError, err error) {
	if p.handler.cfg.Events == nil {
		return
	}
	p.handler.cfg.Events(&Served{
		Request: &p.Request, Status: status, Err: err,
		ArgBytes: len(p.rpc.Message), ResultBytes: size(p.enc.Bytes(), p.enc.Items()), Time: time.Since(p.arrived),
	})
}

// Called describes a call that a Client has made.
type Called struct {
	Program   *oncrpc.Program // read only
	Procedure uint32

	// Err is nil if the call succeeded.
	Err *Error

	// ArgBytes and ResultBytes are the sizes of the call's message and of its reply, headers
	// and items of bulk data included. ResultBytes is zero if there was no reply.
	ArgBytes, ResultBytes int

	// Time is the duration of the call.
	Time time.Duration
}

// size returns the size of a message with its items.
func size(message []byte, items []xdr.Item) int {
	n := len(message)
	for i := range items {
		n += len(items[i].Data)
	}
	return n
}
