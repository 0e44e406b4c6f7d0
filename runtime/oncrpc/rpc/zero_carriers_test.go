package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/zero"
	"github.com/rpcrdma/rpcrdma/internal/zero/zerorpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// wiper serves ZERO, whose procedure 0 is not the null procedure, and counts executions. WAIT waits
// for its context.
type wiper struct {
	wiped, read, waits atomic.Int32
	waiting            chan struct{} // gets an element when WAIT begins
	ended              chan error    // gets the cause of its context
}

func (w *wiper) Wipe(_ *rpc.Request, n int32, res *int32) error {
	w.wiped.Add(1)
	*res = n + 1
	return nil
}

func (w *wiper) Read(_ *rpc.Request, n int32, res *int32) error {
	w.read.Add(1)
	*res = n + 1
	return nil
}

func (w *wiper) Wait(r *rpc.Request) error {
	w.waits.Add(1)
	w.waiting <- struct{}{}
	<-r.Context().Done()
	w.ended <- context.Cause(r.Context())
	return r.Context().Err()
}

// executed returns the counts.
func (w *wiper) executed() [2]int32 { return [2]int32{w.wiped.Load(), w.read.Load()} }

// Over every carrier, a generated procedure 0 that is not the null procedure is like the others: it
// is called, it needs what Allow and gss.HandlerConfig.Required demand, and a reply cache executes
// it once.
func TestGeneratedProcedureZeroIsOrdinary(t *testing.T) {
	overEach(t, func(t *testing.T, serve func(oncrpc.Handler, bool) *server) {
		both := func(c *zerorpc.Client) (errs [2]error) {
			_, errs[0] = c.Wipe(context.Background(), 1)
			_, errs[1] = c.Read(context.Background(), 1)
			return errs
		}
		t.Run("Allow", func(t *testing.T) {
			w := new(wiper)
			svc := zerorpc.NewService(w)
			c := zerorpc.NewClient(serve(rpc.NewHandler(nil, svc), false).dial(), nil)
			if errs := both(c); errs != [2]error{} || w.executed() != [2]int32{1, 1} {
				t.Errorf("%v, executed %v", errs, w.executed())
			}
			w = new(wiper)
			svc = zerorpc.NewService(w)
			svc.Allow = func(*rpc.Request) error { return oncrpc.Refused(oncrpc.AuthStatTooWeak) }
			c = zerorpc.NewClient(serve(rpc.NewHandler(nil, svc), false).dial(), nil)
			for proc, err := range both(c) {
				if !errors.Is(err, oncrpc.ErrAuth) || w.executed() != [2]int32{} {
					t.Errorf("procedure %d: %v, executed %v", proc, err, w.executed())
				}
			}
		})
		t.Run("Required", func(t *testing.T) {
			w, realm := new(wiper), gsstest.NewRealm(1)
			conn := serve(gss.NewHandler(rpc.NewHandler(nil, zerorpc.NewService(w)), realm.Acceptor(), &gss.HandlerConfig{Required: gss.Privacy}), false).dial()
			for _, service := range []gss.Service{gss.None, gss.Integrity, gss.Privacy} {
				secure, err := gss.NewCarrier(conn, realm.Initiator("alice", "server"), &gss.CarrierConfig{Service: service})
				if err != nil {
					t.Fatal(err)
				}
				for proc, err := range both(zerorpc.NewClient(secure, nil)) {
					if want := service != gss.Privacy; errors.Is(err, oncrpc.ErrAuth) != want || !want && err != nil {
						t.Errorf("procedure %d with %v: %v", proc, service, err)
					}
				}
			}
			for proc, err := range both(zerorpc.NewClient(conn, nil)) {
				if !errors.Is(err, oncrpc.ErrAuth) || w.executed() != [2]int32{1, 1} {
					t.Errorf("procedure %d without protection: %v, executed %v", proc, err, w.executed())
				}
			}
		})
		t.Run("reply cache", func(t *testing.T) {
			w := new(wiper)
			conn := serve(replycache.New(rpc.NewHandler(nil, zerorpc.NewService(w)), nil), false).dial()
			for _, proc := range []uint32{zero.ProcWipe, zero.ProcRead} {
				head, _ := oncrpc.NewCall(conn.XID(), zero.Zero, zero.ZeroV1, proc, oncrpc.None()).AppendBinary(nil)
				var first []byte
				for range 2 {
					reply, err := conn.Call(context.Background(), &oncrpc.Call{Message: oncrpc.Message{Inline: append(head, 0, 0, 0, 7)}, ReplyBuf: make([]byte, 100)})
					if err != nil {
						t.Fatal(err)
					}
					if first == nil {
						first = bytes.Clone(reply.Message)
					} else if !bytes.Equal(first, reply.Message) {
						t.Errorf("procedure %d: two replies, %x and %x", proc, first, reply.Message)
					}
				}
			}
			if w.executed() != [2]int32{1, 1} {
				t.Errorf("executed %v", w.executed())
			}
		})
		t.Run("without RPCSEC_GSS", func(t *testing.T) {
			w := new(wiper)
			conn := serve(rpc.NewHandler(nil, zerorpc.NewService(w)), false).dial()
			secure, err := gss.NewCarrier(conn, gsstest.NewRealm(1).Initiator("alice", "server"), nil)
			if err != nil {
				t.Fatal(err)
			}
			for proc, err := range both(zerorpc.NewClient(secure, nil)) {
				if !errors.Is(err, oncrpc.ErrAuth) || w.executed() != [2]int32{} {
					t.Errorf("procedure %d: %v, executed %v", proc, err, w.executed())
				}
			}
		})
	})
}
