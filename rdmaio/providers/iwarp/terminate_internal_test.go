package iwarp

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/ddp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/mpa"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/rdmap"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// RFC 5040 §4.8: a Terminate with the header of a segment blames the request that sent this
// segment, and no other: of two Writes to one STag the one with its offset, and of Reads and Sends,
// which are numbered apart, the one with its number.
func TestTerminateBlames(t *testing.T) {
	write := func(stag uint32, at uint64, n int) *stream.Request {
		return &stream.Request{Request: soft.Request{Opcode: verbs.RDMAWrite, RKey: stag, Addr: at, Total: n}}
	}
	numbered := func(op verbs.Opcode, number uint32) *stream.Request {
		return &stream.Request{Request: soft.Request{Opcode: op}, Number: number}
	}
	requests := []*stream.Request{
		write(7, 1000, 100), write(7, 1100, 100), write(8, 1000, 300), write(7, 5000, 0),
		numbered(verbs.RDMARead, 4), numbered(verbs.RDMARead, 5),
		numbered(verbs.Send, 4), numbered(verbs.SendWithInvalidate, 5),
	}
	tagged := func(stag uint32, to uint64) ddp.Header { return ddp.Header{Tagged: true, STag: stag, TO: to} }
	for _, tt := range []struct {
		what string
		h    ddp.Header
		none bool // the Terminate has no header
		want int  // index of the request; -1: none
	}{
		{"the first byte of the first Write", tagged(7, 1000), false, 0},
		{"the last byte of the first Write", tagged(7, 1099), false, 0},
		{"the first byte of the second Write", tagged(7, 1100), false, 1},
		{"the last byte of the second Write", tagged(7, 1199), false, 1},
		{"behind both", tagged(7, 1200), false, -1},
		{"before both", tagged(7, 999), false, -1},
		{"at a Write of no bytes", tagged(7, 5000), false, -1},
		{"another STag", tagged(8, 1100), false, 2},
		{"an unknown STag", tagged(9, 1000), false, -1},
		{"a Read", ddp.Header{QN: rdmap.QueueRead, MSN: 5}, false, 5},
		{"a Send", ddp.Header{QN: rdmap.QueueSend, MSN: 4}, false, 6},
		{"a Send that invalidates", ddp.Header{QN: rdmap.QueueSend, MSN: 5}, false, 7},
		{"a Send that is not ours", ddp.Header{QN: rdmap.QueueSend, MSN: 6}, false, -1},
		{"the queue of Terminates", ddp.Header{QN: rdmap.QueueTerminate, MSN: 4}, false, -1},
		{"no header", tagged(7, 1000), true, -1},
	} {
		f := &framer{report: rdmap.Terminate{Cause: causeUpper, HasDDP: !tt.none, DDP: tt.h}}
		p, err := f.Ended(nil)
		if err != nil {
			t.Fatal(err)
		}
		got := -1
		for i, r := range requests {
			if p.Caused(r) {
				if got >= 0 {
					t.Errorf("%s: requests %d and %d", tt.what, got, i)
				}
				got = i
			}
		}
		if got != tt.want {
			t.Errorf("%s: request %d, want %d", tt.what, got, tt.want)
		}
	}
}

