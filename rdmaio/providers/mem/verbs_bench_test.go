package mem_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
)

func BenchmarkVerbs(b *testing.B) {
	verbstest.Benchmark(b, func(tb testing.TB) verbstest.Fabric {
		_, client, server := openPair(tb)
		return verbstest.Fabric{Client: client, Server: server, Addr: "here", Precise: true}
	})
}
