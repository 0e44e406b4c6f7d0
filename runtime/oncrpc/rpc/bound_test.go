package rpc_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// The bound of a reply comes from the type of the results or from MaxReply, whichever is less. It
// is not known for other procedures and programs, unless Next knows it. Handlers before this one
// pass it on.
func TestRepliesHaveBounds(t *testing.T) {
	const head = rpc.ReplyHead + 400
	program := oncrpc.Program{Number: 0x20000099, Version: 1}
	other := oncrpc.Program{Number: 0x20000098, Version: 1}
	svc, behind := rpc.NewService(program), rpc.NewService(other)
	rpc.Handle(svc, 1, func(*rpc.Request, *oncrpc.Void, *oncrpc.Uint32) error { return nil })
	rpc.Handle(svc, 2, func(*rpc.Request, *oncrpc.Void, *gss.PrivData) error { return nil })
	rpc.HandleAsync(svc, 3, func(_ *rpc.Request, _ *oncrpc.Void, _ *gss.PrivData, answer func(error)) { answer(nil) })
	rpc.Handle(behind, 1, func(*rpc.Request, *oncrpc.Void, *oncrpc.Uint32) error { return nil })
	rpc.Handle(svc, 1<<20, func(*rpc.Request, *oncrpc.Void, *oncrpc.Uint32) error { return nil })
	svc.MaxReply(1000, 1, 3)
	h := rpc.NewHandler(&rpc.HandlerConfig{Next: rpc.NewHandler(nil, behind)}, svc)
	for name, tt := range map[string]struct {
		h                oncrpc.Handler
		prog, vers, proc uint32
		want             int
	}{
		"a number":                {h, program.Number, 1, 1, head + 4},
		"bytes without a limit":   {h, program.Number, 1, 2, -1},
		"limited by MaxReply":     {h, program.Number, 1, 3, head + 1000},
		"nothing":                 {h, program.Number, 1, 0, head},
		"an unknown procedure":    {h, program.Number, 1, 4, -1},
		"a large number":          {h, program.Number, 1, 1 << 20, head + 4},
		"an unknown version":      {h, program.Number, 2, 1, -1},
		"of Next":                 {h, other.Number, 1, 1, head + 4},
		"through a reply cache":   {replycache.New(h, nil), program.Number, 1, 1, head + 4},
		"unknown through a cache": {replycache.New(h, nil), program.Number, 1, 2, -1},
		"a function":              {oncrpc.HandlerFunc(h.ServeRPC), program.Number, 1, 1, -1},
	} {
		if got := oncrpc.BoundOf(tt.h, tt.prog, tt.vers, tt.proc); got != tt.want {
			t.Errorf("%s: found %d, want %d", name, got, tt.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a procedure that was not added has a limit")
		}
	}()
	svc.MaxReply(1000, 9)
}

// Results longer than Service.MaxReply are answered with SYSTEM_ERR, and Failed gets the reason.
func TestResultsBeyondMaxReplyAreNotSent(t *testing.T) {
	program := oncrpc.Program{Number: 0x20000099, Version: 1}
	svc := rpc.NewService(program)
	rpc.Handle(svc, 1, func(_ *rpc.Request, args *oncrpc.Uint32, res *gss.PrivData) error {
		res.Body = make([]byte, *args)
		return nil
	})
	svc.MaxReply(1000)
	failed := 0
	h := rpc.NewHandler(&rpc.HandlerConfig{Failed: func(*rpc.Request, error) { failed++ }}, svc)
	conn := mem.New(h, nil)
	defer conn.Close()
	c := rpc.NewClient(conn, program, nil)
	for n, want := range map[oncrpc.Uint32]bool{996: true, 997: false} {
		var res gss.PrivData
		if err := c.Call(t.Context(), 1, &n, &res, nil); (err == nil) != want || !want && !errors.Is(err, oncrpc.ErrSystem) {
			t.Errorf("%d bytes and a word: %v", n, err)
		}
	}
	if failed != 1 {
		t.Errorf("Failed was called %d times, want once", failed)
	}
}