// RFC 5040 §4.8, RFC 5041 §8.2: the cause of our Terminate for each end, and its description: the
// headers of the segment at hand with the errors of Figure 10, and a Read Request with the errors
// of its source.
func TestTerminateCauses(t *testing.T) {
	access := func(op rdmap.Opcode, why soft.Denial) (*framer, stream.Report) {
		return &framer{op: op}, stream.Report{Reason: stream.ReasonAccess, Denial: why, AtHand: true}
	}
	const noRight = soft.Denial("region has no remote-write right")
	tagged := func(rule ddp.Rule) rdmap.Cause { return ddpCause(rule) }
	for _, tt := range []struct {
		op        rdmap.Opcode
		why       soft.Denial
		want      rdmap.Cause
		ddp, read bool // described
	}{
		{rdmap.Write, soft.NoRegion, tagged(ddp.InvalidSTag), true, false},
		{rdmap.Write, soft.Invalidated, tagged(ddp.InvalidSTag), true, false},
		{rdmap.Write, soft.OtherDomain, tagged(ddp.NotAssociated), true, false},
		{rdmap.Write, soft.OutOfBounds, tagged(ddp.Bounds), true, false},
		{rdmap.Write, noRight, tagged(ddp.InvalidSTag), true, false},
		{rdmap.ReadRequestOp, soft.NoRegion, rdmap.InvalidSTag.Cause(), true, true},
		{rdmap.ReadRequestOp, soft.Invalidated, rdmap.InvalidSTag.Cause(), true, true},
		{rdmap.ReadRequestOp, soft.OtherDomain, rdmap.NotAssociated.Cause(), true, true},
		{rdmap.ReadRequestOp, soft.OutOfBounds, rdmap.Bounds.Cause(), true, true},
		{rdmap.ReadRequestOp, noRight, rdmap.Access.Cause(), true, true},
		{rdmap.SendInvalidate, soft.NoRegion, rdmap.CannotInvalidate.Cause(), true, false},
	} {
		f, why := access(tt.op, tt.why)
		got := rdmap.Terminate{Cause: f.cause(&why)}
		f.describe(&got)
		if got.Cause != tt.want || got.HasDDP != tt.ddp || got.HasRead != tt.read {
			t.Errorf("%v, %s: %v (headers %v, %v), want %v (%v, %v)", tt.op, tt.why, got.Cause, got.HasDDP, got.HasRead, tt.want, tt.ddp, tt.read)
		}
	}
	for _, tt := range []struct {
		why  stream.Report
		want rdmap.Cause
		ddp  bool
	}{
		{stream.Report{Reason: stream.ReasonAccess}, rdmap.InvalidSTag.Cause(), true},
		{stream.Report{Reason: stream.ReasonLength}, ddpCause(ddp.MessageTooLong), true},
		{stream.Report{Reason: stream.ReasonReceiver}, ddpCause(ddp.NoBuffer), true},
		{stream.Report{Reason: stream.ReasonReads}, rdmap.TooManyReads.Cause(), true},
		{stream.Report{Reason: stream.ReasonSlow}, causeSlow, false},
		{stream.Report{Reason: stream.ReasonFormat}, causeUpper, true},
		{stream.Report{Reason: stream.ReasonFailed}, causeFailed, false},
	} {
		f := &framer{op: rdmap.Send}
		got := rdmap.Terminate{Cause: f.cause(&tt.why)}
		f.describe(&got)
		if got.Cause != tt.want || got.HasDDP != tt.ddp || got.HasRead {
			t.Errorf("reason %d: %v (headers %v, %v), want %v (%v)", tt.why.Reason, got.Cause, got.HasDDP, got.HasRead, tt.want, tt.ddp)
		}
		// A Terminate that no segment has caused has no headers.
		var read rdmap.Terminate
		b := f.LastBytes(nil, &tt.why, 0)
		if err := read.Decode(b[mpa.LengthSize+ddp.UntaggedSize:]); err != nil || read.HasDDP || read.Cause != tt.want {
			t.Errorf("reason %d: %v, headers %v; %v", tt.why.Reason, read.Cause, read.HasDDP, err)
		}
	}
}

