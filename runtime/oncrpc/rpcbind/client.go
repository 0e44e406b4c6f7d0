package rpcbind

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The sentinels for errors.Is.
var (
	// ErrNotRegistered is returned if the server has no registration of the service on that
	// network.
	ErrNotRegistered = errors.New("rpcbind: not registered")
	// ErrRefused is returned if the server did not change its table: another owner has registered
	// the service, there is no registration, or this user has no permission.
	ErrRefused = errors.New("rpcbind: the server refused to change its table")
	// ErrVersion is returned if the version of the protocol that the server has cannot do this.
	ErrVersion = errors.New("rpcbind: the server's version of the protocol lacks this")
	// ErrAddress is returned if a registered address cannot be used.
	ErrAddress = errors.New("rpcbind: unusable address")
	// ErrTooLong is returned if the server's table is longer than 1 MiB.
	ErrTooLong = errors.New("rpcbind: the server's table is too long")
)

// Config is the configuration of a Client.
type Config struct {
	// Cred is the credential of requests. If zero, the default is AUTH_NONE.
	Cred oncrpc.OpaqueAuth
}

// Client sends requests to one rpcbind server. It begins with version 4 of the protocol. If the
// server answers PROG_MISMATCH, the Client continues with the highest version that both have.
// Errors name the version that was used. A Client may be used concurrently.
type Client struct {
	conn     oncrpc.Conn
	versions [Version4 + 1]*rpc.Client // by number, from Version2 on
	version  atomic.Uint32             // the highest that the server may have
}

// NewClient returns a Client that uses a connection, such as one of Dial or DialUDP. The caller
// closes conn. If cfg is nil, the configuration is the default.
func NewClient(conn oncrpc.Conn, cfg *Config) *Client {
	var calls rpc.ClientConfig
	if cfg != nil {
		calls.Cred = cfg.Cred
	}
	c := &Client{conn: conn}
	for vers := range uint32(Version4 + 1) {
		c.versions[vers] = rpc.NewClient(conn, program(vers), &calls)
	}
	c.version.Store(Version4)
	return c
}

// program returns the description of an rpcbind version.
func program(vers uint32) oncrpc.Program {
	names := map[uint32]string{
		ProcSet: "SET", ProcUnset: "UNSET", ProcGetAddr: "GETADDR", ProcDump: "DUMP", ProcGetTime: "GETTIME",
		ProcGetVersAddr: "GETVERSADDR", ProcGetAddrList: "GETADDRLIST",
	}
	if vers == Version2 {
		names[PortProcGetPort] = "GETPORT"
	}
	return oncrpc.Program{Number: Program, Version: vers, Name: "RPCBIND", Procedures: names}
}

// ask runs call with the highest version that the server has, and again with a lower one as long as
// the server refuses that.
func (c *Client) ask(call func(server *rpc.Client, vers uint32) error) error {
	for {
		vers := c.version.Load()
		err := call(c.versions[vers], vers)
		lower, ok := lowerVersion(err, vers)
		if !ok {
			return wrap(err)
		}
		c.version.CompareAndSwap(vers, lower)
	}
}

// lowerVersion returns the highest version below vers that the server has, if err says that it does
// not have vers (RFC 5531 §9).
func lowerVersion(err error, vers uint32) (lower uint32, ok bool) {
	var refused *oncrpc.ReplyError
	if !errors.As(err, &refused) || !refused.Is(oncrpc.ErrProgMismatch) {
		return 0, false
	}
	lower = min(vers-1, refused.Range.High)
	return lower, lower >= max(Version2, refused.Range.Low)
}

// lacks returns the error for a request that a version of the protocol does not have.
func lacks(vers uint32, what string) error {
	return fmt.Errorf("%w: version %d of rpcbind has no %s (RFC 1833)", ErrVersion, vers, what)
}

// wrap adds the name of the package to errors of calls.
func wrap(err error) error {
	var failed *rpc.Error
	if errors.As(err, &failed) {
		return fmt.Errorf("rpcbind: %w", err)
	}
	return err
}

// maxTable is the largest size in bytes of a table that is decoded. Real servers have a few dozen
// entries with 100 bytes each.
const maxTable = 1 << 20

// table is the list that a server sends. It may have maxTable bytes, whatever the connection
// accepts.
type table struct{ xdr.Value }

// DecodeXDR implements xdr.Value.
func (t table) DecodeXDR(d *xdr.Decoder) error {
	if n := len(d.Rest()); n > maxTable {
		return fmt.Errorf("%w: %d bytes, expected at most %d", ErrTooLong, n, maxTable)
	}
	return t.Value.DecodeXDR(d)
}

// server returns the address of the server. It is not valid if the connection has no IP address.
func (c *Client) server() netip.AddrPort {
	at, err := netip.ParseAddrPort(c.conn.RemoteAddr())
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// Time returns the time of the server's clock, in full seconds.
func (c *Client) Time(ctx context.Context) (time.Time, error) {
	var seconds oncrpc.Uint32
	err := c.ask(func(server *rpc.Client, vers uint32) error {
		if vers == Version2 {
			return lacks(vers, "GETTIME")
		}
		return server.Call(ctx, ProcGetTime, nil, &seconds, nil)
	})
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(int64(seconds), 0), nil
}
