package rdmatcp_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

func secureConfig(tb testing.TB) *rdmatcp.Config {
	return &rdmatcp.Config{TLS: tlstest.NewAuthority(tb).Config()}
}

func BenchmarkTLSPingPong128(b *testing.B) { pingPong(b, secureConfig(b)) }
func BenchmarkTLSWrite64Kx16(b *testing.B) { bulk(b, secureConfig(b), verbs.RDMAWrite, 64<<10, 16) }
func BenchmarkTLSRead64Kx16(b *testing.B)  { bulk(b, secureConfig(b), verbs.RDMARead, 64<<10, 16) }
