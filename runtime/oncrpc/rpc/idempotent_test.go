package rpc_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// onlyOnce records whether Calls may be repeated.
type onlyOnce struct {
	oncrpc.Carrier
	got *[]bool
}

func (onlyOnce) XID() uint32 { return 7 }

func (o onlyOnce) Call(_ context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	*o.got = append(*o.got, call.Idempotent)
	b, err := new(oncrpc.ReplyError).Header(7).AppendBinary(nil)
	call.Reply = oncrpc.Reply{Message: b}
	return &call.Reply, err
}

// Calls say whether their procedure is idempotent, whatever the call before has said.
func TestCallsSayWhetherTheyMayBeRepeated(t *testing.T) {
	for name, tt := range map[string]struct {
		program    []uint32
		idempotent func(uint32) bool
		want       [3]bool
	}{
		"none":                      {nil, nil, [3]bool{}},
		"the second":                {nil, func(proc uint32) bool { return proc == 2 }, [3]bool{false, true, false}},
		"all but one":               {nil, func(proc uint32) bool { return proc != 2 }, [3]bool{true, false, true}},
		"of the program":            {[]uint32{1, 3}, nil, [3]bool{true, false, true}},
		"none but of the program":   {[]uint32{1, 3}, func(uint32) bool { return false }, [3]bool{}},
		"other than of the program": {[]uint32{1, 3}, func(proc uint32) bool { return proc == 2 }, [3]bool{false, true, false}},
	} {
		var got []bool
		p := oncrpc.Program{
			Number: 0x20000099, Version: 1, Idempotent: tt.program,
			Bindings: []xdr.Binding{{Program: 0x20000099, Version: 1, Procedure: 1, Reply: true, Site: "it"}},
		}
		c := rpc.NewClient(onlyOnce{got: &got}, p, &rpc.ClientConfig{Idempotent: tt.idempotent})
		for proc := range uint32(3) {
			if err := c.Call(t.Context(), proc+1, nil, nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		if [3]bool(got) != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// A service takes the procedures that may be executed twice from its program, and adds its own.
func TestServiceTakesIdempotentProceduresFromItsProgram(t *testing.T) {
	program := oncrpc.Program{Number: 0x20000099, Version: 1, Idempotent: []uint32{2}}
	svc := rpc.NewService(program)
	for proc := range uint32(4) {
		rpc.Handle(svc, proc+1, func(*rpc.Request, *oncrpc.Void, *oncrpc.Void) error { return nil })
	}
	svc.Idempotent(4)
	h := rpc.NewHandler(nil, svc)
	for proc, want := range []bool{true, false, true, false, true} {
		if got := h.Idempotent(program.Number, program.Version, uint32(proc)); got != want {
			t.Errorf("procedure %d may be executed twice: %v, want %v", proc, got, want)
		}
	}
}
