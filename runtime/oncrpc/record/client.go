package record

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// ErrBroken is returned after a call has failed while it was sent or answered. The next record may
// answer any call, so the stream cannot be used again.
var ErrBroken = errors.New("an earlier request failed, so the connection cannot be used")

// Config configures NewClient. A nil *Config has the default in every field.
type Config struct {
	// Cred is the credential of all calls. If zero, the default is AUTH_NONE.
	Cred oncrpc.OpaqueAuth

	// XID is the transaction ID of the first call. If zero, the default is a random number.
	XID uint32

	// MaxReply is the size limit of a reply in bytes, RPC header included. If zero, the default is
	// 256 KiB.
	MaxReply int
}

// defaultMaxReply is the default of Config.MaxReply.
const defaultMaxReply = 256 << 10

// Client calls procedures over a stream, one at a time. Its methods may be called concurrently.
type Client struct {
	conn net.Conn
	cfg  Config

	mu     sync.Mutex
	xid    uint32 // of the next call
	broken error
}

// NewClient returns a Client that uses conn, a stream. The caller closes conn. cfg may be nil.
func NewClient(conn net.Conn, cfg *Config) *Client {
	c := &Client{conn: conn}
	if cfg != nil {
		c.cfg = *cfg
	}
	if c.cfg.MaxReply <= 0 {
		c.cfg.MaxReply = defaultMaxReply
	}
	if c.xid = c.cfg.XID; c.xid == 0 {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails
		c.xid = binary.BigEndian.Uint32(b[:])
	}
	return c
}

// Call calls a procedure of a version of a program, and decodes its results. args and results may
// be nil, for void. Call blocks until the reply has come or ctx is done. If the server refuses the
// call, the error is an *oncrpc.ReplyError, and the stream can be used for other calls. After any
// other error of the stream or of the reply, the error of all later calls is ErrBroken.
func (c *Client) Call(ctx context.Context, prog, vers, proc uint32, args, results xdr.Value) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return fmt.Errorf("%w: %w", ErrBroken, c.broken)
	}
	xid := c.xid
	c.xid++
	e := xdr.NewEncoder(nil)
	err := oncrpc.NewCall(xid, prog, vers, proc, c.cfg.Cred).EncodeXDR(e)
	if err == nil && args != nil {
		err = args.EncodeXDR(e)
	}
	if err != nil {
		return err // nothing was sent
	}
	reply, err := c.trip(ctx, e.Bytes())
	if err == nil {
		err = decode(reply, xid, results)
	}
	var refused *oncrpc.ReplyError
	if err != nil && !errors.As(err, &refused) {
		c.broken = err
	}
	return err
}

// decode decodes a reply.
func decode(reply []byte, xid uint32, results xdr.Value) error {
	d := xdr.NewDecoder(reply, nil)
	var m oncrpc.Header
	if err := m.DecodeXDR(d); err != nil {
		return err
	}
	if err := oncrpc.CheckReply(&m, xid); err != nil {
		return err
	}
	if results != nil {
		if err := results.DecodeXDR(d); err != nil {
			return err
		}
	}
	return d.Done()
}

// trip writes a record and reads one. It fails when ctx is done.
func (c *Client) trip(ctx context.Context, msg []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) }) // long ago
	err := Write(c.conn, msg)
	var reply []byte
	if err == nil {
		reply, err = Read(c.conn, c.cfg.MaxReply)
	}
	if !stop() { // the deadline is set, even if a reply has just arrived
		return nil, context.Cause(ctx)
	}
	return reply, err
}
