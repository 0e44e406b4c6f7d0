package rdmatcp_test

import (
	"context"
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

// BenchmarkDial measures a connection from Dial to Close, with both ends in the process.
func BenchmarkDial(b *testing.B) {
	config := tlstest.NewAuthority(b).Config()
	for _, tt := range []struct {
		name string
		cfg  *rdmatcp.Config
		full bool
	}{{"plain", nil, false}, {"TLS", &rdmatcp.Config{TLS: config}, true}, {"TLS resumed", &rdmatcp.Config{TLS: config}, false}} {
		b.Run(tt.name, func(b *testing.B) {
			server, client := open(b, tt.cfg), open(b, tt.cfg)
			ctx := context.Background()
			ln, err := server.Listen(ctx, local)
			if err != nil {
				b.Fatal(err)
			}
			for range b.N {
				if tt.full {
					client.Close()
					client = open(b, tt.cfg)
				}
				dialOnce(b, client, server, ln)
			}
			ln.Close()
			client.Close()
			server.Close()
		})
	}
}

// dialOnce connects two queue pairs and closes them.
func dialOnce(b *testing.B, client, server *rdmatcp.Device, ln verbs.Listener) {
	var ends [2]struct {
		pd verbs.ProtectionDomain
		cq verbs.CompletionQueue
		qp verbs.QueuePair
	}
	for i, dev := range []*rdmatcp.Device{client, server} {
		e := &ends[i]
		var err error
		if e.pd, err = dev.AllocPD(); err == nil {
			e.cq, err = dev.CreateCQ(8, nil)
		}
		if err == nil {
			e.qp, err = e.pd.CreateQP(verbs.QPConfig{SendCQ: e.cq, RecvCQ: e.cq, MaxSendWR: 4, MaxRecvWR: 4})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		req, err := ln.Accept(ctx)
		if err == nil {
			_, err = req.Accept(ctx, ends[1].qp, nil)
		}
		done <- err
	}()
	if _, err := client.Dial(ctx, ln.Addr(), ends[0].qp, nil); err != nil {
		b.Fatal(err)
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	for _, e := range ends {
		for _, f := range []func() error{e.qp.Close, e.cq.Close, e.pd.Close} {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
