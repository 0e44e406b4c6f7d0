package verbstest

import (
	"bytes"
	"math"
	"reflect"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// R4, R5: the bytes of a Write are in place when a later Send has arrived.
func testWriteThenSend(h *harness) {
	c, s := h.connected()
	const n = 64 << 10
	sink := s.region(n, remoteRW)
	src := c.region(n, 0)
	for round := range byte(8) {
		s.recvs(1, 8)
		for b, i := src.Bytes(), 0; i < n; i++ {
			b[i] = byte(i) ^ round
		}
		wr := remote(verbs.RDMAWrite, sink, 0, c.halves(src, 0, n)...)
		wr.Flags = 0
		c.post(wr)
		c.send(c.text("done"))
		s.wait(1)
		if !bytes.Equal(sink.Bytes(), src.Bytes()) {
			h.Fatalf("round %d: the Send overtook the Write", round)
		}
		if wc := c.wait(1)[0]; wc.Opcode != verbs.WCSend || wc.Err() != nil {
			h.Fatalf("completion %+v, want that of the Send alone", wc)
		}
	}
	s.quiet() // R6: a Write completes at its initiator only
}

// R1, R6: a Read copies the peer's memory, and completes at its initiator only.
func testRead(h *harness) {
	c, s := h.connected()
	src := s.region(100, verbs.AccessRemoteRead)
	for i := range src.Bytes() {
		src.Bytes()[i] = byte(i)
	}
	sink := c.region(100, verbs.AccessLocalWrite)
	id := c.post(remote(verbs.RDMARead, src, 30, verbs.SGE{MR: sink, Offset: 10, Length: 50}))
	c.ok(id, verbs.WC{Opcode: verbs.WCRDMARead, ByteLen: 50})
	want := make([]byte, 100)
	copy(want[10:60], src.Bytes()[30:])
	if !bytes.Equal(sink.Bytes(), want) {
		h.Errorf("read %v", sink.Bytes())
	}
	s.quiet()
}

// A fenced Send is sent after the Read before it has completed.
func testFence(h *harness) {
	c, s := h.connected()
	src, sink := s.region(32<<10, verbs.AccessRemoteRead), c.region(32<<10, verbs.AccessLocalWrite)
	for i := range src.Bytes() {
		src.Bytes()[i] = 7
	}
	back := s.recvs(1, 4)
	read := remote(verbs.RDMARead, src, 0, whole(sink))
	read.Flags = 0
	c.post(read)
	id := c.post(verbs.SendWR{Opcode: verbs.Send, Flags: signaled | verbs.SendFence, SGL: []verbs.SGE{{MR: sink, Offset: 32<<10 - 4, Length: 4}}})
	s.wait(1)
	c.ok(id, verbs.WC{Opcode: verbs.WCSend})
	if !bytes.Equal(back[0].Bytes(), []byte{7, 7, 7, 7}) {
		h.Errorf("the fenced Send carried %v: it did not wait for the Read", back[0].Bytes())
	}

	// A fenced Write of the bytes that the Read before it has copied.
	clear(sink.Bytes())
	target := s.region(4, remoteRW)
	s.recvs(1, 4)
	c.post(read)
	write := remote(verbs.RDMAWrite, target, 0, verbs.SGE{MR: sink, Offset: 32<<10 - 4, Length: 4})
	write.Flags = verbs.SendFence
	c.post(write)
	c.send()
	s.wait(1)
	c.wait(1)
	if !bytes.Equal(target.Bytes(), []byte{7, 7, 7, 7}) {
		h.Errorf("the fenced Write brought %v: it did not wait for the Read", target.Bytes())
	}
}

// RFC 5040 §5: an access of zero length is not checked and has no effect.
func testZeroLength(h *harness) {
	c, _ := h.connected()
	for _, op := range []verbs.Opcode{verbs.RDMAWrite, verbs.RDMARead} {
		id := c.post(verbs.SendWR{Opcode: op, Flags: signaled, RKey: 0xdeadbeef, RemoteAddr: math.MaxUint64})
		if wc := c.wait(1)[0]; wc.WRID != id || wc.Err() != nil || wc.ByteLen != 0 {
			h.Errorf("%v of nothing: %+v", op, wc)
		}
	}
	if st := c.qp.State(); st != verbs.StateConnected {
		h.Errorf("state %v", st)
	}
}

// refused does an access that must be refused, on a new connection, and checks that no byte has
// moved. prepare returns the victim's region, and the request without its list.
func (h *harness) refused(name string, op verbs.Opcode, n int, prepare func(c, s *end) (verbs.MemoryRegion, verbs.SendWR)) {
	h.Run(name+"/"+op.String(), func(h2 *harness) {
		c, s := h2.connected()
		s.recvs(1, 8)
		victim, wr := prepare(c, s)
		for i := range victim.Bytes() {
			victim.Bytes()[i] = 0xa5
		}
		own := c.region(n, verbs.AccessLocalWrite)
		wr.Opcode, wr.Flags, wr.SGL = op, signaled, []verbs.SGE{whole(own)}
		id := c.post(wr)
		h2.broken(c, s, id, verbs.StatusRemoteAccess, verbs.StatusFlushed)
		for _, b := range victim.Bytes() {
			if b != 0xa5 {
				h2.Fatal("the victim's memory was written")
			}
		}
		for _, b := range own.Bytes() {
			if b != 0 {
				h2.Fatal("a byte of the victim's memory was read")
			}
		}
	})
}

// R9; RFC 5042 §6.2.1, §6.3.1: an access whose range is not entirely within the region has no
// effect.
func testBounds(h *harness) {
	for _, tc := range []struct {
		name string
		off  uint64 // from the region's first byte
		n    int
	}{
		{"one before", math.MaxUint64, 8},
		{"one after", 64, 1},
		{"across the end", 60, 5},
		{"longer than the region", 0, 65},
		{"far away", 1 << 40, 1},
		{"range wraps", math.MaxUint64 - 3, 32},
	} {
		for _, op := range []verbs.Opcode{verbs.RDMAWrite, verbs.RDMARead} {
			h.refused(tc.name, op, tc.n, func(c, s *end) (verbs.MemoryRegion, verbs.SendWR) {
				mr := s.region(64, remoteRW)
				return mr, verbs.SendWR{RKey: mr.RKey(), RemoteAddr: mr.RemoteAddr() + tc.off}
			})
		}
	}
	c, s := h.connected()
	mr, own := s.region(64, remoteRW), c.region(64, verbs.AccessLocalWrite)
	for _, r := range []struct {
		off uint64
		n   int
	}{{0, 64}, {0, 1}, {63, 1}} {
		for _, op := range []verbs.Opcode{verbs.RDMAWrite, verbs.RDMARead} {
			c.post(remote(op, mr, r.off, verbs.SGE{MR: own, Length: r.n}))
			if wc := c.wait(1)[0]; wc.Err() != nil {
				h.Errorf("%v of %d at %d: %v", op, r.n, r.off, wc.Err())
			}
		}
	}
}

// R9, R304: each right is necessary and sufficient.
func testRights(h *harness) {
	const lw, rr, rw = verbs.AccessLocalWrite, verbs.AccessRemoteRead, verbs.AccessRemoteWrite
	for _, access := range []verbs.Access{0, lw, rr, lw | rr, lw | rw, lw | rw | rr} {
		for op, need := range map[verbs.Opcode]verbs.Access{verbs.RDMAWrite: rw, verbs.RDMARead: rr} {
			if access&need == 0 {
				h.refused(access.String(), op, 8, func(c, s *end) (verbs.MemoryRegion, verbs.SendWR) {
					mr := s.region(8, access)
					return mr, verbs.SendWR{RKey: mr.RKey(), RemoteAddr: mr.RemoteAddr()}
				})
				continue
			}
			h.Run(access.String()+"/"+op.String(), func(h *harness) {
				c, s := h.connected()
				c.post(remote(op, s.region(8, access), 0, whole(c.region(8, lw))))
				if wc := c.wait(1)[0]; wc.Err() != nil {
					h.Errorf("refused: %v", wc.Err())
				}
			})
		}
	}
}

// R8: another domain's key, here from another connection, is refused. The other connection is not
// affected.
func testForeignDomain(h *harness) {
	for _, op := range []verbs.Opcode{verbs.RDMAWrite, verbs.RDMARead} {
		h.Run(op.String(), func(h *harness) {
			otherC, otherS := h.connected()
			mr := otherS.region(8, remoteRW)
			h.refused("attack", op, 8, func(c, s *end) (verbs.MemoryRegion, verbs.SendWR) {
				return mr, verbs.SendWR{RKey: mr.RKey(), RemoteAddr: mr.RemoteAddr()}
			})
			if mr.State() != verbs.MRValid || otherS.qp.State() != verbs.StateConnected {
				h.Errorf("the other connection suffered: region %v, queue pair %v", mr.State(), otherS.qp.State())
			}
			otherC.post(remote(op, mr, 0, whole(otherC.region(8, verbs.AccessLocalWrite))))
			if wc := otherC.wait(1)[0]; wc.Err() != nil {
				h.Errorf("rightful access: %v", wc.Err())
			}
		})
	}
}

// R1, R301: handles have 32 bits, are never 0, all different and in no order. With
// DeviceAttributes.GuessableKeys they only differ from the one before. Regions without remote
// rights do not have a key.
func testHandles(h *harness) {
	e := h.newEnd(h.Server, verbs.QPConfig{})
	const n = 2000
	guessable := e.dev.Attributes().GuessableKeys
	seen := make(map[uint32]bool)
	steps := make(map[uint32]int)
	mr := e.region(64, remoteRW)
	last := mr.RKey()
	for range n {
		h.must("invalidate", mr.Invalidate())
		h.must("reregister", mr.Reregister(mr.Bytes(), remoteRW))
		key := mr.RKey()
		if key == 0 || key == last || seen[key] && !guessable {
			h.Fatalf("handle %#x is 0 or was used before (the last one was %#x)", key, last)
		}
		if end := mr.RemoteAddr() + uint64(len(mr.Bytes())); end < mr.RemoteAddr() {
			h.Fatalf("region at %#x wraps", mr.RemoteAddr())
		}
		seen[key] = true
		steps[key-last]++
		last = key
	}
	for step, times := range steps {
		if times > n/20 && !guessable {
			h.Errorf("handle grew by %#x %d times of %d: predictable", step, times, n)
		}
	}
	if local := e.region(8, verbs.AccessLocalWrite); local.RKey() != 0 {
		h.Errorf("region without remote rights has handle %#x", local.RKey())
	}
}

func testRegistrationErrors(h *harness) {
	e := h.newEnd(h.Server, verbs.QPConfig{})
	buf, err := e.pd.Alloc(8)
	h.must("alloc", err)
	for name, tc := range map[string]struct {
		buf    []byte
		access verbs.Access
	}{
		"no bytes":                        {nil, 0},
		"remote write, no local write":    {buf, verbs.AccessRemoteWrite},
		"remote invalidate, no other use": {buf, verbs.AccessLocalWrite | verbs.AccessRemoteInvalidate},
		"unknown right":                   {buf, 0x80},
	} {
		_, err := e.pd.RegisterMemory(tc.buf, tc.access)
		h.wantErr(name, err, verbs.ErrInvalidValue)
	}
	h.must("free", e.pd.Free(buf))
	mr, err := e.pd.RegisterMemory(make([]byte, 10), remoteRW)
	if !e.dev.Attributes().HeapMemory {
		h.wantErr("register heap", err, verbs.ErrNotSupported)
		return
	}
	h.must("register heap", err)
	h.check("deregister", mr.Deregister())
}

func testAlloc(h *harness) {
	e := h.newEnd(h.Server, verbs.QPConfig{})
	_, err := e.pd.Alloc(0)
	h.wantErr("alloc of nothing", err, verbs.ErrInvalidValue)
	for i, n := range []int{1, 24, 80, 100, 1000, 5000} {
		buf, err := e.pd.Alloc(n)
		h.must("alloc", err)
		if n > 1 {
			h.wantErr("free from the second byte on", e.pd.Free(buf[1:]), verbs.ErrForeignObject)
		}
		if at := reflect.ValueOf(buf).Pointer(); at%64 != 0 {
			h.Errorf("%d bytes are at %#x, which 64 does not divide", n, at)
		}
		h.must("free", e.pd.Free([][]byte{buf, buf[:0], buf[:1]}[i%3])) // any length
	}
	buf, err := e.pd.Alloc(100)
	h.must("alloc", err)
	if len(buf) != 100 || !bytes.Equal(buf, make([]byte, 100)) {
		h.Errorf("alloc gave %d bytes, or not all zero", len(buf))
	}
	mr, err := e.pd.RegisterMemory(buf[10:20], remoteRW)
	h.must("register a part", err)
	h.wantErr("free of registered memory", e.pd.Free(buf), verbs.ErrBusy)
	h.wantErr("close of a domain in use", e.pd.Close(), verbs.ErrBusy)
	h.must("invalidate", mr.Invalidate())
	h.must("free of memory whose region is invalid", e.pd.Free(buf))
	if buf, err = e.pd.Alloc(100); err != nil {
		h.Fatalf("alloc: %v", err)
	}
	h.must("register other memory", mr.Reregister(buf[10:20], remoteRW))
	h.wantErr("free of memory registered again", e.pd.Free(buf), verbs.ErrBusy)
	h.must("deregister", mr.Deregister())
	h.check("deregister again", mr.Deregister())
	h.must("free", e.pd.Free(buf))
	if h.wantErr("free again", e.pd.Free(buf), verbs.ErrForeignObject); e.dev.Resources().AllocatedBytes != 0 {
		h.Errorf("%d bytes counted", e.dev.Resources().AllocatedBytes)
	}
}
