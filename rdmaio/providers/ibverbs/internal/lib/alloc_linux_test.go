//go:build !race && (amd64 || arm64)

package lib

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
)

func TestDataPathAllocatesNothing(t *testing.T) {
	l := opened(t)
	object := device(t, map[abi.Op]string{
		abi.OpPostSend: "posix_madvise", abi.OpPostRecv: "sched_yield", abi.OpPollCQ: "sched_yield", abi.OpReqNotify: "sched_yield",
	})
	wcs := make([]byte, 4*abi.WCSize) // nothing is written to it
	for name, call := range map[string]func(){
		"PostSend": func() { _, _ = l.PostSend(QP(object), 8) }, "PostRecv": func() { _, _ = l.PostRecv(QP(object), 8) },
		"Poll": func() { _, _ = l.Poll(CQ(object), wcs) }, "ReqNotify": func() { _ = l.ReqNotify(CQ(object), false) },
	} {
		if n := testing.AllocsPerRun(1000, call); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
