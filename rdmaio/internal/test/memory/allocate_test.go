package memory

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// blob is opaque data whose length is a multiple of four and whose bound is 128 MiB.
type blob []byte

func (*blob) XDRMaxSize() int { return 128 << 20 }

func (b *blob) XDRSize() int { return 4 + len(*b) }

func (b *blob) EncodeXDR(e *xdr.Encoder) error {
	to, err := e.Next(b.XDRSize())
	if err == nil {
		binary.BigEndian.PutUint32(to, uint32(len(*b)))
		copy(to[4:], *b)
	}
	return err
}

func (b *blob) DecodeXDR(d *xdr.Decoder) error {
	n, err := d.Next(4)
	if err == nil {
		n, err = d.Next(int(binary.BigEndian.Uint32(n)))
	}
	*b = bytes.Clone(n)
	return err
}

// A call whose results have a bound above the default of rpc.ClientConfig.MaxReply allocates for
// the results that come, not for the bound: the memory of the reply chunk is used again.
func TestResultsWithLargeBoundAllocateWhatComes(t *testing.T) {
	const size, calls, most = 64 << 10, 100, 6 * 64 << 10
	if xdrtest.Race {
		t.Skip("the race detector has memory of its own")
	}
	for name, world := range map[string]rdmaiotest.Options{
		"mem": {}, "rdmatcp": {TCP: &rdmatcp.Config{}}, "iwarp": {IWARP: &iwarp.Config{}},
	} {
		for version := 1; version <= 2; version++ {
			t.Run(fmt.Sprintf("%s, version %d", name, version), func(t *testing.T) {
				world.Bare, world.Versions = true, []int{version}
				w := rdmaiotest.NewWith(t, world)
				program := oncrpc.Program{Number: 0x20000888, Version: 1}
				svc := rpc.NewService(program)
				data := rdmaiotest.Pattern(size, 3)
				rpc.Handle(svc, 1, func(_ *rpc.Request, _ *oncrpc.Void, res *blob) error {
					*res = data
					return nil
				})
				w.Serve(rpc.NewHandler(nil, svc), nil)
				c := rpc.NewClient(w.Dial(nil), program, nil)
				call := func() {
					var got blob
					if err := c.Call(context.Background(), 1, nil, &got, nil); err != nil || !bytes.Equal(got, data) {
						t.Fatalf("%d bytes, %v", len(got), err)
					}
				}
				call()
				call()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for range calls {
					call()
				}
				runtime.ReadMemStats(&after)
				got := (after.TotalAlloc - before.TotalAlloc) / calls
				t.Logf("%d bytes allocated for a call", got)
				if got > most {
					t.Errorf("%d bytes allocated for a call, want at most %d", got, most)
				}
			})
		}
	}
}
