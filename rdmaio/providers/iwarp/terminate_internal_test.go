package iwarp

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/ddp"
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
