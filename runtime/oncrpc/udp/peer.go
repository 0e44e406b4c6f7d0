package udp

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// peerKey identifies a peer: its address, and ours that it sent to.
type peerKey struct{ remote, local netip.AddrPort }

// peer is the Conn of the Calls that one client has in progress at a server.
type peer struct {
	to      netip.AddrPort // the address of replies, in the form of the socket
	remote  string
	local   string
	control []byte // for replies, or nil
	xids    oncrpc.XIDs
	ctx     context.Context
	end     context.CancelCauseFunc
	calls   map[uint32]bool // XIDs in progress with one peerKey; Server.mu protects it
}

var _ oncrpc.Conn = (*peer)(nil)

func newPeer(ctx context.Context, from, local netip.AddrPort, control []byte) *peer {
	p := &peer{to: from, remote: text(from), local: text(local), control: control, calls: make(map[uint32]bool)}
	p.ctx, p.end = context.WithCancelCause(ctx)
	return p
}

// text returns an address as text, one of IPv4 in IPv6 as IPv4.
func text(a netip.AddrPort) string { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()).String() }

// XID implements oncrpc.Carrier.
func (p *peer) XID() uint32 { return p.xids.Next() }

// Call implements oncrpc.Carrier: there are no reverse Calls.
func (p *peer) Call(_ context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	e := &oncrpc.CallError{Err: fmt.Errorf("%w over UDP: the client has no connection to keep open for them", oncrpc.ErrReverse)}
	if call != nil && len(call.Inline) >= 4 {
		e.XID = call.XID()
	}
	return nil, e
}

// AllowReverse implements oncrpc.Conn. It has no effect.
func (p *peer) AllowReverse() {}

// Peer implements oncrpc.Conn.
func (p *peer) Peer() oncrpc.Peer { return oncrpc.Peer{Addr: p.remote} }

// RemoteAddr returns the address of the client.
func (p *peer) RemoteAddr() string { return p.remote }

// LocalAddr returns the address that the Calls came to.
func (p *peer) LocalAddr() string { return p.local }

// Network returns "udp".
func (p *peer) Network() string { return oncrpc.NetIDUDP }

// Done implements oncrpc.Conn.
func (p *peer) Done() <-chan struct{} { return p.ctx.Done() }

// Err implements oncrpc.Conn.
func (p *peer) Err() error { return context.Cause(p.ctx) }
