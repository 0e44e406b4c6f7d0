package mem_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/carriertest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func TestConnectionsPassTheCarrierSuite(t *testing.T) {
	carriertest.Run(t, func(t *testing.T, server, client oncrpc.Handler) carriertest.Conn {
		c := mem.New(server, &tcp.Config{ReverseHandler: client, Logger: slog.New(slog.DiscardHandler)})
		t.Cleanup(func() { _ = c.Close() })
		return c
	})
}

// A service is called with a clock that advances when all goroutines wait.
func TestClockOfABubbleAdvances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		program := oncrpc.Program{Number: store.Program, Version: store.Version1, Bindings: store.DDPBindings()}
		svc := rpc.NewService(program)
		rpc.Handle(svc, store.ProcRead, func(_ *rpc.Request, args *store.ReadArgs, res *store.ReadRes) error {
			time.Sleep(time.Hour)
			res.OK.Data = bytes.Repeat([]byte{7}, int(args.Count))
			return nil
		})
		conn := mem.New(rpc.NewHandler(nil, svc), nil)
		defer conn.Close()
		var res store.ReadRes
		start := time.Now()
		err := rpc.NewClient(conn, program, nil).Call(context.Background(), store.ProcRead, &store.ReadArgs{Count: 100_000}, &res, nil)
		if err != nil || len(res.OK.Data) != 100_000 || time.Since(start) != time.Hour {
			t.Errorf("%d bytes after %v: %v", len(res.OK.Data), time.Since(start), err)
		}
	})
}
