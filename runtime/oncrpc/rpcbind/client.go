package rpcbind

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Errors for errors.Is.
var (
	// ErrNotRegistered: the server knows no such service on that kind of network.
	ErrNotRegistered = errors.New("rpcbind: not registered")
	// ErrRefused: the server did not change its table: somebody else's entry stands there, or there is none, or this
	// user may not.
	ErrRefused = errors.New("rpcbind: the server did not do it")
	// ErrBroken: a request on the connection failed half way, so that nothing else can be made of it.
	ErrBroken = errors.New("rpcbind: the connection is of no more use")
)

// Config configures NewClient. nil is fine: zero fields are the defaults named with them.
type Config struct {
	// Cred is the credential of requests. Default: none.
	Cred oncrpc.OpaqueAuth
}

// Client asks one rpcbind server. It is for concurrent use; requests go one at a time.
type Client struct {
	conn net.Conn
	cred oncrpc.OpaqueAuth

	mu     sync.Mutex
	xid    uint32
	vers   uint32
	broken error
}

// NewClient makes a client over a stream, which stays the caller's to close. cfg may be nil.
func NewClient(conn net.Conn, cfg *Config) *Client {
	c := &Client{conn: conn, vers: Version4}
	if cfg != nil {
		c.cred = cfg.Cred
	}
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	c.xid = binary.BigEndian.Uint32(b[:])
	return c
}

// Set registers a version of a program at an address, on the network "rdma" or "rdma6" as the
// address has it, in the name of an owner.
func (c *Client) Set(ctx context.Context, prog, vers uint32, at netip.AddrPort, owner string) error {
	if !at.IsValid() || at.Port() == 0 {
		return fmt.Errorf("rpcbind: %v cannot be registered: it must be an IP address and a port", at)
	}
	netID, addr := oncrpc.UniversalAddr(at) // RFC 8166 §5; R317
	return c.change(ctx, ProcSet, &Mapping{Prog: prog, Vers: vers, NetID: String(netID), Addr: String(addr), Owner: String(owner)})
}

// Unset takes a registration back, on one network or, if netID is empty, on all.
func (c *Client) Unset(ctx context.Context, prog, vers uint32, netID, owner string) error {
	return c.change(ctx, ProcUnset, &Mapping{Prog: prog, Vers: vers, NetID: String(netID), Owner: String(owner)})
}

func (c *Client) change(ctx context.Context, proc uint32, m *Mapping) error {
	var done Done
	err := c.call(ctx, proc, m, &done)
	if err == nil && !done {
		err = fmt.Errorf("%w: program %d version %d, netid %q", ErrRefused, m.Prog, m.Vers, m.NetID)
	}
	return err
}

// Lookup returns the address of a version of a program on the network "rdma" or "rdma6". A server that listens on all
// its addresses registers 0.0.0.0 or ::, for which Lookup returns the address that the connection leads to. The error is
// ErrNotRegistered if the server has no such registration; a registered address that is not a universal address of that
// network, or has no port, is an error too.
func (c *Client) Lookup(ctx context.Context, prog, vers uint32, netID string) (netip.AddrPort, error) {
	// RFC 1833 §2.2.1: GETADDR takes the network from the transport that the
	// request came on, which is never RDMA, so the whole table is read.
	var all Mappings
	if err := c.call(ctx, ProcDump, nil, &all); err != nil {
		return netip.AddrPort{}, err
	}
	for i := range all {
		m := &all[i]
		if m.Prog != prog || m.Vers != vers || string(m.NetID) != netID {
			continue
		}
		at, err := oncrpc.ParseUniversalAddr(netID, string(m.Addr)) // RFC 8166 §5: strictly; R317
		if err == nil && at.Port() == 0 {
			err = fmt.Errorf("rpcbind: program %d version %d is registered at %q: port 0 cannot be reached", prog, vers, m.Addr)
		}
		if err == nil && at.Addr().IsUnspecified() {
			at = c.host(at)
		}
		return at, err
	}
	return netip.AddrPort{}, fmt.Errorf("%w: program %d version %d, netid %q", ErrNotRegistered, prog, vers, netID)
}

// host replaces the unspecified address of a registration by the server's, if the connection is of the same family.
func (c *Client) host(at netip.AddrPort) netip.AddrPort {
	server, err := netip.ParseAddrPort(c.conn.RemoteAddr().String())
	if addr := server.Addr().Unmap(); err == nil && addr.Is4() == at.Addr().Is4() {
		return netip.AddrPortFrom(addr, at.Port())
	}
	return at
}

// result is what comes back.
type result interface{ DecodeXDR(*xdr.Decoder) error }

// call calls a procedure in version 4, and in version 3 if the server has no other. args is nil where the procedure has
// none.
func (c *Client) call(ctx context.Context, proc uint32, args *Mapping, res result) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		err := c.exchange(ctx, proc, args, res)
		var refused *oncrpc.ReplyError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refused) && refused.Is(oncrpc.ErrProgMismatch) && c.vers == Version4 && refused.Range.Low <= Version3 && refused.Range.High >= Version3:
			c.vers = Version3
		default:
			return fmt.Errorf("rpcbind: %w", err)
		}
	}
}

// exchange sends a request and reads its answer.
func (c *Client) exchange(ctx context.Context, proc uint32, args *Mapping, res result) error {
	if c.broken != nil {
		return fmt.Errorf("%w: %w", ErrBroken, c.broken)
	}
	c.xid++
	msg, err := oncrpc.NewCall(c.xid, Program, c.vers, proc, c.cred).AppendBinary(make([]byte, markSize))
	if err == nil && args != nil {
		msg, err = args.AppendBinary(msg)
	}
	if err != nil {
		return err // nothing was sent
	}
	answer, err := c.trip(ctx, msg)
	if err != nil {
		c.broken = err
		return err
	}
	d := xdr.NewDecoder(answer, nil)
	var m oncrpc.Message
	if err = m.DecodeXDR(d); err == nil {
		err = oncrpc.CheckReply(&m, c.xid)
	}
	if err == nil {
		if err = res.DecodeXDR(d); err == nil {
			err = d.Done() // and nothing behind it
		}
	}
	var refused *oncrpc.ReplyError
	if err != nil && !errors.As(err, &refused) {
		c.broken = err // who knows what the next record answers
	}
	return err
}

// trip writes a record and reads one, within the time that ctx has.
func (c *Client) trip(ctx context.Context, msg []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) }) // long ago
	err := writeRecord(c.conn, msg)
	var answer []byte
	if err == nil {
		answer, err = readRecord(c.conn)
	}
	if !stop() { // also where an answer came just then: the deadline stays
		return nil, context.Cause(ctx)
	}
	return answer, err
}
