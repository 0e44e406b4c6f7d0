package verbstest

import (
	"bytes"
	"errors"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Both ends of a connection have the same channel binding, and another connection has another one.
// It does not change, and the caller may change the data.
func testChannelBinding(h *harness) {
	b, ok := h.newEnd(h.Client, verbs.QPConfig{}).qp.(verbs.ChannelBinder)
	if !ok {
		h.Skip("the provider has no channel bindings (verbs.ChannelBinder)")
	}
	if _, err := b.ChannelBinding(); !errors.Is(err, verbs.ErrNotSupported) {
		h.wantErr("before the connection", err, verbs.ErrInvalidState)
	}
	var first []byte
	for range 2 {
		c, s := h.connected()
		own, err := verbs.BindingOf(c.qp)
		if errors.Is(err, verbs.ErrNotSupported) {
			_, err = verbs.BindingOf(s.qp)
			h.wantErr("at the server, as at the client", err, verbs.ErrNotSupported)
			h.Skipf("the connection has no channel binding: %v", err)
		}
		h.must("binding of the client", err)
		kept := bytes.Clone(own.Data)
		clear(own.Data)
		again, err := verbs.BindingOf(c.qp)
		h.must("binding again", err)
		peers, err := verbs.BindingOf(s.qp)
		h.must("binding of the server", err)
		if own.Type == "" || len(kept) < 12 || own.Type != peers.Type || !bytes.Equal(kept, peers.Data) || !bytes.Equal(kept, again.Data) {
			h.Errorf("client %q %x, again %x, server %q %x", own.Type, kept, again.Data, peers.Type, peers.Data)
		}
		if bytes.Equal(kept, first) {
			h.Errorf("two connections have the binding %x", kept)
		}
		first = kept
	}
}
