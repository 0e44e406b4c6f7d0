package stream

import (
	"crypto/tls"
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/tlsstream"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

var (
	_ verbs.ChannelBinder = (*queuePair)(nil)
	_ verbs.TLSStater     = (*queuePair)(nil)
)

// ChannelBinding implements verbs.ChannelBinder. There is a binding of type "tls-exporter" if the
// stream has TLS 1.3: from Config.TLS, or if the stream given to DialConn and AcceptConn is a
// *tls.Conn, or has its method ConnectionState. The bindings of earlier versions are not unique
// without extensions of TLS.
func (q *queuePair) ChannelBinding() (verbs.ChannelBinding, error) {
	fail := func(err error) (verbs.ChannelBinding, error) {
		return verbs.ChannelBinding{}, fmt.Errorf("%s: queue pair %d: no channel binding: %w", q.dev.cfg.Provider, q.Num(), err)
	}
	state, err := q.tlsState()
	if err != nil {
		return fail(err)
	}
	data, err := tlsstream.Binding(state)
	if err != nil {
		return fail(fmt.Errorf("%w: %w", err, verbs.ErrNotSupported))
	}
	return verbs.ChannelBinding{Type: tlsstream.BindingType, Data: data}, nil
}

// TLSState implements verbs.TLSStater, for the same streams with any version of TLS.
func (q *queuePair) TLSState() (verbs.TLSState, error) {
	state, err := q.tlsState()
	if err != nil {
		return verbs.TLSState{}, fmt.Errorf("%s: queue pair %d: no TLS state: %w", q.dev.cfg.Provider, q.Num(), err)
	}
	return verbs.TLSState(tlsstream.StateOf(state)), nil
}

// tlsState returns the state of the TLS session.
func (q *queuePair) tlsState() (tls.ConnectionState, error) {
	c := q.conn.Load()
	if c == nil {
		return tls.ConnectionState{}, fmt.Errorf("it is not connected: %w", verbs.ErrInvalidState)
	}
	conn, ok := c.conn.(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return tls.ConnectionState{}, fmt.Errorf("the stream is a %T, not TLS: %w", c.conn, verbs.ErrNotSupported)
	}
	return conn.ConnectionState(), nil
}
