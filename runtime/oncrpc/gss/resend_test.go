package gss_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// reconnecting connects clients that reconnect, to a handler. cut breaks the connection that is up.
var reconnecting = map[string]func(t *testing.T, h oncrpc.Handler) (c oncrpc.Carrier, cut func(), retransmissions func() uint64){
	"tcp": func(t *testing.T, h oncrpc.Handler) (oncrpc.Carrier, func(), func() uint64) {
		var mu sync.Mutex
		var ours net.Conn
		servers := []*tcp.Conn{}
		c, err := tcp.NewClient("server", &tcp.ClientConfig{
			MinBackoff: -1, Conn: &tcp.Config{Logger: quiet},
			Dial: func(_ context.Context, _ string, cfg *tcp.Config) (*tcp.Conn, error) {
				mu.Lock()
				defer mu.Unlock()
				var theirs net.Conn
				ours, theirs = net.Pipe()
				servers = append(servers, tcp.ServeConn(theirs, h, &tcp.Config{Logger: quiet}))
				return tcp.NewConn(ours, cfg), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Close()
			for _, s := range servers {
				_ = s.Close()
			}
		})
		cut := func() {
			mu.Lock()
			defer mu.Unlock()
			_ = ours.Close()
		}
		return c, cut, func() uint64 { return c.Stats().Retransmissions }
	},
	"rdma": func(t *testing.T, h oncrpc.Handler) (oncrpc.Carrier, func(), func() uint64) {
		net := mem.New(nil)
		dialer, err := net.Open("client", nil)
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.Open("server", nil)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var conn *rdmaio.Conn
		s, err := rdmaio.Listen(soon(t), listener, "server", h, &rdmaio.Config{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		c, err := rdmaio.NewClient(dialer, s.Addr(), &rdmaio.ClientConfig{
			MinBackoff: -1, Conn: &rdmaio.Config{Logger: quiet},
			Connected: func(_ context.Context, c *rdmaio.Conn) error {
				mu.Lock()
				defer mu.Unlock()
				conn = c
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Close()
			_ = s.Close()
			_ = dialer.Close()
			_ = listener.Close()
		})
		cut := func() {
			mu.Lock()
			defer mu.Unlock()
			_ = conn.Close()
		}
		return c, cut, func() uint64 { return c.Stats().Retransmissions }
	},
}

// A call whose connection is lost while the server executes it is sent again with a new sequence
// number, and is executed once (RFC 2203 §5.3.3.1; R284, R288). The mechanism gets no token twice,
// whatever is lost.
func TestLostConnection(t *testing.T) {
	for name, connect := range reconnecting {
		for _, service := range services {
			t.Run(name+"/"+service.String(), func(t *testing.T) {
				f, realm := newFile(), gsstest.NewRealm(3)
				h := gss.NewHandler(f.handler(), realm.Acceptor(), nil)
				losses := 0
				var cut func()
				c, cut, again := connect(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
					if losses < 2 && r.Message[39] == byte(gss.ProcContinueInit) {
						losses++
						cut() // and with it the context in the making
					}
					h.ServeRPC(r)
				}))
				s := secure(t, c, realm.Initiator("alice", "s"), service)
				for i := range 3 {
					cuts := 0
					f.wrote = func() {
						if cuts++; cuts < 3 {
							cut()
						}
					}
					if err := write(t, s, make([]byte, 50_000)); err != nil {
						t.Fatal(err)
					}
					if n := f.writes.Load(); n != int64(i+1) {
						t.Errorf("%d calls, %d executions", i+1, n)
					}
				}
				if again() == 0 || losses != 2 {
					t.Errorf("%d retransmissions, %d losses in creation", again(), losses)
				}
				if st := h.Stats(); st.Replays != 0 || st.BadChecksums != 0 {
					t.Errorf("%+v", st)
				}
				if err := s.Close(soon(t)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Every carrier that sends a call again asks for a new message, and fails the call if it does not
// get one.
func TestRepeatedCallIsRenewed(t *testing.T) {
	for name, connect := range reconnecting {
		t.Run(name, func(t *testing.T) {
			var cut func()
			calls := 0
			c, cut, _ := connect(t, oncrpc.HandlerFunc(func(r *oncrpc.Request) {
				if calls++; calls%2 == 1 {
					cut()
				}
				echo(r)
			}))
			message := func(xid uint32, arg byte) oncrpc.Message {
				b, err := oncrpc.NewCall(xid, testProgram, testVersion, 1, oncrpc.None()).AppendBinary(nil)
				if err != nil {
					t.Fatal(err)
				}
				return oncrpc.Message{Inline: append(b, 0, 0, 0, arg)}
			}
			xid := c.XID()
			call := &oncrpc.Call{Message: message(xid, 1), Renew: func(context.Context) (oncrpc.Message, error) { return message(xid, 2), nil }}
			reply, err := c.Call(soon(t), call)
			if err != nil || reply.Message[27] != 2 {
				t.Errorf("%v, %v", reply, err)
			}
			failed := errors.New("no further message")
			for _, renew := range []func() (oncrpc.Message, error){
				func() (oncrpc.Message, error) { return oncrpc.Message{}, failed },
				func() (oncrpc.Message, error) { return message(xid, 3), nil }, // another XID
				func() (oncrpc.Message, error) { return oncrpc.Message{Inline: make([]byte, 5)}, nil },
			} {
				call := &oncrpc.Call{Message: message(c.XID(), 1), Renew: func(context.Context) (oncrpc.Message, error) { return renew() }}
				_, err := c.Call(soon(t), call)
				var ce *oncrpc.CallError
				if !errors.As(err, &ce) || !ce.MayHaveRun || !errors.Is(err, failed) && !errors.Is(err, oncrpc.ErrMessage) {
					t.Errorf("%v", err)
				}
				calls = 0
			}
		})
	}
}

// A call that comes twice on one connection, with another sequence number, is executed once and
// answered twice, without a delay (RFC 2203 §5.3.3.1; R288).
func TestResendOnOneConnection(t *testing.T) {
	for _, service := range services {
		t.Run(service.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var runs atomic.Int64
				cache := replycache.New(oncrpc.HandlerFunc(func(r *oncrpc.Request) { runs.Add(1); echo(r) }), nil)
				realm := gsstest.NewRealm(2)
				h := gss.NewHandler(cache, realm.Acceptor(), nil)
				p := newPeer(t, h, realm, "192.0.2.1:700")
				p.connect("alice")
				ours, theirs := net.Pipe()
				s := tcp.ServeConn(theirs, h, &tcp.Config{Logger: quiet})
				for seq := uint32(1); seq <= 2; seq++ {
					p.xid = 1000
					args := map[gss.Service]func(uint32, []byte) []byte{
						gss.None: func(_ uint32, args []byte) []byte { return args }, gss.Integrity: p.integ, gss.Privacy: p.priv,
					}[service](seq, words(nil, 42))
					if got := refusal(t, overPipe(t, ours, p.call(1, seq, service, args))); got != "ok" {
						t.Errorf("number %d: %s", seq, got)
					}
				}
				_, _ = ours.Close(), s.Close()
				if st := cache.Stats(); runs.Load() != 1 || st.Hits != 1 || st.Delayed != 0 {
					t.Errorf("executed %d times, %+v", runs.Load(), st)
				}
			})
		})
	}
}

// overPipe sends a message as a record of one fragment, and returns the reply (RFC 5531 §11).
func overPipe(t *testing.T, conn net.Conn, message []byte) []byte {
	t.Helper()
	const last = 1 << 31
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, last|uint32(len(message))), message...)); err != nil {
		t.Fatal(err)
	}
	var mark [4]byte
	if _, err := io.ReadFull(conn, mark[:]); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, binary.BigEndian.Uint32(mark[:])&^last)
	if _, err := io.ReadFull(conn, reply); err != nil {
		t.Fatal(err)
	}
	return reply
}

// A call whose context expires while it is executed gets RPCSEC_GSS_CTXPROBLEM, because its reply
// cannot have a verifier. The client sends it again in a new context on the same connection, and
// gets the reply of the first execution (RFC 2203 §5.3.3.4.1; R288).
func TestExpiredDuringCall(t *testing.T) {
	for name, connect := range carriers {
		for _, service := range services {
			t.Run(name+"/"+service.String(), func(t *testing.T) {
				f, realm := newFile(), gsstest.NewRealm(2)
				f.wrote = realm.Expire
				h := gss.NewHandler(f.handler(), realm.Acceptor(), nil)
				c := secure(t, connect(t, h, nil), realm.Initiator("alice", "s"), service)
				if err := write(t, c, make([]byte, 100)); err != nil {
					t.Fatal(err)
				}
				if n := f.writes.Load(); n != 1 {
					t.Errorf("executed %d times", n)
				}
			})
		}
	}
}
