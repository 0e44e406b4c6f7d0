package gss_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/carriertest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss/gsstest"
	memcarrier "github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

var quiet = slog.New(slog.DiscardHandler)

// carrierConn is a connection with RPCSEC_GSS. Calls of the server go without.
type carrierConn struct {
	*gss.Carrier
	oncrpc.Conn
	close func() error
}

func (c carrierConn) XID() uint32 { return c.Carrier.XID() }
func (c carrierConn) Call(ctx context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	return c.Carrier.Call(ctx, call)
}

func (c carrierConn) Close() error { return c.close() }

// overTCP connects by package mem, that is by records.
func overTCP(t testing.TB, server, client oncrpc.Handler) carriertest.Conn {
	c := memcarrier.New(server, &tcp.Config{ReverseHandler: client, Logger: quiet})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// overRDMA connects by RPC-over-RDMA.
func overRDMA(version int) func(t testing.TB, server, client oncrpc.Handler) carriertest.Conn {
	return overRDMAWith(rdmaio.Config{Versions: []int{version}})
}

func overRDMAWith(cfg rdmaio.Config) func(t testing.TB, server, client oncrpc.Handler) carriertest.Conn {
	cfg.Logger = quiet
	return func(t testing.TB, server, client oncrpc.Handler) carriertest.Conn {
		net := mem.New(nil)
		open := func(name string) *mem.Device {
			d, err := net.Open(name, nil)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		listener, dialer := open("server"), open("client")
		ctx, stop := context.WithTimeout(context.Background(), patience)
		t.Cleanup(stop)
		serving, calling := cfg, cfg
		serving.ReverseCredits, calling.ReverseHandler = 8, client
		s, err := rdmaio.Listen(ctx, listener, "server", server, &serving)
		if err != nil {
			t.Fatal(err)
		}
		c, err := rdmaio.Dial(ctx, dialer, s.Addr(), &calling)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = c.Close()
			_ = s.Close()
			_ = dialer.Close()
			_ = listener.Close()
		})
		return c
	}
}

// patience is the time after which a test gives up.
const patience = 20 * time.Second

var (
	services = []gss.Service{gss.None, gss.Integrity, gss.Privacy}
	carriers = map[string]func(testing.TB, oncrpc.Handler, oncrpc.Handler) carriertest.Conn{
		"tcp": overTCP, "rdma": overRDMA(1), "rdma version 2": overRDMA(2),
	}
)

// withoutCred removes the credential of calls, because the suite takes it to be AUTH_NONE.
type withoutCred struct{ next oncrpc.Handler }

func (h withoutCred) NonBlocking(program, version, procedure uint32) bool {
	return oncrpc.NonBlocking(h.next, program, version, procedure)
}

func (h withoutCred) ServeRPC(r *oncrpc.Request) {
	const more = 20 + 16 // the body of the credential
	message := r.Message[more:]
	copy(message, r.Message[:24])
	clear(message[24:40])
	r.Message = message
	for i := range r.Placed {
		r.Placed[i].Position -= more
	}
	h.next.ServeRPC(r)
}

// Marked procedures run where their Calls are read, with each protection.
func TestSecuredProceduresRunOnTheReader(t *testing.T) {
	for _, service := range services {
		carriertest.RunHere(t, func(t *testing.T, server, _ oncrpc.Handler) carriertest.Conn {
			realm := gsstest.NewRealm(2)
			conn := overTCP(t, gss.NewHandler(withoutCred{server}, realm.Acceptor(), nil), nil)
			c, err := gss.NewCarrier(conn, realm.Initiator("alice", "server"), &gss.CarrierConfig{Service: service})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close(context.Background()) })
			return carrierConn{c, conn, conn.Close}
		})
	}
}

// A carrier with RPCSEC_GSS is a carrier like all others, with each service over each of them.
func TestSecuredCarrierPassesTheSuite(t *testing.T) {
	for name, connect := range carriers {
		for _, service := range services {
			t.Run(name+"/"+service.String(), func(t *testing.T) {
				carriertest.Run(t, func(t *testing.T, server, client oncrpc.Handler) carriertest.Conn {
					realm := gsstest.NewRealm(2)
					t.Cleanup(func() {
						// The server may keep its context, if the connection ended before.
						if n := realm.Live(); n > 1 {
							t.Errorf("%d contexts are left", n)
						}
					})
					conn := connect(t, gss.NewHandler(withoutCred{server}, realm.Acceptor(), nil), client)
					c, err := gss.NewCarrier(conn, realm.Initiator("alice", "server"), &gss.CarrierConfig{Service: service})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() {
						ctx, stop := context.WithTimeout(context.Background(), patience)
						defer stop()
						_ = c.Close(ctx)
					})
					return carrierConn{c, conn, conn.Close}
				})
			})
		}
	}
}