// The status of the request that a Terminate blames.
func TestTerminateStatus(t *testing.T) {
	reads := rdmap.Terminate{HasDDP: true, DDP: ddp.Header{QN: rdmap.QueueRead}}
	sends := rdmap.Terminate{HasDDP: true}
	for _, tt := range []struct {
		c    rdmap.Cause
		t    *rdmap.Terminate
		want verbs.Status
	}{
		{causeSlow, &sends, verbs.StatusRetryExceeded},
		{ddpCause(ddp.NoBuffer), &reads, verbs.StatusRemoteInvalidRequest},
		{ddpCause(ddp.NoBuffer), &sends, verbs.StatusRNRRetryExceeded},
		{rdmap.InvalidSTag.Cause(), &sends, verbs.StatusRemoteAccess},
		{rdmap.Bounds.Cause(), &reads, verbs.StatusRemoteAccess},
		{rdmap.CannotInvalidate.Cause(), &sends, verbs.StatusRemoteAccess},
		{ddpCause(ddp.InvalidSTag), &sends, verbs.StatusRemoteAccess},
		{ddpCause(ddp.Bounds), &sends, verbs.StatusRemoteAccess},
		{ddpCause(ddp.NotAssociated), &sends, verbs.StatusRemoteAccess},
		{rdmap.Cause{Layer: rdmap.LayerDDP, Type: ddp.TypeTagged, Code: 3}, &sends, verbs.StatusRemoteAccess},
		{rdmap.Cause{Layer: rdmap.LayerDDP, Type: ddp.TypeTagged, Code: 4}, &sends, verbs.StatusRemoteInvalidRequest},
		{rdmap.TooManyReads.Cause(), &reads, verbs.StatusRemoteInvalidRequest},
		{causeFailed, &sends, verbs.StatusRemoteOperation},
		{rdmap.Cause{Layer: rdmap.LayerRDMAP, Type: rdmap.TypeOperation, Code: 6}, &sends, verbs.StatusRemoteInvalidRequest},
		{rdmap.Cause{Layer: rdmap.LayerRDMAP, Type: rdmap.TypeOperation, Code: 7}, &sends, verbs.StatusRemoteOperation},
		{rdmap.Cause{Layer: rdmap.LayerRDMAP, Type: rdmap.TypeOperation, Code: 8}, &sends, verbs.StatusRemoteOperation},
		{rdmap.Cause{Layer: rdmap.LayerDDP, Type: ddp.TypeLocal}, &sends, verbs.StatusRemoteOperation},
		{rdmap.Cause{Layer: rdmap.LayerLLP, Code: mpa.CodeLocalCatastrophic}, &sends, verbs.StatusRemoteOperation},
		{rdmap.Cause{Layer: 7}, &sends, verbs.StatusRemoteOperation},
	} {
		if got := status(tt.c, tt.t); got != tt.want {
			t.Errorf("%v, queue %d: %v, want %v", tt.c, tt.t.DDP.QN, got, tt.want)
		}
	}
}

// RFC 5041 §7.1: a range may end at 2^64, and not beyond. An empty one may be anywhere. Only Sends
// and Reads have numbers, each their own.
func TestBeginRequest(t *testing.T) {
	f := &framer{mulpdu: 133}
	const end = 1<<64 - 8
	for _, tt := range []struct {
		op     verbs.Opcode
		addr   uint64
		n      int
		fails  bool
		number uint32
	}{
		{verbs.RDMAWrite, end, 8, false, 0},
		{verbs.RDMAWrite, end, 9, true, 0},
		{verbs.RDMARead, end, 9, true, 0},
		{verbs.RDMARead, end, 8, false, 1},
		{verbs.RDMAWrite, 1<<64 - 1, 0, false, 0},
		{verbs.Send, 0, 8, false, 1},
		{verbs.SendWithInvalidate, 0, 8, false, 2},
		{verbs.RDMARead, 0, 1, false, 2},
	} {
		r := &stream.Request{Request: soft.Request{Opcode: tt.op, Addr: tt.addr, Total: tt.n}}
		if what := f.Begin(r); (what != "") != tt.fails || r.Number != tt.number {
			t.Errorf("%v of %d bytes at %#x: %q, number %d, want %d", tt.op, tt.n, tt.addr, what, r.Number, tt.number)
		}
	}
	// All but the last FPDU have a payload whose size is a multiple of 4 bytes.
	for _, op := range []verbs.Opcode{verbs.Send, verbs.RDMAWrite} {
		r := &stream.Request{Request: soft.Request{Opcode: op, Total: 1001}}
		for last := false; !last; {
			var n int
			n, last = f.Next(r)
			if n < 1 || n > 133 || !last && n%4 != 0 {
				t.Fatalf("%v: %d bytes at %d, last %v", op, n, r.Sent, last)
			}
			r.Sent += n
		}
		if r.Sent != 1001 {
			t.Errorf("%v: %d bytes of 1001", op, r.Sent)
		}
	}
}
