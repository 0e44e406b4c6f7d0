package rpc_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
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
		idempotent func(uint32) bool
		want       [3]bool
	}{
		"none":        {nil, [3]bool{}},
		"the second":  {func(proc uint32) bool { return proc == 2 }, [3]bool{false, true, false}},
		"all but one": {func(proc uint32) bool { return proc != 2 }, [3]bool{true, false, true}},
	} {
		var got []bool
		c := rpc.NewClient(onlyOnce{got: &got}, oncrpc.Program{Number: 0x20000099, Version: 1}, &rpc.ClientConfig{Idempotent: tt.idempotent})
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
