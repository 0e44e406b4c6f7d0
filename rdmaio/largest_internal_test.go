package rdmaio

import (
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// asked is a Carrier that records the largest reply for which a Call asks.
type asked struct {
	oncrpc.Carrier
	most int
}

func (*asked) XID() uint32 { return 1 }

func (a *asked) Call(_ context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	a.most = max(a.most, call.MaxReply)
	return nil, errors.New("not sent")
}

// A limit below the largest message of another default makes Calls slow, or refuses them, that both
// were made for. Each of these limits must be at least the size given with it.
func TestLimitsFitTheLargestMessage(t *testing.T) {
	bounded, open := mostReply(nil, 1<<40), mostReply(new(unbounded), 0)
	if bounded == 0 || open == 0 {
		t.Fatalf("MaxReply is %d with a bound, %d without", bounded, open)
	}
	dev, err := mem.New(nil).Open("device", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	set, err := (*Config)(nil).settings(dev)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newConn(dev, &set, engine.Requester, nil, newShared(&set), admission.Source{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, tt := range []struct {
		limit  string
		is     int
		size   string
		atMost int
	}{
		{"oncrpc.DefaultMaxMessage", oncrpc.DefaultMaxMessage, "MaxReply of rpc.ClientConfig", bounded},
		{"Config.MaxReadBytes", set.MaxReadBytes, "oncrpc.DefaultMaxMessage", oncrpc.DefaultMaxMessage},
		{"Config.MaxConnMemory", set.MaxConnMemory, "Config.MaxReadBytes", set.MaxReadBytes},
		{"Config.MaxMemory", set.MaxMemory, "Config.MaxConnMemory and Config.MaxContinued", set.MaxConnMemory + set.MaxContinued},
		{"Config.MaxContinued", set.MaxContinued, "Config.Continue", set.Continue},
		{"largestMessage", largestMessage, "MaxReply of rpc.ClientConfig, with headers", bounded + 16<<10},
		{"memory of cancelled Calls", int(c.caller.offered.abandoned.Most), "largestMessage", largestMessage},
		{"unused memory of a connection", int(keepBytes()), "a buffer for the largest message", mrpool.Size(largestMessage)},
		{"kept replies", keptBytes, "MaxReply of rpc.ClientConfig for results without a bound", open},
		{"Config.SegmentSize", set.SegmentSize, "largestMessage", largestMessage},
		{"longest registration of the device", int(dev.Attributes().MaxMRSize), "largestMessage", largestMessage},
		{"longest transfer", int(set.limits.Transfer), "largestMessage", largestMessage},
		{"segments of a chunk", set.MaxSegments, "those of the largest message", segments(largestMessage, set.SegmentSize)},
	} {
		if tt.is < tt.atMost {
			t.Errorf("%s is %d, less than %s, %d", tt.limit, tt.is, tt.size, tt.atMost)
		}
	}
}

// unbounded are results without a bound.
type unbounded struct{ oncrpc.Void }

func (*unbounded) XDRMaxSize(any) {} // hides Void's method

// mostReply returns the largest reply for which a call with these results asks by default.
func mostReply(results xdr.Value, size uint64) int {
	var a asked
	c := rpc.NewClient(&a, oncrpc.Program{Number: 1, Version: 1}, nil)
	if size > 0 {
		_ = c.CallAtMost(context.Background(), 1, nil, results, nil, size)
	} else {
		_ = c.Call(context.Background(), 1, nil, results, nil)
	}
	return a.most
}

// A connection without load keeps a buffer for the largest message, also at a server, and uses it
// for the next one.
func TestBufferForLargestMessageIsKept(t *testing.T) {
	dev, err := mem.New(nil).Open("device", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	pd, err := dev.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	defer pd.Close()
	p := mrpool.New(pd, mrpool.Config{KeepIdle: 1, KeepBytes: keepBytes()})
	var used []verbs.MemoryRegion
	for range 2 {
		b, err := p.Buffer(largestMessage)
		if err != nil {
			t.Fatal(err)
		}
		used = append(used, b.MR)
		if err := p.Put(b); err != nil {
			t.Fatal(err)
		}
	}
	if used[0] != used[1] {
		t.Error("the second message has another buffer")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
