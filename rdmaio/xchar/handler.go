package xchar

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// handler takes what a connection gives to the extension.
type handler struct{ conn *Conn }

var _ rdmaio.ReceiveResizer = (*handler)(nil)

// Properties implements rdmaio.ExtensionHandler: the sizes of CONNPROP may have changed.
func (h *handler) Properties([]rdmaio.Property) { h.conn.limit() }

// Receive implements rdmaio.ExtensionHandler.
func (h *handler) Receive(m *rdmaio.ExtensionMessage) {
	c := h.conn
	body := m.Body.(*xcharcarrier.Optional)
	if f := c.envelope(m, body); f != nil {
		c.refuse(m, f)
		return
	}
	out := c.e.Receive(m.XID, body)
	c.carryOut(out)
	if out.Fault != nil {
		c.refuse(m, out.Fault)
	}
}

// envelope checks what the header type has around an operation.
func (c *Conn) envelope(m *rdmaio.ExtensionMessage, body *xcharcarrier.Optional) *Fault {
	f := (*Fault)(nil)
	switch {
	case m.Response != (body.Direction == xcharcarrier.XIDOfReceiver): // R145
		f = fault(rpcrdma2.ErrInvalFlag, "header", fmt.Errorf("direction is %v and the RESPONSE flag %t, expected the same", body.Direction, m.Response))
	case len(m.Payload) > 0: // draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §4; R242
		f = fault(rpcrdma2.ErrBadXDR, "header", fmt.Errorf("%d bytes follow the operation, expected none (section 4)", len(m.Payload)))
	}
	if f != nil {
		c.e.stats.Faults++
	}
	return f
}

// refuse answers a message with its fault, unless it is an answer.
func (c *Conn) refuse(m *rdmaio.ExtensionMessage, f *Fault) {
	if m.Response || f.Code == 0 {
		return
	}
	if err := c.x.Refuse(m, rdmaio.PeerErrorCode(f.Code)); err != nil {
		c.x.Fail(err)
	}
}

// Error implements rdmaio.ExtensionHandler.
func (h *handler) Error(e *rdmaio.ExtensionError) { h.conn.failed(e) }

// ReceivesReplaced implements rdmaio.ReceiveResizer.
func (h *handler) ReceivesReplaced(size int) { // R237
	h.conn.carryOut(h.conn.e.ReceivesReplaced(uint32(size)))
}

// Down implements rdmaio.ExtensionHandler.
func (h *handler) Down(error) { h.conn.notify() }
