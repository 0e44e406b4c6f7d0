package verbstest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A queue pair accepts as many elements as it was created for, and not one more.
func testElementLimits(h *harness) {
	ca, sa := h.Client.Attributes(), h.Server.Attributes()
	send, recv := min(3, ca.MaxSendSGE), min(2, sa.MaxRecvSGE)
	c := h.newEnd(h.Client, verbs.QPConfig{MaxSendSGE: send})
	s := h.newEnd(h.Server, verbs.QPConfig{MaxRecvSGE: recv})
	h.connect(c, s, nil, nil)
	own, sink := c.region(8, remoteRW), s.region(64, remoteRW)
	list := func(mr verbs.MemoryRegion, n int) (sgl []verbs.SGE) {
		for i := range n {
			sgl = append(sgl, verbs.SGE{MR: mr, Offset: i, Length: 1})
		}
		return sgl
	}
	for op, limit := range map[verbs.Opcode]int{verbs.Send: send, verbs.RDMAWrite: send, verbs.RDMARead: min(send, ca.MaxReadSGE)} {
		n, err := c.qp.PostSend([]verbs.SendWR{remote(op, sink, 0, list(own, limit+1)...)})
		if h.wantErr(fmt.Sprintf("%v of %d elements", op, limit+1), err, verbs.ErrInvalidWR); n != 0 {
			h.Errorf("%v: %d taken", op, n)
		}
		if op == verbs.Send {
			s.recv(whole(sink))
		}
		c.post(remote(op, sink, 0, list(own, limit)...))
		if wc := c.wait(1)[0]; wc.Err() != nil {
			h.Errorf("%v of %d elements: %v", op, limit, wc.Err())
		}
	}
	s.wait(1)
	n, err := s.qp.PostRecv([]verbs.RecvWR{{SGL: list(sink, recv+1)}})
	if h.wantErr("Receive with an element too many", err, verbs.ErrInvalidWR); n != 0 {
		h.Errorf("Receive: %d taken", n)
	}
	s.recv(list(sink, recv)...)
}

// Alloc and posts refuse sizes above the limits of the device.
func testSizes(h *harness) {
	c, _ := h.connected()
	a := h.Client.Attributes()
	if a.MaxMRSize < math.MaxInt {
		_, err := c.pd.Alloc(int(a.MaxMRSize) + 1)
		h.wantErr("alloc above the limit", err, verbs.ErrTooLarge)
	}
	elements := min(a.MaxSendSGE, 32)
	part := int(a.MaxMessageSize)/elements + 1
	if part > 64<<20 || uint64(part) > a.MaxMRSize {
		h.Skipf("the longest message has %d bytes: too many to try", a.MaxMessageSize)
	}
	long := h.newEnd(h.Client, verbs.QPConfig{MaxSendSGE: elements})
	peer := h.newEnd(h.Server, verbs.QPConfig{})
	h.connect(long, peer, nil, nil)
	mr := long.region(part, 0)
	sgl := make([]verbs.SGE, elements) // all of the same bytes
	for i := range sgl {
		sgl[i] = whole(mr)
	}
	for _, op := range []verbs.Opcode{verbs.Send, verbs.RDMAWrite} {
		n, err := long.qp.PostSend([]verbs.SendWR{{Opcode: op, Flags: signaled, SGL: sgl}})
		if h.wantErr(op.String()+" above the limit", err, verbs.ErrTooLarge); n != 0 {
			h.Errorf("%v: %d taken", op, n)
		}
	}
	h.fresh(long, peer)
	if b := h.Server.Attributes(); a.MaxMessageSize <= 16<<20 && a.MaxMessageSize <= b.MaxMessageSize && uint64(a.MaxMessageSize) <= b.MaxMRSize {
		target := peer.region(int(a.MaxMessageSize), remoteRW)
		sgl[elements-1].Length -= part*elements - int(a.MaxMessageSize)
		for _, op := range []verbs.Opcode{verbs.Send, verbs.RDMAWrite} {
			if op == verbs.Send {
				peer.recv(whole(target))
			}
			long.post(remote(op, target, 0, sgl...))
			if wc := long.wait(1)[0]; wc.Err() != nil {
				h.Errorf("%v of as many bytes as the limit says: %v", op, wc.Err())
			}
		}
		if wc := peer.wait(1)[0]; wc.Err() != nil || wc.ByteLen != a.MaxMessageSize {
			h.Errorf("the longest message came as %+v", wc)
		}
	}
}

