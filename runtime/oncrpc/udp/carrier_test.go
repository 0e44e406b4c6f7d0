package udp_test

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/carriertest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/udp"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// quiet drops all log records.
var quiet = slog.New(slog.DiscardHandler)

// once sends each Call once.
var once = &udp.Config{MinRetransmit: -1, Logger: quiet}

// often sends a Call again every millisecond.
var often = &udp.Config{MinRetransmit: time.Millisecond, MaxRetransmit: time.Millisecond, Logger: quiet}

// listen starts a server that is closed at the end of the test.
func listen(t testing.TB, addr string, h oncrpc.Handler, cfg *udp.Config) *udp.Server {
	t.Helper()
	if cfg == nil {
		cfg = &udp.Config{Logger: quiet}
	}
	s, err := udp.Listen(context.Background(), addr, h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leak.Close(t, s) })
	return s
}

// dial returns a client of a server until the end of the test.
func dial(t testing.TB, addr string, cfg *udp.Config) *udp.Conn {
	t.Helper()
	c, err := udp.Dial(context.Background(), addr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leak.Close(t, c) })
	return c
}

func TestCarrierPassesTheCommonTests(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		t.Run(host, func(t *testing.T) {
			needs(t, host)
			// By default, 64 Calls wait for memory, and the server ignores those after them.
			serves := &udp.Config{MaxMemory: -1, Logger: quiet}
			carriertest.RunDatagrams(t, func(t *testing.T, server, _ oncrpc.Handler) carriertest.Conn {
				return dial(t, listen(t, host+":0", server, serves).Addr(), &udp.Config{MinRetransmit: -1, MaxCalls: 64, Logger: quiet})
			})
		})
	}
}

func TestMarkedProceduresRunOnTheReader(t *testing.T) {
	carriertest.RunHere(t, func(t *testing.T, server, _ oncrpc.Handler) carriertest.Conn {
		return dial(t, listen(t, "127.0.0.1:0", server, nil).Addr(), once)
	})
}

// needs skips a test if the machine does not have an address.
func needs(t *testing.T, host string) {
	t.Helper()
	pc, err := net.ListenPacket("udp", host+":0")
	if err != nil {
		t.Skip(err)
	}
	_ = pc.Close()
}

// program is served by newService: procedure 1 answers with twice its argument, procedure 2 with as
// many bytes as its argument says, and procedure 3 waits until the server is closed. Procedure 4
// panics.
var program = oncrpc.Program{Number: 400001, Version: 3}

func newService() *rpc.Handler {
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args, res *oncrpc.Uint32) error {
		*res = 2 * *args
		return nil
	})
	rpc.Handle(svc, 2, func(_ *rpc.Request, args *oncrpc.Uint32, res *zeros) error {
		*res = zeros(*args)
		return nil
	})
	rpc.Handle(svc, 3, func(r *rpc.Request, _, _ *oncrpc.Void) error {
		<-r.Context().Done()
		return nil
	})
	rpc.Handle(svc, 4, func(*rpc.Request, *oncrpc.Void, *oncrpc.Void) error { panic("a fault of the procedure") })
	return rpc.NewHandler(nil, svc)
}

func soon(t testing.TB) context.Context {
	ctx, stop := context.WithTimeout(context.Background(), leak.Patience())
	t.Cleanup(stop)
	return ctx
}

// double calls procedure 1.
func double(t testing.TB, c oncrpc.Carrier) {
	t.Helper()
	args, res := oncrpc.Uint32(21), oncrpc.Uint32(0)
	if err := rpc.NewClient(c, program, nil).Call(soon(t), 1, &args, &res, nil); err != nil || res != 42 {
		t.Errorf("twice 21 is %d, %v", res, err)
	}
}

// call returns a Call of a procedure without arguments.
func call(t testing.TB, xid, proc uint32) []byte {
	t.Helper()
	b, err := oncrpc.NewCall(xid, program.Number, program.Version, proc, oncrpc.None()).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reply returns a reply without results.
func reply(t testing.TB, xid uint32) []byte {
	t.Helper()
	b, err := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func xidOf(b []byte) uint32 { return binary.BigEndian.Uint32(b) }

// waitFor waits until a condition holds.
func waitFor(t testing.TB, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(leak.Patience()); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}

// zeros is a result of as many bytes, each zero.
type zeros uint32

// EncodeXDR implements xdr.Value.
func (z *zeros) EncodeXDR(e *xdr.Encoder) error {
	b, err := e.Next(int(*z))
	clear(b)
	return err
}

// DecodeXDR implements xdr.Value.
func (z *zeros) DecodeXDR(d *xdr.Decoder) error {
	b, err := d.Next(len(d.Rest()))
	*z = zeros(len(b))
	return err
}

// XDRSize implements xdr.Value.
func (z *zeros) XDRSize() int { return int(*z) }
