package tcp_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/carriertest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// quiet drops all log records.
var quiet = slog.New(slog.DiscardHandler)

// listen starts a server that is closed at the end of the test.
func listen(t testing.TB, h oncrpc.Handler, cfg *tcp.Config) *tcp.Server {
	t.Helper()
	if cfg == nil {
		cfg = &tcp.Config{Logger: quiet}
	}
	s, err := tcp.Listen(context.Background(), "127.0.0.1:0", h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leak.Close(t, s) })
	return s
}

// dial connects to a server until the end of the test.
func dial(t testing.TB, addr string, cfg *tcp.Config) *tcp.Conn {
	t.Helper()
	c, err := tcp.Dial(context.Background(), addr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { leak.Close(t, c) })
	return c
}

func TestCarrierPassesTheCommonTests(t *testing.T) {
	carriertest.Run(t, func(t *testing.T, server, client oncrpc.Handler) carriertest.Conn {
		return dial(t, listen(t, server, nil).Addr(), &tcp.Config{ReverseHandler: client, Logger: quiet})
	})
}

func TestMarkedProceduresRunOnTheReader(t *testing.T) {
	carriertest.RunHere(t, func(t *testing.T, server, _ oncrpc.Handler) carriertest.Conn {
		return dial(t, listen(t, server, nil).Addr(), nil)
	})
}

// A stream that does not take a list of slices works, too.
func TestCarrierPipe(t *testing.T) {
	carriertest.Run(t, func(t *testing.T, server, client oncrpc.Handler) carriertest.Conn {
		ours, theirs := net.Pipe()
		s := tcp.ServeConn(theirs, server, &tcp.Config{Logger: quiet})
		c := tcp.NewConn(ours, &tcp.Config{ReverseHandler: client, Logger: quiet})
		t.Cleanup(func() { _, _ = s.Close(), c.Close() })
		return c
	})
}

// R278, R280: reverse Calls outlive connections.
func TestReverseCallsOutliveConnections(t *testing.T) {
	carriertest.RunBackchannel(t, func(t *testing.T, handler func(func(oncrpc.Conn)) oncrpc.Handler) carriertest.BackchannelServer {
		back := tcp.NewBackchannel(nil)
		s := listen(t, handler(func(c oncrpc.Conn) { back.Bind(c.(*tcp.Conn)) }), nil)
		return carriertest.BackchannelServer{
			Back: back,
			Dial: func(t *testing.T, reverse oncrpc.Handler) carriertest.Conn {
				return dial(t, s.Addr(), &tcp.Config{ReverseHandler: reverse, Logger: quiet})
			},
		}
	})
}
