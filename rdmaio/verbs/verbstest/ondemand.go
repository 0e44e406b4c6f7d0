package verbstest

import (
	"bytes"
	"errors"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A region on demand has no memory before the peer writes there, and gets it once. It is within its
// bounds and rights as any other (R9), and can be registered again, with or without memory.
func testOnDemand(h *harness) {
	c, s := h.connected()
	plain := s.region(8, remoteRW)
	mr, ok := plain.(verbs.OnDemand)
	if !ok {
		h.Skip("the provider's regions are not on demand")
	}
	const access = verbs.AccessLocalWrite | verbs.AccessRemoteWrite
	buf, err := s.pd.Alloc(4096)
	h.must("alloc", err)
	h.Cleanup(func() { h.check("free", s.pd.Free(buf)) })
	var calls atomic.Int32
	memory := func() ([]byte, error) {
		calls.Add(1)
		return buf, nil
	}
	err = mr.ReregisterOnDemand(4096, access, memory)
	if errors.Is(err, verbs.ErrNotSupported) {
		h.Skip("the wrapped provider's regions are not on demand")
	}
	h.wantErr("register a valid region on demand", err, verbs.ErrBusy)
	h.must("invalidate", plain.Invalidate())
	before := plain.RKey()
	h.must("register on demand", mr.ReregisterOnDemand(4096, access, memory))
	if plain.Bytes() != nil || plain.RKey() == before || plain.State() != verbs.MRValid || plain.Access() != access || calls.Load() != 0 {
		h.Errorf("%d bytes, key %#x after %#x, %v with %v, memory was asked for %d times",
			len(plain.Bytes()), plain.RKey(), before, plain.State(), plain.Access(), calls.Load())
	}
	_, err = s.qp.PostRecv([]verbs.RecvWR{{WRID: s.nextID(), SGL: []verbs.SGE{{MR: plain, Length: 8}}}})
	h.wantErr("post a Receive into a region on demand", err, verbs.ErrAccess)
	if move, ok := plain.(verbs.Redirector); ok {
		h.wantErr("redirect a region on demand", move.Redirect(buf), verbs.ErrNotSupported)
	}
	for i, text := range []string{"begins", "middle", "at end"} {
		at := i * (4096 - len(text)) / 2
		id := c.post(remote(verbs.RDMAWrite, plain, uint64(at), c.text(text)))
		c.ok(id, verbs.WC{Opcode: verbs.WCRDMAWrite})
		s.recvs(1, 8)
		c.send(c.text("written")) // its Receive completes after the bytes are in place
		c.wait(1)
		s.wait(1)
		if got := plain.Bytes(); len(got) != 4096 || &got[0] != &buf[0] || !bytes.HasPrefix(got[at:], []byte(text)) {
			h.Fatalf("%d bytes, want %q at %d", len(got), text, at)
		}
	}
	if n := calls.Load(); n != 1 {
		h.Errorf("memory was asked for %d times, want once", n)
	}
	h.must("invalidate", plain.Invalidate())
	h.must("register with memory", plain.Reregister(buf[:16], remoteRW))
	if len(plain.Bytes()) != 16 {
		h.Errorf("%d bytes, want 16", len(plain.Bytes()))
	}
	h.must("invalidate", plain.Invalidate())
	for _, tt := range []struct {
		what   string
		size   int
		access verbs.Access
		memory func() ([]byte, error)
	}{
		{"no byte", 0, access, memory},
		{"no function", 8, access, nil},
		{"a right to read", 8, access | verbs.AccessRemoteRead, memory},
		{"no right to write", 8, verbs.AccessLocalWrite, memory},
	} {
		h.wantErr("register on demand with "+tt.what, mr.ReregisterOnDemand(tt.size, tt.access, tt.memory), verbs.ErrInvalidValue)
	}
	h.must("deregister", plain.Deregister())
	h.wantErr("register a deregistered region on demand", mr.ReregisterOnDemand(8, access, memory), verbs.ErrClosed)
}

// A write beyond a region on demand, a read from such a region, and a write for which there is no
// memory break the connection as with other regions (R9, R290). Nothing is allocated for the first
// two.
func testOnDemandRefused(h *harness) {
	fails := errors.New("there is no memory")
	for _, tt := range []struct {
		what  string
		op    verbs.Opcode
		at, n int
		calls int32
	}{
		{"a write that ends behind it", verbs.RDMAWrite, 60, 8, 0},
		{"a write that begins behind it", verbs.RDMAWrite, 65, 1, 0},
		{"a read", verbs.RDMARead, 0, 8, 0},
		{"a write without memory", verbs.RDMAWrite, 0, 8, 1},
	} {
		c, s := h.connected()
		plain := s.region(8, remoteRW)
		mr, ok := plain.(verbs.OnDemand)
		if !ok {
			h.Skip("the provider's regions are not on demand")
		}
		var calls atomic.Int32
		h.must("invalidate", plain.Invalidate())
		err := mr.ReregisterOnDemand(64, verbs.AccessLocalWrite|verbs.AccessRemoteWrite, func() ([]byte, error) {
			calls.Add(1)
			return nil, fails
		})
		if errors.Is(err, verbs.ErrNotSupported) {
			h.Skip("the wrapped provider's regions are not on demand")
		}
		h.must("register on demand", err)
		id := c.post(remote(tt.op, plain, uint64(tt.at), whole(c.region(tt.n, verbs.AccessLocalWrite))))
		h.broken(c, s, id, verbs.StatusRemoteAccess, verbs.StatusFlushed)
		if n := calls.Load(); n != tt.calls {
			h.Errorf("%s: memory was asked for %d times, want %d", tt.what, n, tt.calls)
		}
	}
}
