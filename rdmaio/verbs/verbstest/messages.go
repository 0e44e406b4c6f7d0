package verbstest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// R2: Receives are used in the order posted, one for each Send.
func testOrder(h *harness) {
	c, s := h.connected()
	const n = 20
	bufs := s.recvs(n, 16)
	var wrs []verbs.SendWR
	for i := range n {
		wrs = append(wrs, verbs.SendWR{WRID: c.nextID(), Opcode: verbs.Send, Flags: signaled, SGL: []verbs.SGE{c.text(fmt.Sprint("message ", i))}})
	}
	k, err := c.qp.PostSend(wrs)
	h.must("post", err)
	if k != n {
		h.Fatalf("posted %d, want %d", k, n)
	}
	clear(wrs) // it belongs to the caller again
	for i, wc := range s.wait(n) {
		want := fmt.Sprint("message ", i)
		if wc.WRID != uint64(i+1) || wc.Status != verbs.StatusSuccess || string(bufs[i].Bytes()[:wc.ByteLen]) != want {
			h.Errorf("completion %d: %+v with %q, want %q", i, wc, bufs[i].Bytes()[:wc.ByteLen], want)
		}
	}
	for i, wc := range c.wait(n) {
		if wc.WRID != uint64(i+1) || wc.Err() != nil || wc.Opcode != verbs.WCSend {
			h.Errorf("send completion %d: %+v", i, wc)
		}
	}
	c.quiet()
	s.quiet()
}

// R3, R11: a message arrives with its length and bytes. A Receive of exactly that length is large
// enough.
func testLengths(h *harness) {
	c, s := h.connected()
	for _, n := range []int{0, 1, 3, 127, 128, 4096, 70000} {
		buf := s.region(n+2, verbs.AccessLocalWrite)
		for i := range buf.Bytes() {
			buf.Bytes()[i] = 0xa5
		}
		r := s.recv(verbs.SGE{MR: buf, Offset: 1, Length: n})
		id := c.send(c.text(strings.Repeat("x", n)))
		s.ok(r, verbs.WC{Opcode: verbs.WCRecv, ByteLen: uint32(n)})
		c.ok(id, verbs.WC{Opcode: verbs.WCSend})
		if want := "\xa5" + strings.Repeat("x", n) + "\xa5"; string(buf.Bytes()) != want {
			h.Errorf("%d bytes: message or its surroundings differ", n)
		}
	}
	// A message without elements.
	r, id := s.recv(), c.send()
	s.ok(r, verbs.WC{Opcode: verbs.WCRecv})
	c.ok(id, verbs.WC{Opcode: verbs.WCSend})
}

func testScatterGather(h *harness) {
	c, s := h.connected()
	src := c.text("0123456789abcdef").MR
	dst := s.region(32, verbs.AccessLocalWrite)
	n := min(3, h.Client.Attributes().MaxSendSGE, h.Server.Attributes().MaxRecvSGE)
	if n == 1 {
		h.Skip("the devices take one element")
	}
	from := []verbs.SGE{{MR: src, Offset: 10, Length: 5}, {MR: src, Offset: 0, Length: 0}, {MR: src, Offset: 2, Length: 3}}
	to := []verbs.SGE{{MR: dst, Offset: 20, Length: 3}, {MR: dst, Offset: 0, Length: 4}, {MR: dst, Offset: 8, Length: 10}}
	want := "abcde234"[:5]
	if n == 3 {
		want = "abcde234"
	}
	r, id := s.recv(to[:n]...), c.send(from[:n]...)
	s.ok(r, verbs.WC{Opcode: verbs.WCRecv, ByteLen: uint32(len(want))})
	c.ok(id, verbs.WC{Opcode: verbs.WCSend})
	b := dst.Bytes()
	if got := string(b[20:23]) + string(bytes.TrimRight(b[0:4], "\x00")) + string(bytes.TrimRight(b[8:18], "\x00")); n >= 2 && got != want {
		h.Errorf("received %q, want %q", got, want)
	}
}

// R1: both ends send, on the same queue pair.
func testBothDirections(h *harness) {
	c, s := h.connected()
	cb, sb := c.recvs(1, 8), s.recvs(1, 8)
	c.send(c.text("to you"))
	s.wait(1)
	s.send(s.text("to me"))
	s.wait(1)
	c.wait(2)
	if string(sb[0].Bytes()[:6]) != "to you" || string(cb[0].Bytes()[:5]) != "to me" {
		h.Errorf("received %q and %q", sb[0].Bytes(), cb[0].Bytes())
	}
}

// The first message uses a Receive that was posted before the connection.
func testEarlySend(h *harness) {
	c, s := h.newEnd(h.Client, verbs.QPConfig{}), h.newEnd(h.Server, verbs.QPConfig{})
	cb, sb := c.recvs(1, 8), s.recvs(1, 8)
	if st := c.qp.State(); st != verbs.StateInit {
		h.Errorf("state %v before dial", st)
	}
	h.connect(c, s, nil, nil)
	s.send(s.text("server")) // first: the provider delays it where the initiator must send first
	c.send(c.text("client"))
	c.wait(2)
	s.wait(2)
	if string(cb[0].Bytes()[:6]) != "server" || string(sb[0].Bytes()[:6]) != "client" {
		h.Errorf("received %q and %q", cb[0].Bytes(), sb[0].Bytes())
	}
}

// R3: a message that is longer than its Receive breaks the connection. It is not truncated.
func testReceiveTooSmall(h *harness) {
	c, s := h.connected()
	bufs := s.recvs(2, 8)
	c.recvs(1, 8)
	id := c.send(c.text("nine byte"))
	h.broken(c, s, id, verbs.StatusRemoteInvalidRequest, verbs.StatusLocalLength)
	if h.Precise && !bytes.Equal(bufs[0].Bytes(), make([]byte, 8)) {
		h.Errorf("part of the message was delivered: %q", bufs[0].Bytes())
	}
}

// R3: a message that finds no Receive breaks the connection.
func testNonePosted(h *harness) {
	c, s := h.connected()
	c.recvs(1, 8)
	s.recvs(1, 8)
	id := c.send(c.text("one"))
	s.wait(1)
	c.ok(id, verbs.WC{Opcode: verbs.WCSend})
	id = c.send(c.text("two"))
	h.broken(c, s, id, verbs.StatusRNRRetryExceeded, verbs.StatusFlushed)
}
