package version2

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/growth"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// R324: the cost of continued messages grows as their length.
func TestCostOfPartsGrowsWithTheLength(t *testing.T) {
	const n, most = 128 << 10, 1 << 20
	reply := append(rpctest.ReplyHeader(0).Buf, rdmaiotest.Pattern(4*n, 1)...)
	head := len(reply) - 4*n
	size := 0
	h := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		copy(reply, r.Message[:4])
		r.Reply(rdmaio.Message{Inline: reply[:head+size]}, nil)
	})
	c := rdmaiotest.Plain(t, h, &rdmaio.Config{NonBlocking: true, Versions: []int{2}, Continue: most})
	xid := uint32(0)
	costs, err := growth.Linear(n, func(n int) func() int {
		size = n
		call := rpctest.NullCall(0, n)
		return func() int {
			const calls = 64
			for range calls {
				call.ReplyBuf = nil // the reply is joined in memory of the connection
				call.MaxReply = head + n
				xid++
				rpctest.Again(t, c, call, xid)
			}
			return calls * n
		}
	})
	if err != nil {
		t.Errorf("%v\n%v", err, costs)
	}
	if st := c.Stats(); st.PartsSent == 0 || st.PartsReceived == 0 {
		t.Errorf("%d parts sent, %d received", st.PartsSent, st.PartsReceived)
	}
}
