package gss_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	memcarrier "github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
)

// slowServer answers calls after ten seconds.
type slowServer struct {
	*gss.Handler
	creation  time.Duration // time for the first token of a context
	destroyed atomic.Int32  // calls of RPCSEC_GSS_DESTROY
	silent    bool          // it does not answer them
}

func newSlowServer(realm *gsstest.Realm) *slowServer {
	return &slowServer{Handler: gss.NewHandler(oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		time.Sleep(10 * time.Second)
		echo(r)
	}), realm.Acceptor(), nil)}
}

func (s *slowServer) ServeRPC(r *oncrpc.Request) {
	switch gss.Proc(r.Message[39]) {
	case gss.ProcInit:
		time.Sleep(s.creation)
	case gss.ProcDestroy:
		if s.destroyed.Add(1); s.silent {
			r.Drop(nil)
			return
		}
	}
	s.Handler.ServeRPC(r)
}

// Close waits for calls in progress and destroys the context then, within its time. A call never
// waits for RPCSEC_GSS_DESTROY, which a server may leave without an answer (RFC 2203 §5.4).
func TestCloseDuringCall(t *testing.T) {
	for _, tt := range []struct {
		name      string
		creation  time.Duration
		silent    bool
		timeout   time.Duration
		took      time.Duration // of Close, which is called a second after the call
		destroyed int32
		fails     bool
	}{
		{name: "a call ends in time", timeout: time.Minute, took: 9 * time.Second, destroyed: 1},
		{name: "a call ends later", timeout: 5 * time.Second, took: 5 * time.Second, fails: true},
		{name: "no answer", silent: true, timeout: 15 * time.Second, took: 15 * time.Second, destroyed: 1, fails: true},
		{name: "a context in the making", creation: 3 * time.Second, timeout: time.Minute, took: 12 * time.Second, destroyed: 1},
		{name: "a context made later", creation: 3 * time.Second, timeout: time.Second, took: time.Second, fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				realm := gsstest.NewRealm(2)
				server := newSlowServer(realm)
				server.creation, server.silent = tt.creation, tt.silent
				conn := memcarrier.New(server, nil)
				c, err := gss.NewCarrier(conn, realm.Initiator("alice", "s"), nil)
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				call := make(chan error, 1)
				go func() {
					b, _ := oncrpc.NewCall(c.XID(), testProgram, testVersion, 1, oncrpc.None()).AppendBinary(nil)
					_, err := c.Call(context.Background(), &oncrpc.Call{Message: oncrpc.Message{Inline: b}})
					if took := time.Since(start); took != 10*time.Second+tt.creation {
						t.Errorf("the call took %v", took)
					}
					call <- err
				}()
				time.Sleep(time.Second)
				ctx, stop := context.WithTimeout(context.Background(), tt.timeout)
				defer stop()
				err = c.Close(ctx)
				if (err != nil) != tt.fails || err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Close: %v", err)
				}
				if took := time.Since(start) - time.Second; took != tt.took {
					t.Errorf("Close took %v, want %v", took, tt.took)
				}
				if err := <-call; err != nil {
					t.Error(err)
				}
				contexts := server.Stats().Contexts
				n := server.destroyed.Load()
				if n != tt.destroyed || (contexts > 0) != tt.fails || realm.Live() != contexts {
					t.Errorf("destroyed %d times, %d contexts at the server, %d at both sides", n, contexts, realm.Live())
				}
				_ = conn.Close()
			})
		})
	}
}
