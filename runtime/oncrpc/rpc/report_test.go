package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

var namedV1 = oncrpc.Program{
	Number: store.Program, Version: store.Version1, Bindings: store.DDPBindings(),
	Name: "STORE1", Procedures: map[uint32]string{store.ProcRead: "READ"},
}

// An error of a procedure, and a result that cannot be encoded, are logged without any
// configuration, with the procedure's name. ServeEnd has them with the accept status. Errors of the
// caller are in ServeEnd only.
func TestErrorsOfProceduresAreLogged(t *testing.T) {
	for _, own := range []bool{false, true} {
		for _, tt := range []struct {
			name   string
			err    error
			res    store.ReadRes
			denied bool
			status oncrpc.AcceptStat
			text   string // in the log; empty: nothing is logged
		}{
			{name: "fine"},
			{name: "error", err: errors.New("the disk is full"), status: oncrpc.SystemErr, text: "STORE1 READ (536870980 v1 proc 2): the disk is full"},
			{name: "result", res: store.ReadRes{OK: store.ReadOK{Data: make([]byte, store.MaxData+1)}}, status: oncrpc.SystemErr, text: "STORE1 READ (536870980 v1 proc 2): results: "},
			{name: "arguments", err: oncrpc.ErrGarbageArgs, status: oncrpc.GarbageArgs},
			{name: "denied", err: oncrpc.Refused(oncrpc.AuthStatBadCred), denied: true},
		} {
			t.Run(tt.name, func(t *testing.T) {
				var log bytes.Buffer
				logger := slog.New(slog.NewTextHandler(&log, nil))
				ends := make(chan *rdmaio.ServeEnd, 1)
				cfg := &rdmaio.Config{Events: func(e rdmaio.Event) {
					if end, ok := e.(*rdmaio.ServeEnd); ok {
						ends <- end
					}
				}}
				if own {
					cfg.Logger = logger
				} else {
					before := slog.Default()
					slog.SetDefault(logger)
					t.Cleanup(func() { slog.SetDefault(before) })
				}
				w := newWorld(t, "mem")
				svc := rpc.NewService(namedV1)
				rpc.Handle(svc, store.ProcRead, func(_ *rpc.Request, _ *store.ReadArgs, res *store.ReadRes) error {
					*res = tt.res
					return tt.err
				})
				w.serve(rpc.NewHandler(nil, svc), cfg)
				c := rpc.NewClient(w.dial(nil), namedV1, nil)
				err := c.Call(context.Background(), store.ProcRead, new(store.ReadArgs), new(store.ReadRes), nil)
				if (err == nil) != (tt.name == "fine") || err != nil && !strings.HasPrefix(err.Error(), "rpc: STORE1 READ (536870980 v1 proc 2): ") {
					t.Errorf("the caller sees %v", err)
				}
				end := <-ends
				if end.Denied != tt.denied || end.Status != tt.status || end.Err != nil || (end.HandlerErr != nil) != (tt.text != "") {
					t.Errorf("ServeEnd: %+v", end)
				}
				if tt.err != nil && tt.text != "" && !errors.Is(end.HandlerErr, tt.err) {
					t.Errorf("ServeEnd has the error %v, want %v", end.HandlerErr, tt.err)
				}
				if got := log.String(); !strings.Contains(got, tt.text) || strings.Contains(got, "level=WARN") != (tt.text != "") {
					t.Errorf("logged: %s\nwant %q", got, tt.text)
				}
			})
		}
	}
}
