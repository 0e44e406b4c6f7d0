package rdmaio_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// tlsDevice is a device of rdmatcp whose connections go over TLS. It verifies no certificate, so an
// attacker can end the TLS of both ends: only host authentication can detect it.
type tlsDevice struct {
	*rdmatcp.Device
	cfg *tls.Config
}

func newTLSDevice(t testing.TB, d *rdmatcp.Device) tlsDevice {
	t.Helper()
	key := newHosts(t).server
	return tlsDevice{d, &tls.Config{
		InsecureSkipVerify: true,
		Certificates:       []tls.Certificate{{Certificate: [][]byte{certify(t, nil, key, nil)}, PrivateKey: key}},
	}}
}

// Dial connects over TLS.
func (d tlsDevice) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return d.DialConn(ctx, tls.Client(conn, d.cfg), qp, params)
}

// Listen listens for connections over TLS.
func (d tlsDevice) Listen(_ context.Context, addr string) (verbs.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	return tlsListener{ln, d}, nil
}

// tlsListener is the listener of a tlsDevice.
type tlsListener struct {
	net.Listener
	d tlsDevice
}

func (l tlsListener) Close() error {
	if err := l.Listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

func (l tlsListener) Addr() string { return l.Listener.Addr().String() }

func (l tlsListener) Accept(ctx context.Context) (verbs.ConnRequest, error) {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, verbs.ErrClosed
	}
	return l.d.AcceptConn(ctx, tls.Server(conn, l.d.cfg))
}
