package iwarp_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// shapes runs a benchmark with long FPDUs, as over loopback, and with FPDUs as over an Ethernet,
// with and without CRCs. docs/adr/0055-iwarp.md has results.
func shapes(b *testing.B, run func(b *testing.B, c, s *side)) {
	for _, shape := range []struct {
		name string
		cfg  iwarp.Config
	}{
		{"long", iwarp.Config{}},
		{"long,nocrc", iwarp.Config{NoCRC: true}},
		{"1442", iwarp.Config{MULPDU: 1442}},
		{"1442,nocrc", iwarp.Config{MULPDU: 1442, NoCRC: true}},
	} {
		b.Run(shape.name, func(b *testing.B) {
			c, s := pair(b, &shape.cfg, &shape.cfg)
			b.ReportAllocs()
			run(b, c, s)
		})
	}
}

// wait waits for n completions.
func (s *side) wait(n int) {
	s.Helper()
	for range n {
		s.ok()
	}
}

// BenchmarkPingPong128 measures a 128-byte Send in each direction. Both sides wait for
// notifications.
func BenchmarkPingPong128(b *testing.B) {
	shapes(b, func(b *testing.B, c, s *side) {
		wr := func(x *side) []verbs.SendWR {
			return []verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: x.sge(128)}}
		}
		there, back := wr(c), wr(s)
		recvC, recvS := []verbs.RecvWR{{SGL: c.sge(128)}}, []verbs.RecvWR{{SGL: s.sge(128)}}
		s.qp.PostRecv(recvS)
		done := make(chan struct{})
		n := b.N
		go func() {
			defer close(done)
			for range n {
				s.wait(1)
				s.qp.PostRecv(recvS)
				s.qp.PostSend(back)
				s.wait(1)
			}
		}()
		b.ResetTimer()
		for range n {
			c.qp.PostRecv(recvC)
			c.qp.PostSend(there)
			c.wait(2)
		}
		<-done
	})
}

// bulk keeps depth Writes or Reads of size bytes outstanding.
func bulk(b *testing.B, op verbs.Opcode, size, depth int) {
	shapes(b, func(b *testing.B, c, s *side) {
		wr := []verbs.SendWR{{Opcode: op, Flags: verbs.SendSignaled, SGL: c.sge(size), RKey: s.mr.RKey(), RemoteAddr: s.mr.RemoteAddr()}}
		b.SetBytes(int64(size))
		n := b.N
		for i := range n {
			if _, err := c.qp.PostSend(wr); err != nil {
				b.Fatal(err)
			}
			if i >= depth {
				c.wait(1)
			}
		}
		c.wait(min(n, depth))
		s.recv(8) // all has arrived when this has
		c.post(verbs.SendWR{Opcode: verbs.Send})
		s.wait(1)
		c.wait(1)
	})
}

func BenchmarkWrite64Kx16(b *testing.B) { bulk(b, verbs.RDMAWrite, 64<<10, 16) }
func BenchmarkWrite1Mx8(b *testing.B)   { bulk(b, verbs.RDMAWrite, 1<<20, 8) }
func BenchmarkRead64Kx16(b *testing.B)  { bulk(b, verbs.RDMARead, 64<<10, 16) }
func BenchmarkWrite4Kx32(b *testing.B)  { bulk(b, verbs.RDMAWrite, 4<<10, 32) }
