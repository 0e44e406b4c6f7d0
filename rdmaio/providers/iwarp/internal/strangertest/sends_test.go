package strangertest

import (
	"bytes"
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// No ULPDU of the provider is longer than Config.MULPDU, and all others of a long message are as
// long (RFC 5041 §5.2).
func TestNoULPDUIsLongerThanMULPDU(t *testing.T) {
	for _, size := range []int{128, 1000, 1442, 9000, 64768} {
		cfg := config()
		cfg.MULPDU = size
		h := newHost(t, open(t, cfg))
		b := make([]byte, 200_000)
		for i := range b {
			b[i] = byte(i * i >> 8)
		}
		mr := h.region("memory", b, everything)
		p := h.connect(true, stranger.Config{
			Startup: enhanced(true), Buffers: []int{len(b)},
			Regions: map[uint32]stranger.Region{1: {Bytes: make([]byte, len(b)), WriteOK: true}},
		}, nil)
		sge := []verbs.SGE{{MR: mr, Length: len(b)}}
		h.must(h.send(verbs.SendWR{Opcode: verbs.RDMAWrite, SGL: sge, RKey: 1}))
		p.Read(stranger.Read{SinkSTag: 1, Size: uint32(len(b)), SourceSTag: mr.RKey(), SourceTO: mr.RemoteAddr()})
		h.must(h.send(verbs.SendWR{Opcode: verbs.Send, SGL: sge}))
		for range 2 {
			if e := p.Next(); e.Kind == stranger.Message && !bytes.Equal(e.Payload, b) || e.Kind != stranger.Message && e.Kind != stranger.ReadDone {
				t.Fatalf("MULPDU %d: %v", size, e)
			}
		}
		for _, s := range p.Received() {
			n := len(s.Bytes())
			if n > size || n < size-4 && !s.Last {
				t.Errorf("MULPDU %d: ULPDU of %d bytes, last %t", size, n, s.Last)
			}
		}
		noComplaints(t, p)
	}
}

// Goroutines that post at once make messages in some order, each with its own number (RFC 5041
// §4.3).
func TestConcurrentPosts(t *testing.T) {
	const posters, each = 8, 100
	h := newHost(t, open(t, config()))
	b := make([]byte, 8*posters*each)
	for i := range posters * each {
		binary.BigEndian.PutUint64(b[8*i:], uint64(i))
	}
	mr := h.region("memory", b, verbs.AccessLocalWrite)
	p := h.connect(true, stranger.Config{Startup: enhanced(true), Buffers: bytesOf(posters*each, 8)}, nil)
	var group sync.WaitGroup
	for i := range posters {
		group.Go(func() {
			for j := range each {
				wr := verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: mr, Offset: 8 * (i*each + j), Length: 8}}}
				for {
					if _, err := h.qp.PostSend([]verbs.SendWR{wr}); err == nil {
						break
					}
					time.Sleep(100 * time.Microsecond) // the queue is full
				}
			}
		})
	}
	group.Go(func() {
		for range posters * each {
			if wc, err := h.wait(patience); err != nil || wc.Status != verbs.StatusSuccess {
				t.Errorf("completion %+v, %v", wc, err)
			}
		}
	})
	var last [posters]int
	for range posters * each {
		e := p.Next()
		if e.Kind != stranger.Message || len(e.Payload) != 8 {
			t.Fatalf("%v", e)
		}
		n := int(binary.BigEndian.Uint64(e.Payload))
		if last[n/each] != n%each {
			t.Fatalf("poster %d: message %d, want %d", n/each, n%each, last[n/each])
		}
		last[n/each]++
	}
	group.Wait()
	noComplaints(t, p)
}

// bytesOf returns n times a size.
func bytesOf(n, size int) (all []int) {
	for range n {
		all = append(all, size)
	}
	return all
}

// A queue that is armed for solicited completions is notified of Sends with Solicited Event only
// (RFC 5040 §5.3).
func TestSolicitedSendsNotify(t *testing.T) {
	h := newHost(t, open(t, config()))
	h.post(10, 10, 10, 10)
	p := h.connect(false, stranger.Config{Startup: enhanced(true)}, nil)
	gone := h.region("gone", make([]byte, 1), everything)
	for _, tt := range []struct {
		op      stranger.Opcode
		stag    uint32
		notices bool
	}{{stranger.Send, 0, false}, {stranger.SendSE, 0, true}, {stranger.SendSEInvalidate, gone.RKey(), true}} {
		for {
			select {
			case <-h.wake:
				continue
			default:
			}
			break
		}
		h.must(h.cq.Arm(true))
		p.Send(tt.op, []byte("x"), tt.stag)
		var wcs [1]verbs.WC
		await(t, func() bool { n, _ := h.cq.Poll(wcs[:]); return n == 1 })
		select {
		case <-h.wake:
			if !tt.notices {
				t.Errorf("opcode %d notifies", tt.op)
			}
		case <-time.After(map[bool]time.Duration{true: patience, false: 5 * time.Millisecond}[tt.notices]):
			if tt.notices {
				t.Errorf("opcode %d does not notify", tt.op)
			}
		}
	}
}

// With its workarounds the provider sends only operations of no bytes besides those that are
// posted, and breaks no rule for senders.
func TestWorkaroundsBreakNoRule(t *testing.T) {
	for _, initiator := range []bool{false, true} {
		h := newHost(t, open(t, nil))
		mr := h.region("text", []byte("hello"), verbs.AccessLocalWrite)
		p := h.connect(initiator, stranger.Config{Startup: enhanced(true), Buffers: []int{10}}, nil)
		if !initiator {
			p.Write(0, 0, nil)
		}
		h.must(h.send(verbs.SendWR{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: mr, Length: 5}}}))
		if e := p.Next(); string(e.Payload) != "hello" {
			t.Fatalf("%v", e)
		}
		e, ok := p.Poll(200 * time.Millisecond) // silence
		if ok {
			t.Errorf("initiator %t: %v", initiator, e)
		}
		for _, s := range p.Received() {
			if s.Opcode != stranger.Send && (s.Opcode != stranger.Write || len(s.Payload) > 0) {
				t.Errorf("initiator %t: opcode %d, %d bytes", initiator, s.Opcode, len(s.Payload))
			}
		}
		t.Logf("initiator %t: %d segments", initiator, len(p.Received()))
		noComplaints(t, p)
	}
}
