package rdmaio

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// source has connections to make Calls on, one at a time.
type source interface {
	// acquire waits for a connection that stands, or says why there is none to be had.
	acquire(ctx context.Context) (*Conn, error)
	release(*Conn)
}

// retry makes a Call on whatever connection there is, and on a further one when that is lost: with
// the same XID, and with keys of the new connection only, since Conn.Call registers anew (RFC 8166
// §3.3.3; R284, R286). losses is how many lost connections a Call that was sent survives; again counts those that
// were sent anew, and not those that only waited for a credit where the connection was lost.
func retry(ctx context.Context, call *Call, src source, losses int, again *atomic.Uint64, events func(Event)) (*Reply, error) {
	if err := call.check(typeCall); err != nil {
		return nil, &CallError{Err: err}
	}
	sent, before := false, error(nil)
	for {
		c, err := src.acquire(ctx)
		if err != nil {
			return nil, &CallError{XID: call.xid(), MayHaveRun: sent, Err: err}
		}
		reply, err := c.Call(ctx, call)
		src.release(c)
		var ce *CallError
		failed := errors.As(err, &ce)
		if sent && (!failed || ce.MayHaveRun) {
			again.Add(1)
			if events != nil {
				events(&Resent{RPC: c.rpcOf(call.Inline), Reason: before})
			}
		}
		if !failed {
			return reply, err
		}
		if ce.MayHaveRun {
			sent = true
			losses--
		}
		ce.MayHaveRun, before = sent, ce.Err
		if c.Err() == nil || losses < 0 || lasting(ce.Err) {
			return nil, ce
		}
	}
}

// lasting reports whether a Call would fail in the same way on another connection,
// or is not wanted any more.
func lasting(err error) bool {
	var (
		fault *Fault
		peer  *PeerError
		size  *SizeError
	)
	if errors.As(err, &fault) || errors.As(err, &peer) || errors.As(err, &size) {
		return true
	}
	for _, e := range []error{
		context.Canceled, context.DeadlineExceeded, ErrMessage, ErrXIDInUse, ErrInvalidated, ErrReverse,
		verbs.ErrInvalidValue, verbs.ErrNotSupported, verbs.ErrDeviceRemoved,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// xids gives XIDs in turn from a place that nobody can foresee: so a program
// that was started again does not meet its own old Calls in a reply cache.
type xids struct{ last atomic.Uint32 }

func (x *xids) seed() {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	x.last.Store(binary.BigEndian.Uint32(b[:]))
}

func (x *xids) next() uint32 { return x.last.Add(1) }
