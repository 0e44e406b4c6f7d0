package reverse

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// R39: a reverse Call may be as long as a forward Reply, and a reverse Reply as a forward Call, if
// the two directions have different thresholds; and no longer.
func TestReverseMessagesHaveTheOtherThreshold(t *testing.T) { rdmaiotest.Each(t, reverseThresholds) }

func reverseThresholds(t *testing.T, w *rdmaiotest.World) {
	const toServer, toClient = 2048, 4096
	f := &rpctest.File{T: t, Data: rdmaiotest.Pattern(5000, 1)}
	b := rpctest.NewBoth(w, &rpctest.File{T: t}, f,
		rdmaio.Config{InlineSend: toClient, InlineRecv: toServer}, rdmaio.Config{InlineSend: toServer, InlineRecv: toClient})
	mark := len(w.History.Events())
	var se *rdmaio.SizeError
	if _, err := b.Server.Call(context.Background(), rpctest.NullCall(1, toClient-28)); err != nil {
		t.Error(err)
	}
	if _, err := b.Server.Call(context.Background(), rpctest.NullCall(2, toClient-28+4)); !errors.As(err, &se) || se.Limit != toClient {
		t.Errorf("a Call over the threshold: %v", err)
	}
	const replyHead = 28 + 24 + 16 + 4 // headers of transport, RPC and READ, and the count
	reply, err := b.Server.Call(context.Background(), rpctest.ReadCall(3, 0, make([]byte, toServer-replyHead)))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := rpctest.ReadReply(reply); err != nil || !bytes.Equal(data, f.Data[:toServer-replyHead]) {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	var pe *rdmaio.PeerError
	if _, err := b.Server.Call(context.Background(), rpctest.ReadCall(4, 0, make([]byte, toServer-replyHead+4))); !errors.As(err, &pe) {
		t.Errorf("a Reply over the threshold: %v", err)
	}
	longest := map[string]int{}
	for _, e := range w.Since(mark) {
		if e.Kind == trace.PostSend {
			longest[e.Device] = max(longest[e.Device], e.Length)
		}
	}
	if longest["server"] != toClient || longest["client"] != toServer {
		t.Errorf("the longest messages have %v bytes", longest)
	}
}
