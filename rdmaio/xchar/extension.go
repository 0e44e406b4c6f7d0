package xchar

import (
	"cmp"

	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// extension is the extension for connections of package rdmaio.
type extension struct {
	cfg   Config
	codes xdr.Extension
}

var _ rdmaio.ReceiveSizer = (*extension)(nil)

// Extension returns the extension for rdmaio.Config.Extensions. cfg may be nil; the methods of
// cfg.Policy are called for all connections, on several at a time. Of returns a connection's
// extension.
//
// Both sides describe themselves as soon as version 2 is agreed on. From then on, the receive size
// of the peer is the limit for messages of this side, in place of the one in its CONNPROP; a server
// invalidates keys only if the client accepts it; and a server makes reverse Calls only as the
// client supports them. If the peer lacks the extension, the limits of CONNPROP stay, and a server
// invalidates no keys.
//
// Receives grow up to rdmaio.Config.InlineRecv, for which there is memory from the beginning.
// Larger sizes are rejected without asking the Policy, as are sizes below 1024.
func Extension(cfg *Config) (rdmaio.Extension, error) {
	x := &extension{}
	if cfg != nil {
		x.cfg = *cfg
	}
	var err error
	x.codes, err = cfg.Extension()
	return x, err
}

// Of returns a connection's extension. It returns false for a connection of version 1, and without
// the extension in rdmaio.Config.Extensions.
func Of(c *rdmaio.Conn) (*Conn, bool) {
	x, ok := c.Extension(wire.Extension().Name).(*handler)
	if !ok {
		return nil, false
	}
	return x.conn, true
}

// Descriptor implements rdmaio.Extension.
func (x *extension) Descriptor() xdr.Extension { return x.codes }

// Properties implements rdmaio.Extension: characteristics are not properties of version 2.
func (*extension) Properties() []rdmaio.Property { return nil }

// InitialReceiveSize implements rdmaio.ReceiveSizer.
func (x *extension) InitialReceiveSize() int { return int(x.cfg.Local.ReceiveSize) }

// Attach implements rdmaio.Extension. INIT is the first message of the extension (section 4.1).
func (x *extension) Attach(ec *rdmaio.ExtensionConn) rdmaio.ExtensionHandler { // R243, R254
	cfg := x.cfg
	cfg.Server = ec.Accepted()
	most := uint32(ec.Conn().MaxTerms().InlineRecv)
	if cfg.Local == (Characteristics{}) {
		cfg.Local = describe(ec)
	}
	if cfg.Local.ReceiveSize == 0 {
		cfg.Local.ReceiveSize = most
	}
	if cfg.Policy == nil {
		cfg.Policy = RejectAll{}
	}
	cfg.Policy = within{cfg.Policy, most}
	c := &Conn{x: ec, header: cmp.Or(cfg.HeaderType, xcharcarrier.HeaderType), most: most, waiting: make(map[uint32]*waiter), changed: make(chan struct{})}
	var err error
	if c.e, err = New(&cfg); err != nil {
		ec.Fail(err)
		c.e = &Endpoint{}
		return &handler{c}
	}
	c.limit()
	c.send(c.e.Init(ec.XID()))
	return &handler{c}
}

// describe returns this side's characteristics on a connection.
func describe(ec *rdmaio.ExtensionConn) Characteristics {
	c := Characteristics{RemoteInvalidation: !ec.Accepted() && ec.Conn().Terms().RemoteInvalidate}
	switch ec.Reverse() {
	case rdmaio.ReverseGeneral:
		c.Backward = wire.BackwardGeneral
	case rdmaio.ReverseInline:
		c.Backward = wire.BackwardSizeLimited
	default:
		c.Backward = wire.BackwardNone
	}
	return c
}

// leastReceive is the smallest receive size, in bytes, that a connection can work with.
const leastReceive = 1024

// within is a Policy that rejects sizes that the connection cannot have.
type within struct {
	Policy
	most uint32 // bytes for which there is memory
}

// CutReceiveSize implements Policy.
func (p within) CutReceiveSize(from, to uint32) Decision {
	if to < leastReceive {
		return Reject
	}
	return p.Policy.CutReceiveSize(from, to)
}

// RaiseReceiveSize implements Policy.
func (p within) RaiseReceiveSize(from, to uint32) Decision {
	if to > p.most {
		return Reject
	}
	return p.Policy.RaiseReceiveSize(from, to)
}
