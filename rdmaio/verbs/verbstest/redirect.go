package verbstest

import (
	"bytes"
	"errors"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// R289: Redirect does not change key, addresses and rights, and no access uses the old memory
// afterwards. The memory can be replaced several times, and the region can then be invalidated
// as any other.
func testRedirect(h *harness) {
	c, s := h.connected()
	mr := s.region(8, remoteRW)
	move, ok := mr.(verbs.Redirector)
	if !ok {
		h.Skip("the provider's regions have no Redirect")
	}
	key, at := mr.RKey(), mr.RemoteAddr()
	first := mr.Bytes()
	write := func(text string) {
		h.Helper()
		id := c.post(remote(verbs.RDMAWrite, mr, 0, c.text(text)))
		c.ok(id, verbs.WC{Opcode: verbs.WCRDMAWrite})
		// The completion does not prove that the bytes are in place; a Read does.
		got := c.region(8, verbs.AccessLocalWrite)
		id = c.post(remote(verbs.RDMARead, mr, 0, whole(got)))
		c.ok(id, verbs.WC{Opcode: verbs.WCRDMARead, ByteLen: 8})
		if string(got.Bytes()) != text {
			h.Errorf("%q is read back, want %q", got.Bytes(), text)
		}
	}
	write("original")
	for _, text := range []string{"redirect", "2nd time"} {
		next, err := s.pd.Alloc(8)
		h.must("alloc", err)
		h.Cleanup(func() { h.check("free", s.pd.Free(next)) })
		if err := move.Redirect(next); errors.Is(err, verbs.ErrNotSupported) {
			h.Skip("the wrapped provider's regions have no Redirect")
		} else {
			h.must("redirect", err)
		}
		if &mr.Bytes()[0] != &next[0] || mr.RKey() != key || mr.RemoteAddr() != at || mr.State() != verbs.MRValid || mr.Access() != remoteRW {
			h.Errorf("key %#x at %#x, %v with %v", mr.RKey(), mr.RemoteAddr(), mr.State(), mr.Access())
		}
		write(text)
		if string(first) != "original" {
			h.Errorf("%q in the memory before", first)
		}
		if !bytes.Equal(next, []byte(text)) {
			h.Errorf("%q in the memory now, want %q", next, text)
		}
	}
	h.wantErr("redirect to another size", move.Redirect(s.region(9, 0).Bytes()), verbs.ErrInvalidValue)
	h.must("invalidate", mr.Invalidate())
	h.check("redirect an invalid region", move.Redirect(first))
	h.must("deregister", mr.Deregister())
	h.wantErr("redirect a deregistered region", move.Redirect(first), verbs.ErrClosed)
}
