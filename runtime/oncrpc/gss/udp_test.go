package gss_test

import (
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
)

// Over UDP a context is made, used and destroyed, and a call whose datagram is lost is sent again
// with a new sequence number (RFC 2203 §5.3.3.1; R288).
func TestLostDatagramIsSentAgain(t *testing.T) {
	for _, service := range services {
		t.Run(service.String(), func(t *testing.T) {
			t.Parallel() // each waits for a retransmission
			f, realm := newFile(), gsstest.NewRealm(2)
			h := gss.NewHandler(f.handler(), realm.Acceptor(), nil)
			lost := make(chan bool, 1)
			s, err := udp.Listen(soon(t), "127.0.0.1:0", oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				select {
				case <-lost:
					r.Drop(nil)
				default:
					h.ServeRPC(r)
				}
			}), &udp.Config{Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			conn, err := udp.Dial(soon(t), s.Addr(), &udp.Config{MinRetransmit: 3 * time.Second, Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			c := secure(t, conn, realm.Initiator("alice", "s"), service)
			for i := range 3 {
				if i == 1 {
					lost <- true
				}
				if err := write(t, c, make([]byte, 10_000)); err != nil {
					t.Fatal(err)
				}
			}
			if n := f.writes.Load(); n != 3 || conn.Stats().Retransmissions == 0 {
				t.Errorf("3 calls, %d executions, %d retransmissions", n, conn.Stats().Retransmissions)
			}
			if st := h.Stats(); st.Replays != 0 || st.BadChecksums != 0 {
				t.Errorf("%+v", st)
			}
			if err := c.Close(soon(t)); err != nil {
				t.Error(err)
			}
			if n := realm.Live(); n != 0 {
				t.Errorf("%d contexts are left", n)
			}
		})
	}
}
