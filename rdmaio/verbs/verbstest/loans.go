package verbstest

import (
	"bytes"
	"errors"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// lend posts a Receive for which the provider lends n bytes.
func (e *end) lend(n int) uint64 {
	e.h.Helper()
	id := e.nextID()
	_, err := e.qp.PostRecv([]verbs.RecvWR{{WRID: id, Lend: n}})
	e.h.must("post receive that borrows memory", err)
	return id
}

// A device lends memory for messages, of their lengths, or refuses such Receives.
func testLoans(h *harness) {
	c, s := h.connected()
	if !h.Server.Attributes().LendReceives {
		if _, err := s.qp.PostRecv([]verbs.RecvWR{{WRID: 1, Lend: 8}}); !errors.Is(err, verbs.ErrNotSupported) {
			h.Errorf("a Receive that borrows memory, on a device that lends none: %v", err)
		}
		return
	}
	both := verbs.RecvWR{Lend: 8, SGL: []verbs.SGE{whole(s.region(8, verbs.AccessLocalWrite))}}
	for _, wr := range []verbs.RecvWR{both, {Lend: -1}} {
		if _, err := s.qp.PostRecv([]verbs.RecvWR{wr}); !errors.Is(err, verbs.ErrInvalidWR) {
			h.Errorf("a Receive that borrows %d bytes and has %d elements: %v", wr.Lend, len(wr.SGL), err)
		}
	}
	const longest = 100_000
	lengths := []int{0, 1, 511, 512, 513, 5000, 5120, 5121, 16 << 10, 70_000, longest}
	src := c.region(longest, verbs.AccessLocalWrite)
	for i := range src.Bytes() {
		src.Bytes()[i] = byte(i * 7 / 3)
	}
	for range lengths {
		s.lend(longest)
	}
	mr := s.recvs(1, 8)[0] // both kinds can be in one queue
	for _, n := range lengths {
		c.send(verbs.SGE{MR: src, Length: n})
	}
	c.send(c.text("borrows"))
	c.wait(len(lengths) + 1)
	got := s.wait(len(lengths) + 1)
	for i, n := range lengths {
		wc := &got[i]
		switch {
		case wc.Status != verbs.StatusSuccess || wc.ByteLen != uint32(n) || n > 0 && wc.Loan == nil:
			h.Fatalf("message of %d bytes: completion %+v", n, *wc)
		case n > 0 && !bytes.Equal(wc.Loan.Bytes(), src.Bytes()[:n]):
			h.Errorf("message of %d bytes: %d bytes are lent, or others", n, len(wc.Loan.Bytes()))
		}
	}
	if got[len(lengths)].Loan != nil || string(mr.Bytes()[:7]) != "borrows" {
		h.Errorf("a Receive with memory completes with %+v and %q", got[len(lengths)], mr.Bytes())
	}
	for i := range lengths { // a loan stays as it is until it is returned
		if l := got[i].Loan; l != nil {
			l.Bytes()[0]++
			l.Return()
		}
	}
	s.lend(8)
	c.recvs(1, 8)
	id := c.send(c.text("nine byte"))
	h.broken(c, s, id, verbs.StatusRemoteInvalidRequest, verbs.StatusLocalLength)
}

// Messages that are lent at the same time have different memory.
func testLoansKept(h *harness) {
	c, s := h.connected()
	if !h.Server.Attributes().LendReceives {
		h.Skip("the device lends no memory")
	}
	texts := []string{"one", "two", "three", "four", "five", "six"}
	var kept []verbs.Loan
	for round := range 4 {
		for range texts {
			s.lend(8)
		}
		for _, text := range texts {
			c.send(c.text(text))
		}
		c.wait(len(texts))
		for i, wc := range s.wait(len(texts)) {
			if (i+round)%2 == 0 {
				wc.Loan.Return()
				continue
			}
			if string(wc.Loan.Bytes()) != texts[i] {
				h.Errorf("found %q, want %q", wc.Loan.Bytes(), texts[i])
			}
			wc.Loan.Bytes()[0] = byte(len(kept))
			kept = append(kept, wc.Loan)
		}
	}
	for i, l := range kept {
		if l.Bytes()[0] != byte(i) {
			h.Errorf("loan %d was overwritten", i)
		}
		l.Return()
	}
}

// Receives with memory and without come in any order. None has anything of one that was posted
// before it.
func testLoansInTurn(h *harness) {
	c, s := h.connected()
	if !h.Server.Attributes().LendReceives {
		h.Skip("the device lends no memory")
	}
	const each = 3 // odd, so that an entry of the receive queue has both kinds
	mem, text := s.region(8, verbs.AccessLocalWrite), c.text("in turn")
	for range 20 {
		for i := range each {
			if i%2 == 0 {
				s.lend(8)
			} else {
				s.recv(whole(mem))
			}
		}
		for range each {
			c.send(text)
		}
		c.wait(each)
		for i, wc := range s.wait(each) {
			switch {
			case i%2 != 0 && (wc.Loan != nil || string(mem.Bytes()[:7]) != "in turn"):
				h.Fatalf("a Receive with memory completes with %+v and %q", wc, mem.Bytes())
			case i%2 != 0:
			case wc.Loan == nil || string(wc.Loan.Bytes()) != "in turn":
				h.Fatalf("a Receive without memory completes with %+v", wc)
			default:
				wc.Loan.Return()
			}
		}
		clear(mem.Bytes())
	}
}

// A message that finds no Receive gets no loan: it breaks the connection, as with Receives that
// have memory.
func testNoneLent(h *harness) {
	c, s := h.connected()
	if !h.Server.Attributes().LendReceives {
		h.Skip("the device lends no memory")
	}
	c.recvs(1, 8)
	s.lend(8)
	first := c.send(c.text("one"))
	if wc := s.wait(1)[0]; wc.Loan == nil || string(wc.Loan.Bytes()) != "one" {
		h.Errorf("completion %+v", wc)
	}
	c.ok(first, verbs.WC{Opcode: verbs.WCSend})
	s.quiet()
	id := c.send(c.text("two"))
	h.broken(c, s, id, verbs.StatusRNRRetryExceeded, verbs.StatusFlushed)
}
