package liveness_test

import (
	"crypto/tls"
	"flag"
	"os"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/carriers"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/liveness"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "20") // rows wait for time-outs
	os.Exit(leak.Run(m))
}

// secured returns TLS for both ends, whatever their addresses are.
func secured(t *testing.T) *tls.Config {
	c := tlstest.NewAuthority(t).Config()
	c.ServerName = "server.example"
	return c
}

// Over TCP, with TLS and without.
func TestPeersOverTCP(t *testing.T) {
	for name, secure := range map[string]*tls.Config{"plain": nil, "TLS": secured(t)} {
		t.Run(name, func(t *testing.T) {
			liveness.Run(t, liveness.Column{
				Carrier: func(l carriers.Limits) carriers.Carrier { return carriers.TCP(l, secure) },
				Apart:   apart, Stream: true, Cost: liveness.Cost{Bytes: 8 << 10, Goroutines: 1},
			})
		})
	}
}

// Over RDMA on TCP, with TLS and without, in both versions.
func TestPeersOverRDMA(t *testing.T) {
	secure := secured(t)
	for name, open := range map[string]carriers.Devices{
		"rdmatcp": carriers.RDMATCP(nil), "rdmatcp with TLS": carriers.RDMATCP(secure),
		"iwarp": carriers.IWARP(nil), "iwarp with TLS": carriers.IWARP(secure),
	} {
		for version, suffix := range map[int]string{1: "", 2: ", version 2"} {
			if testing.Short() && version == 2 {
				continue
			}
			t.Run(name+suffix, func(t *testing.T) {
				liveness.Run(t, liveness.Column{
					Carrier: func(l carriers.Limits) carriers.Carrier { return carriers.OverRDMA(l, []int{version}, open) },
					Apart:   apart, Stream: true, Cost: liveness.Cost{Bytes: 8 << 10, Goroutines: 1},
				})
			})
		}
	}
}
