package stream

import (
	"crypto/tls"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The channel binding of TLS 1.3 (RFC 9266 §2).
const (
	bindingType  = "tls-exporter"
	bindingLabel = "EXPORTER-Channel-Binding"
	bindingSize  = 32 // bytes
)

var _ verbs.ChannelBinder = (*queuePair)(nil)

// ChannelBinding implements verbs.ChannelBinder. There is a binding of type "tls-exporter" if the
// stream given to DialConn and AcceptConn is a *tls.Conn, or has its method ConnectionState, with
// TLS 1.3. The bindings of earlier versions are not unique without extensions of TLS.
func (q *queuePair) ChannelBinding() (verbs.ChannelBinding, error) {
	fail := func(why string, err error) (verbs.ChannelBinding, error) {
		return verbs.ChannelBinding{}, fmt.Errorf("%s: queue pair %d: no channel binding: %s: %w", q.dev.cfg.Provider, q.Num(), why, err)
	}
	c := q.conn.Load()
	if c == nil {
		return fail("it is not connected", verbs.ErrInvalidState)
	}
	conn, ok := c.conn.(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return fail(fmt.Sprintf("the stream is a %T, not TLS", c.conn), verbs.ErrNotSupported)
	}
	state := conn.ConnectionState()
	if state.Version < tls.VersionTLS13 {
		return fail(fmt.Sprintf("the stream has %s, must be TLS 1.3 or later (RFC 9266)", tls.VersionName(state.Version)), verbs.ErrNotSupported)
	}
	data, err := state.ExportKeyingMaterial(bindingLabel, nil, bindingSize)
	if err != nil {
		return fail(err.Error(), verbs.ErrNotSupported)
	}
	return verbs.ChannelBinding{Type: bindingType, Data: data}, nil
}
