package stream

import (
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// With Shape.SumFirst the sum of a staged frame decides before its header does, and a frame with
// direct payload is placed before all of it has come.
func TestSumComesFirstForStagedFramesOnly(t *testing.T) {
	sumFirst := func(c *Config) { c.Shape.SumFirst = true }
	t.Run("staged", func(t *testing.T) {
		w := newWired(t, sumFirst)
		bad := w.frame(100, KindReport+1, 0, 0, 0, 0)
		bad[len(bad)-1] ^= 1
		w.peerSends(t, bad)
		if err := w.reader.readFrame(w.c); !errors.Is(err, errToy) || !strings.Contains(err.Error(), "sum ") {
			t.Errorf("a frame with a wrong sum and a wrong header: %v, want its sum", err)
		}
	})
	t.Run("staged, once", func(t *testing.T) {
		w := newWired(t, sumFirst)
		w.receive(t, 100)
		f := w.frame(100, KindSend, toyLast, 0, 0, 0)
		summed, sum := 0, w.c.sum
		w.c.sum = func(s uint32, b []byte) uint32 {
			summed += len(b)
			return sum(s, b)
		}
		w.peerSends(t, f)
		if err := w.reader.readFrame(w.c); err != nil || summed != len(f)-trailerSize {
			t.Errorf("%d bytes are summed, want %d; %v", summed, len(f)-trailerSize, err)
		}
	})
	t.Run("direct", func(t *testing.T) {
		w := newWired(t, sumFirst)
		w.receive(t, 8192)
		f := w.frame(3000, KindSend, toyLast, 0, 0, 0)
		read := make(chan struct{})
		w.peerSends(t, f[:1000])
		placed := make(chan struct{})
		sum := w.c.sum
		w.c.sum = func(s uint32, b []byte) uint32 {
			if len(b) > toyHeader { // a part of the payload, in the region
				select {
				case <-placed:
				default:
					close(placed)
				}
			}
			return sum(s, b)
		}
		go func() {
			defer close(read)
			if err := w.reader.readFrame(w.c); err != nil {
				t.Error(err)
			}
		}()
		returns(t, "the first part of the payload", placed)
		if _, err := w.peer.Write(f[1000:]); err != nil {
			t.Error(err)
		}
		returns(t, "readFrame", read)
	})
}

// A frame whose payload has come when the connection closes is not carried out: its Receive is
// flushed already.
func TestDirectFrameIsNotCarriedOutAfterTheEnd(t *testing.T) {
	w := newWired(t, nil)
	w.receive(t, 8192)
	sum := w.c.sum
	w.c.sum = func(s uint32, b []byte) uint32 {
		if len(b) < 4 { // the padding, after the payload
			w.mu.Lock()
			w.end(verbs.ErrPeerDisconnected, Report{})
			w.mu.UnlockNotify()
		}
		return sum(s, b)
	}
	w.peerSends(t, w.frame(3000, KindSend, toyLast, 0, 0, 0))
	if err := w.reader.readFrame(w.c); err != errClosing {
		t.Errorf("%v, want %v", err, errClosing)
	}
	var wcs [4]verbs.WC
	n, err := w.RecvCQ.Poll(wcs[:])
	if err != nil || n != 1 || wcs[0].Status != verbs.StatusFlushed {
		t.Errorf("%d completions, %+v, %v; want one that is flushed", n, wcs[:n], err)
	}
}
