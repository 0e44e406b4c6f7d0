package stream

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A listener that closes resets connections that it has not accepted. If the dialer sees that in
// connect, there was no listener either.
func TestDialRefused(t *testing.T) {
	for _, tc := range []struct {
		errno   syscall.Errno
		refused bool
	}{{syscall.ECONNREFUSED, true}, {syscall.ECONNRESET, true}, {wsaConnRefused, true}, {syscall.ENETUNREACH, false}} {
		d, err := Open(toyConfig(1424))
		if err != nil {
			t.Fatal(err)
		}
		pd, err := d.AllocPD()
		if err != nil {
			t.Fatal(err)
		}
		cq, err := d.CreateCQ(8, nil)
		if err != nil {
			t.Fatal(err)
		}
		qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 2, MaxRecvWR: 2})
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.dial(context.Background(), qp, nil, func(context.Context) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", tc.errno)}
		})
		if errors.Is(err, verbs.ErrConnectionRefused) != tc.refused || !errors.Is(err, tc.errno) {
			t.Errorf("connect: %v: %v, want %v: %v", tc.errno, err, verbs.ErrConnectionRefused, tc.refused)
		}
		if err := errors.Join(qp.Close(), cq.Close(), pd.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	}
}
