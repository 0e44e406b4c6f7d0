package liveness_test

import (
	"crypto/tls"
	"flag"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/carriers"
	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/internal/liveness"
	"github.com/rpcrdma/rpcrdma/internal/tlstest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
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

// overTCP returns the column of a carrier over TCP. A silent connection costs a server at most so
// many bytes, stack included, and one goroutine.
func overTCP(bytes float64, carrier func(l carriers.Limits) carriers.Carrier) liveness.Column {
	return liveness.Column{Carrier: carrier, Apart: apart(carrier), Stream: true, Cost: liveness.Cost{Bytes: bytes, Goroutines: 1}}
}

// Over tcp, with TLS and without.
func TestPeersOverTCP(t *testing.T) {
	for name, secure := range map[string]*tls.Config{"plain": nil, "TLS": secured(t)} {
		t.Run(name, func(t *testing.T) {
			liveness.Run(t, overTCP(8<<10, func(l carriers.Limits) carriers.Carrier { return carriers.TCP(l, secure) }))
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
				liveness.Run(t, overTCP(10<<10, func(l carriers.Limits) carriers.Carrier { return carriers.OverRDMA(l, []int{version}, open) }))
			})
		}
	}
}

// Over RDMA within the process.
func TestPeersOverRDMAInMemory(t *testing.T) {
	liveness.Run(t, liveness.Column{
		Carrier: func(l carriers.Limits) carriers.Carrier {
			return carriers.OverRDMA(l, []int{1}, carriers.MemDevices)
		},
		// Most is the 32 Receives of the server, with 5 KiB each.
		Cost: liveness.Cost{Bytes: 256 << 10, Goroutines: 0},
		Without: map[string]string{
			"vanishes":               "both ends share the memory of one process, and a post is executed before it returns",
			"half open":              "a request to connect waits in the backlog or is refused, and has no bytes",
			"reads slowly":           "the device writes to memory without its program",
			"stops within a message": "a message is delivered whole",
		},
	})
}

// Over UDP, which has no connections.
func TestPeersOverUDP(t *testing.T) {
	liveness.Run(t, liveness.Column{
		Carrier: carriers.UDP, Datagrams: true,
		Without: map[string]string{
			"vanishes":               "the server knows no client without a Call in progress; at a client, the Call's context is the limit",
			"half open":              "there is no handshake",
			"silent":                 "a client that sends nothing does not exist for the server",
			"never reads":            "a reply is a datagram, and sending it does not wait for the client",
			"reads slowly":           "a reply is a datagram, and sending it does not wait for the client",
			"stops within a message": "a datagram arrives whole or not at all",
		},
	})
}

// Within the process, as records, with a virtual clock.
func TestPeersOverMem(t *testing.T) {
	deaf := func(r mem.Record) mem.Fault {
		if r.Conn > 0 && r.Reply && len(r.Message) > 64<<10 {
			return mem.Fault{Kind: mem.Stall, Delay: time.Hour}
		}
		return mem.Fault{}
	}
	const asTCP = "the row of tcp, with the same code, has bytes and packets"
	liveness.Run(t, liveness.Column{
		Carrier: func(l carriers.Limits) carriers.Carrier { return carriers.Mem(l, deaf) },
		Deaf:    true, Around: synctest.Test, Cost: liveness.Cost{Bytes: 48 << 10, Goroutines: 4},
		Without: map[string]string{
			"half open": asTCP, "reads slowly": asTCP, "stops within a message": asTCP, "garbage": asTCP,
		},
	})
}
