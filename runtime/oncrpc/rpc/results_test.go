package rpc_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Results are in the caller's memory over each carrier, whether they come by chunk or in the
// message, and both forms of a call say so. A result that is longer has its own memory.
func TestResultsAreInTheCallersMemory(t *testing.T) {
	overEach(t, func(t *testing.T, serve func(h oncrpc.Handler, noCancel bool) *server) {
		conn := serve(rpc.NewHandler(nil, newService()), false).dial()
		c, ctx := rpc.NewClient(conn, storeV1, nil), context.Background()
		data := pattern(900)
		var done store.WriteRes
		if err := c.Call(ctx, store.ProcWrite, &store.WriteArgs{Name: []byte("a"), Data: data}, &done, nil); err != nil {
			t.Fatal(err)
		}
		read := func(what string, buf []byte, size uint64, submit bool) []byte {
			t.Helper()
			var res store.ReadRes
			args, opt := &store.ReadArgs{Name: []byte("a"), Count: uint32(len(data))}, &rpc.Options{Results: [][]byte{buf}}
			var err error
			if submit {
				over := make(chan error, 1)
				if err = c.SubmitAtMost(ctx, store.ProcRead, args, &res, opt, size, func(err error) { over <- err }); err == nil {
					err = <-over
				}
			} else {
				err = c.CallAtMost(ctx, store.ProcRead, args, &res, opt, size)
			}
			if err != nil || !bytes.Equal(res.OK.Data, data) || !res.OK.EOF {
				t.Fatalf("%s: %d bytes, other than the %d written: %v", what, len(res.OK.Data), len(data), err)
			}
			return res.OK.Data
		}
		for _, size := range []uint64{0, 20 + 900, 4096 + 20, 1 << 20} {
			if size == 0 {
				size = 1 << 40 // not known
			}
			for _, submit := range []bool{false, true} {
				what := fmt.Sprintf("results of at most %d bytes, submitted: %v", size, submit)
				buf := bytes.Repeat([]byte{'x'}, 1000)
				got := read(what, buf, size, submit)
				if &got[0] != &buf[0] || !bytes.Equal(buf[len(data):], bytes.Repeat([]byte{'x'}, 100)) {
					t.Errorf("%s: the data is not in the caller's memory, or more than that was written", what)
				}
			}
		}
		// Over RDMA this is for results that come inline.
		short := make([]byte, 100)
		if got := read("too little memory", short, 20+900, false); &got[0] == &short[0] || !bytes.Equal(short, make([]byte, 100)) {
			t.Error("a result is in memory that is too short for it")
		}
	})
}

// wholeReplies records the sizes that Calls state.
type wholeReplies struct {
	oncrpc.Carrier
	got *oncrpc.Call
}

func (wholeReplies) XID() uint32 { return 7 }

func (w wholeReplies) Call(_ context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	*w.got = *call
	b, err := new(oncrpc.ReplyError).Header(7).AppendBinary(nil)
	call.Reply = oncrpc.Reply{Message: b}
	return &call.Reply, err
}

// A Call with Results states the size of the whole reply where it is known, with the longest
// verifier, and not the limit for replies. Without Results, or memory for it in ReplyBuf, it states
// none.
func TestCallsStateTheWholeReply(t *testing.T) {
	const head = rpc.ReplyHead + 400
	results := [][]byte{make([]byte, 10)}
	memory := make([]byte, 4203+head+1)
	var got oncrpc.Call
	for name, tt := range map[string]struct {
		limit int    // ClientConfig.MaxReply
		size  uint64 // CallAtMost; 0: Call
		res   xdr.Value
		opt   rpc.Options
		want  int
		most  int
	}{
		"at most":                      {0, 4203, new(store.ReadRes), rpc.Options{Results: results}, 4203 + head, -1},
		"at most, a lower limit":       {2000, 4203, new(store.ReadRes), rpc.Options{Results: results}, 4203 + head, -1},
		"at most, no limit":            {-1, 4203, new(store.ReadRes), rpc.Options{Results: results}, 4203 + head, -1},
		"at most, memory for all":      {0, 4203, new(store.ReadRes), rpc.Options{Results: [][]byte{memory[1:]}}, 4203 + head, -1},
		"at most, memory for more":     {0, 4203, new(store.ReadRes), rpc.Options{Results: [][]byte{nil, memory}}, 0, -1},
		"at most, without end":         {0, 1 << 63, new(store.ReadRes), rpc.Options{Results: results}, 0, -1},
		"by the type":                  {0, 0, new(store.ReadRes), rpc.Options{Results: results}, store.ReadResMaxSize + head, -1},
		"not known":                    {2000, 0, new(unlimited), rpc.Options{Results: results}, 0, -1},
		"without Results":              {0, 4203, new(store.ReadRes), rpc.Options{}, 0, 4203 + head},
		"empty Results":                {0, 4203, new(store.ReadRes), rpc.Options{Results: [][]byte{}}, 0, 4203 + head},
		"memory for all":               {0, 4203, new(store.ReadRes), rpc.Options{Results: results, ReplyBuf: make([]byte, 4203+head)}, 4203 + head, 0},
		"memory for all but one byte":  {0, 4203, new(store.ReadRes), rpc.Options{Results: results, ReplyBuf: make([]byte, 4202+head)}, 0, 0},
		"ReplyBuf without any Results": {0, 4203, new(store.ReadRes), rpc.Options{ReplyBuf: make([]byte, 9000)}, 0, 0},
	} {
		c := rpc.NewClient(wholeReplies{got: &got}, storeV1, &rpc.ClientConfig{MaxReply: tt.limit})
		call := func() error { return c.Call(t.Context(), store.ProcRead, new(store.ReadArgs), tt.res, &tt.opt) }
		if tt.size > 0 {
			call = func() error {
				return c.CallAtMost(t.Context(), store.ProcRead, new(store.ReadArgs), tt.res, &tt.opt, tt.size)
			}
		}
		if err := call(); err == nil {
			t.Fatal("a reply without results was decoded")
		}
		if got.WholeReply != tt.want || got.MaxReply != tt.most {
			t.Errorf("%s: WholeReply %d, MaxReply %d, want %d and %d", name, got.WholeReply, got.MaxReply, tt.want, tt.most)
		}
		// The next call does not have the size.
		if err := c.Call(t.Context(), store.ProcWrite, new(store.WriteArgs), new(store.WriteRes), nil); err == nil || got.WholeReply != 0 {
			t.Errorf("%s: the next call has WholeReply %d, %v", name, got.WholeReply, err)
		}
	}
}

// An interceptor asks for more than the caller did: the size of the reply is not known any more.
// Neither is it if a size does not include the results.
func TestInterceptorAsksForMore(t *testing.T) {
	var got oncrpc.Call
	ahead := func(ctx context.Context, call *rpc.Invocation, next func(context.Context) error) error {
		args := *call.Args.(*store.ReadArgs)
		args.Count = 1 << 20
		call.Args, call.Options = &args, &rpc.Options{Results: [][]byte{make([]byte, 1<<20)}}
		return next(ctx)
	}
	c := rpc.NewClient(wholeReplies{got: &got}, storeV1, &rpc.ClientConfig{Interceptors: []rpc.ClientInterceptor{ahead}})
	_ = c.CallAtMost(t.Context(), store.ProcRead, &store.ReadArgs{Count: 100}, new(store.ReadRes), nil, 100+20)
	if got.WholeReply != 0 {
		t.Errorf("WholeReply is %d, and the result has up to %d bytes", got.WholeReply, 1<<20)
	}
}
