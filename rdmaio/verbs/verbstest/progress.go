package verbstest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// polled is a connection whose client polls for answers by Progress.
type polled struct {
	h       *harness
	c, s    *end
	p       verbs.Progresser
	buf     verbs.MemoryRegion // of the client's Receive
	asked   chan bool          // the server shall answer one message more
	answers sync.WaitGroup
	own     int // answers that came while Progress ran
}

// newPolled skips the case if the provider has no Progresser. before is called by the server before
// each answer.
func (h *harness) newPolled(before func(s *end)) *polled {
	h.Helper()
	p := &polled{h: h, asked: make(chan bool)}
	p.c, p.s = h.connected()
	var ok bool
	if p.p, ok = p.c.qp.(verbs.Progresser); !ok {
		h.Skip("the provider has no input for callers to handle (verbs.Progresser)")
	}
	p.buf = p.c.region(64, verbs.AccessLocalWrite)
	in := p.s.region(64, verbs.AccessLocalWrite)
	p.s.recv(whole(in))
	p.answers.Go(func() {
		for range p.asked {
			wc := p.s.wait(1)[0]
			out := p.s.text("re " + string(in.Bytes()[:wc.ByteLen]))
			p.s.recv(whole(in))
			if before != nil {
				before(p.s)
			}
			p.s.send(out)
			p.s.wait(1)
		}
	})
	return p
}

// close stops the server's goroutine.
func (p *polled) close() {
	close(p.asked)
	p.answers.Wait()
}

// call sends a message and waits for the answer.
func (p *polled) call(text string) {
	p.h.Helper()
	p.asked <- true
	p.c.recv(whole(p.buf))
	p.c.send(p.c.text(text))
	var got []verbs.WC = make([]verbs.WC, 0, 2)
	asked := 0
	p.p.Progress(func() bool {
		asked++
		p.c.poll(&got, 2)
		return len(got) == 2
	})
	if len(got) == 2 && asked > 1 {
		p.own++
	}
	for _, wc := range append(got, p.c.wait(2-len(got))...) {
		if wc.Status != verbs.StatusSuccess {
			p.h.Fatalf("completion %+v", wc)
		}
		if want := "re " + text; wc.Opcode == verbs.WCRecv && string(p.buf.Bytes()[:wc.ByteLen]) != want {
			p.h.Fatalf("answer %q, want %q", p.buf.Bytes()[:wc.ByteLen], want)
		}
	}
}

// Answers arrive whether the caller or the provider handles them, and so do messages that come
// when no caller polls.
func testProgress(h *harness) {
	p := h.newPolled(nil)
	for round := range 5 {
		for i := range 60 {
			p.call(fmt.Sprint("question ", round, i))
		}
		if round%2 == 1 {
			p.p.Resume()
		}
		p.asked <- true // no caller polls for this one
		p.c.recv(whole(p.buf))
		p.c.send(p.c.text("and"))
		p.c.wait(2)
	}
	p.close()
	h.Logf("%d of 300 answers were handled by their caller", p.own)
}

// Transfers, which are not for a caller, continue while it waits: the peer reads and writes memory
// before it answers.
func testProgressTransfers(h *harness) {
	const size = 20 << 10
	var mr verbs.MemoryRegion
	var local verbs.MemoryRegion
	n := byte(0)
	p := h.newPolled(func(s *end) {
		if n++; n%5 > 0 {
			return
		}
		if local == nil {
			local = s.region(size, verbs.AccessLocalWrite)
		}
		local.Bytes()[size-1] = n
		s.post(remote(verbs.RDMAWrite, mr, 0, whole(local)))
		s.post(remote(verbs.RDMARead, mr, 0, whole(local)))
		for _, wc := range s.wait(2) {
			if wc.Status != verbs.StatusSuccess {
				h.Errorf("completion %+v", wc)
			}
		}
		if got := local.Bytes()[size-1]; got != n {
			h.Errorf("byte %d after a Write and a Read, want %d", got, n)
		}
	})
	mr = p.c.region(size, remoteRW)
	for i := range 100 {
		p.call(fmt.Sprint("question ", i))
	}
	p.close()
}

// Progress returns soon after Wake, and in any case when nothing arrives; calls of several
// goroutines do not disturb each other.
func testProgressWake(h *harness) {
	p := h.newPolled(nil)
	for i := range 20 {
		for range 20 {
			p.call("first")
		}
		var done atomic.Bool
		var wg sync.WaitGroup
		for range 1 + i%2 {
			wg.Go(func() { p.p.Progress(done.Load) })
		}
		time.Sleep(time.Duration(i) * 20 * time.Microsecond)
		if i%5 > 0 {
			done.Store(true)
			p.p.Wake()
		}
		wg.Wait()
	}
	p.close()
}

// Progress returns when either side closes the connection, and has no effect afterwards.
func testProgressEnd(h *harness) {
	for i := range 12 {
		p := h.newPolled(nil)
		for range 20 {
			p.call("first")
		}
		p.close()
		var wg sync.WaitGroup
		if i%4 < 3 {
			wg.Go(func() { p.p.Progress(func() bool { return false }) })
		}
		from := p.c
		if i%2 == 0 {
			from = p.s
		}
		h.must("disconnect", from.qp.Disconnect())
		h.lost(p.c)
		wg.Wait()
		p.p.Progress(func() bool { return false })
		p.p.Wake()
		p.p.Resume()
		h.lost(p.s)
	}
}
