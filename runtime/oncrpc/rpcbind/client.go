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
	netID, addr := oncrpc.UniversalAddr(at)
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

// GetAddr asks where a version of a program is, on the network "rdma" or "rdma6". An answer that is no universal
// address of that network, with a port, is an error.
func (c *Client) GetAddr(ctx context.Context, prog, vers uint32, netID string) (netip.AddrPort, error) {
	var addr String
	if err := c.call(ctx, ProcGetAddr, &Mapping{Prog: prog, Vers: vers, NetID: String(netID)}, &addr); err != nil {
		return netip.AddrPort{}, err
	}
	if len(addr) == 0 { // RFC 1833 §2.2
		return netip.AddrPort{}, fmt.Errorf("%w: program %d version %d, netid %q", ErrNotRegistered, prog, vers, netID)
	}
	at, err := oncrpc.ParseUniversalAddr(netID, string(addr))
	if err == nil && at.Port() == 0 {
		err = fmt.Errorf("rpcbind: the server says %q: there is no port 0", addr)
	}
	return at, err
}

// result is what comes back.
type result interface{ DecodeXDR(*xdr.Decoder) error }

// call asks in version 4, and in version 3 of a server that has no other.
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
	if err == nil {
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
