package setup

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// R300: sizes are limited to what there is memory for, and to the least there is.
func TestSizesAreLimitedToTheMemory(t *testing.T) {
	w := rdmaiotest.New(t)
	w.Serve(&rpctest.File{T: t}, nil)
	c := w.Dial(&rdmaio.Config{InlineSend: 4096, InlineRecv: 8192})
	for _, tt := range []struct{ send, recv, wantSend, wantRecv int }{
		{0, 0, 1024, 1024}, {1, 1023, 1024, 1024}, {2000, 3000, 2000, 3000}, {4097, 8193, 4096, 8192}, {math.MaxInt, math.MaxInt, 4096, 8192},
	} {
		if err := c.SetTerms(rdmaio.Terms{InlineSend: tt.send, InlineRecv: tt.recv}); err != nil {
			t.Error(err)
		}
		if got := c.Terms(); got.InlineSend != tt.wantSend || got.InlineRecv != tt.wantRecv || !got.RemoteInvalidate {
			t.Errorf("%d, %d: %+v", tt.send, tt.recv, got)
		}
	}
	if err := c.SetTerms(rdmaio.Terms{InlineSend: -1}); !errors.Is(err, verbs.ErrInvalidValue) {
		t.Error(err)
	}
}

// Sizes raised at both ends let larger messages go inline, both ways (R37).
func TestRaisedSizesGoInline(t *testing.T) {
	w := rdmaiotest.New(t)
	s := w.Serve(&rpctest.File{T: t}, &rdmaio.Config{InlineSend: 4096, InlineRecv: 4096})
	c := w.Dial(&rdmaio.Config{InlineSend: 4096, InlineRecv: 4096})
	low := rdmaio.Terms{InlineSend: 1024, InlineRecv: 1024}
	for _, tt := range []struct {
		terms rdmaio.Terms
		keys  int
	}{{low, 1}, {rdmaio.Terms{InlineSend: 4096, InlineRecv: 4096}, 0}} {
		if err := errors.Join(c.SetTerms(tt.terms), rdmaiotest.ServerConn(t, s).SetTerms(tt.terms)); err != nil {
			t.Fatal(err)
		}
		mark := len(w.History.Events())
		if _, err := c.Call(context.Background(), rpctest.WriteCall(1, 0, rdmaiotest.Pattern(2000, 1))); err != nil {
			t.Fatal(err)
		}
		rdmaiotest.KeysEnded(t, w.Since(mark), tt.keys)
	}
}

// R137, R297: there are no more concurrent RDMA Reads than negotiated, for any number of chunks and
// Calls, and all data arrives. If the negotiated depth is 0, one side refuses Calls that need
// Reads, and the other makes no such Calls.
func TestReadsKeepToTheNegotiatedDepth(t *testing.T) {
	for _, limit := range []int{1, 2, 5} {
		w := rdmaiotest.New(t)
		f := &rpctest.File{T: t}
		s := w.Serve(f, nil)
		c := w.Dial(&rdmaio.Config{SegmentSize: 700}) // so that a Call has many
		if err := rdmaiotest.ServerConn(t, s).SetTerms(rdmaio.Terms{Reads: limit}); err != nil {
			t.Fatal(err)
		}
		errs := make(chan error)
		data := rdmaiotest.Pattern(7*700, 1)
		for xid := range uint32(4) {
			go func() {
				_, err := c.Call(context.Background(), rpctest.WriteCall(100+xid, 0, data))
				errs <- err
			}()
		}
		for range 4 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if !bytes.Equal(f.Data, data) {
			t.Error("the server has other data")
		}
		reading, most := 0, 0
		for _, e := range w.History.Events() {
			if e.Device != "server" {
				continue
			}
			switch {
			case e.Kind == trace.PostSend && e.Opcode == verbs.RDMARead:
				reading++
				most = max(most, reading)
			case e.Kind == trace.Complete && e.WCOpcode == verbs.WCRDMARead:
				reading = max(0, reading-min(limit, 7)) // one completion for each chain
			}
		}
		if most > limit {
			t.Errorf("%d RDMA Reads at a time, %d were agreed on", most, limit)
		}
		rdmaiotest.AwaitStats(t, rdmaiotest.ServerConn(t, s), func(st *rdmaio.Stats) bool {
			return st.BytesRead == uint64(4*len(data)) && st.Waiting == 0
		})
	}
	w := rdmaiotest.New(t)
	s := w.Serve(&rpctest.File{T: t}, nil)
	c := w.Dial(nil)
	if err := rdmaiotest.ServerConn(t, s).SetTerms(rdmaio.Terms{Reads: -1}); err != nil {
		t.Fatal(err)
	}
	var pe *rdmaio.PeerError
	if _, err := c.Call(context.Background(), rpctest.WriteCall(1, 0, rdmaiotest.Pattern(5000, 1))); !errors.As(err, &pe) || pe.Code != rdmaio.PeerErrChunk {
		t.Error(err)
	}
	if err := c.SetTerms(rdmaio.Terms{NoReadChunks: true}); err != nil {
		t.Fatal(err)
	}
	var se *rdmaio.SizeError
	if _, err := c.Call(context.Background(), rpctest.WriteCall(1, 0, rdmaiotest.Pattern(5000, 1))); !errors.As(err, &se) {
		t.Error(err)
	}
	if _, err := c.Call(context.Background(), rpctest.ReadCall(2, 0, make([]byte, 5000))); err != nil {
		t.Error(err) // write chunks need none
	}
}