// An empty message, with any list, is a message like any other, and does not change its target.
// Nor does a short message change the rest of its Receive.
func testEmpty(h *harness) {
	c, s := h.connected()
	src, dst := c.region(8, 0), s.region(8, remoteRW)
	copy(src.Bytes(), "message!")
	want := []byte("untouchd")
	copy(dst.Bytes(), want)
	atEnd := c.halves(src, 8, 0)
	for name, from := range map[string][]verbs.SGE{
		"no element": nil, "an empty element": {{MR: src, Offset: 3}}, "empty elements at the end": atEnd,
	} {
		for _, to := range [][]verbs.SGE{nil, {{MR: dst, Offset: 8}}, {whole(dst)}} {
			r, id := s.recv(to...), c.send(from...)
			s.ok(r, verbs.WC{Opcode: verbs.WCRecv})
			c.ok(id, verbs.WC{Opcode: verbs.WCSend})
		}
		id := c.post(verbs.SendWR{Opcode: verbs.RDMAWrite, Flags: signaled, SGL: from, RKey: 1})
		c.ok(id, verbs.WC{Opcode: verbs.WCRDMAWrite})
		if !bytes.Equal(dst.Bytes(), want) {
			h.Fatalf("%s: memory now has %q", name, dst.Bytes())
		}
	}
	// One of no elements, one that is all in the last of three, one in part.
	for at, sgl := range [][]verbs.SGE{
		{{MR: dst, Offset: 0}, {MR: dst, Offset: 8}, {MR: dst, Offset: 4, Length: 4}},
		{{MR: dst, Offset: 2, Length: 6}},
	} {
		if len(sgl) > h.Server.Attributes().MaxRecvSGE {
			continue
		}
		r, id := s.recv(sgl...), c.send(verbs.SGE{MR: src, Length: 3})
		s.ok(r, verbs.WC{Opcode: verbs.WCRecv, ByteLen: 3})
		c.ok(id, verbs.WC{Opcode: verbs.WCSend})
		copy(want[[]int{4, 2}[at]:], "mes")
		if !bytes.Equal(dst.Bytes(), want) {
			h.Errorf("short message %d: memory has %q, want %q", at, dst.Bytes(), want)
		}
	}
}

// A Read fills the elements of its list in order.
func testReadLists(h *harness) {
	a := h.Client.Attributes()
	n := min(a.MaxReadSGE, a.MaxSendSGE, 8)
	c := h.newEnd(h.Client, verbs.QPConfig{MaxSendSGE: n})
	s := h.newEnd(h.Server, verbs.QPConfig{})
	h.connect(c, s, nil, nil)
	src, sink := s.region(5*n, verbs.AccessRemoteRead), c.region(8*n, verbs.AccessLocalWrite)
	want := make([]byte, 8*n)
	var sgl []verbs.SGE
	for i := range src.Bytes() {
		src.Bytes()[i] = byte(i + 1)
	}
	for i := range n { // backwards, with gaps
		at := 8 * (n - 1 - i)
		sgl = append(sgl, verbs.SGE{MR: sink, Offset: at, Length: 5})
		copy(want[at:at+5], src.Bytes()[5*i:])
	}
	id := c.post(remote(verbs.RDMARead, src, 0, sgl...))
	c.ok(id, verbs.WC{Opcode: verbs.WCRDMARead, ByteLen: uint32(5 * n)})
	if !bytes.Equal(sink.Bytes(), want) {
		h.Errorf("read %v, want %v", sink.Bytes(), want)
	}
}

// Both sides Write and Read more than all buffers between them hold, at once. Neither waits
// until the other has read.
func testBulk(h *harness) {
	const size, times = 1 << 20, 4
	c, s := h.connected()
	type side struct {
		e      *end
		target verbs.MemoryRegion // target of the peer's Writes
		own    verbs.MemoryRegion // source for our Writes and the peer's Reads
		got    verbs.MemoryRegion // target of our Reads
	}
	sides := [2]side{}
	for i, e := range []*end{c, s} {
		d := &sides[i]
		d.e, d.target, d.own, d.got = e, e.region(size, remoteRW), e.region(size, verbs.AccessRemoteRead), e.region(size, verbs.AccessLocalWrite)
		for b := d.own.Bytes(); len(b) > 0; b = b[256:] {
			binary.BigEndian.PutUint32(b, uint32(len(b)+i)) // different at each place and side
			b[255] = byte(1 + i)
		}
		e.recvs(1, 8)
	}
	reads := h.Client.Attributes().MaxInitiatorDepth > 0 && h.Server.Attributes().MaxInitiatorDepth > 0
	for i := range sides {
		d, peer := &sides[i], &sides[1-i]
		for range times {
			d.e.post(remote(verbs.RDMAWrite, peer.target, 0, whole(d.own)))
			if reads {
				d.e.post(remote(verbs.RDMARead, peer.own, 0, whole(d.got)))
			}
		}
		d.e.send()
	}
	for i := range sides {
		for _, wc := range sides[i].e.wait(len(sides[i].e.open)) {
			if wc.Err() != nil {
				h.Fatal(wc.Err())
			}
		}
	}
	for i := range sides { // R4: the Writes before the other's Send are in place
		if !bytes.Equal(sides[i].target.Bytes(), sides[1-i].own.Bytes()) {
			h.Errorf("side %d does not have what the other wrote", i)
		}
		if reads && !bytes.Equal(sides[i].got.Bytes(), sides[1-i].own.Bytes()) {
			h.Errorf("side %d does not have what it read", i)
		}
	}
}
