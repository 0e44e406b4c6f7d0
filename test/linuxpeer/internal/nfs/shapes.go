package nfs

import (
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma1"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Shapes counts the messages of a client's device by the chunks that they have, so that a test can
// tell whether it tested each shape of RFC 8166 §3.4. It knows version 1.
type Shapes struct {
	mu     sync.Mutex
	counts ShapeCounts
}

// ShapeCounts are the numbers of messages. One message may count several times.
type ShapeCounts struct {
	Calls         int // messages sent with an RPC call, long calls included
	ReadChunks    int // calls with a read chunk for an item
	WriteChunks   int // calls with a write chunk
	ReplyChunks   int // calls that offer a reply chunk
	LongCalls     int // calls in a read chunk at position zero
	LongReplies   int // replies in the reply chunk
	WritesUsed    int // replies that used a write chunk
	ErrorMessages int // RDMA_ERROR received
}

// Device wraps a client's device.
func (s *Shapes) Device(dev verbs.Device) verbs.Device {
	return trace.New(trace.Config{Sink: s.event, Head: 2048}).Device(dev)
}

// Counts returns the numbers so far.
func (s *Shapes) Counts() ShapeCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// String returns the numbers, for a log.
func (c ShapeCounts) String() string {
	return fmt.Sprintf("%d calls: %d with read chunks, %d with write chunks (%d used), %d with reply chunks (%d used), %d long; %d errors",
		c.Calls, c.ReadChunks, c.WriteChunks, c.WritesUsed, c.ReplyChunks, c.LongReplies, c.LongCalls, c.ErrorMessages)
}

// event is the sink of the trace.
func (s *Shapes) event(e trace.Event) {
	var m rpcrdma1.Message
	if e.Head == "" || m.DecodeXDR(xdr.NewDecoder([]byte(e.Head), nil)) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Kind == trace.PostSend:
		s.sent(&m.Body)
	case e.Kind == trace.Complete && e.Status == verbs.StatusSuccess:
		s.received(&m.Body)
	}
}

func (s *Shapes) sent(b *rpcrdma1.Body) {
	h := &b.Msg
	if b.Proc == rpcrdma1.ProcNomsg {
		h = &rpcrdma1.Header{Reads: b.Nomsg.Reads, Writes: b.Nomsg.Writes, Reply: b.Nomsg.Reply}
	}
	if b.Proc != rpcrdma1.ProcMsg && b.Proc != rpcrdma1.ProcNomsg {
		return
	}
	s.counts.Calls++
	if b.Proc == rpcrdma1.ProcNomsg {
		s.counts.LongCalls++
	} else if len(h.Reads) > 0 {
		s.counts.ReadChunks++
	}
	if len(h.Writes) > 0 {
		s.counts.WriteChunks++
	}
	if h.Reply.Present {
		s.counts.ReplyChunks++
	}
}

func (s *Shapes) received(b *rpcrdma1.Body) {
	writes := b.Msg.Writes
	switch b.Proc {
	case rpcrdma1.ProcError:
		s.counts.ErrorMessages++
	case rpcrdma1.ProcNomsg:
		s.counts.LongReplies++
		writes = b.Nomsg.Writes
	}
	for _, w := range writes {
		n := uint32(0)
		for _, t := range w.Target {
			n += t.Length
		}
		if n > 0 {
			s.counts.WritesUsed++
			break
		}
	}
}
