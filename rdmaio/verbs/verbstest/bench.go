package verbstest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// benchSizes are the message sizes. Those above a limit of the devices are skipped.
var benchSizes = []int{8, 128, 1 << 10, 4 << 10, 64 << 10, 1 << 20}

// benchDepth is the number of requests that the bandwidth benchmarks keep outstanding.
const benchDepth = 16

// Benchmark measures a provider as perftest measures hardware:
//
//	send/latency/N     half a round trip of N-byte Sends, with waiting by Arm
//	write/latency/N    one Write at a time, from post to completion at the initiator
//	read/latency/N     the same for Reads
//	send/bandwidth/N   Sends in one direction, 16 outstanding
//	write/bandwidth/N  Writes, 16 outstanding
//	read/bandwidth/N   Reads, 16 outstanding, or as many as the devices negotiate
//
// It calls open once for each. The names have no spaces, as benchstat requires. A Write's
// completion does not prove delivery (see verbs). A bandwidth of Writes therefore ends with a
// Send that the peer has received.
func Benchmark(b *testing.B, open func(tb testing.TB) Fabric) {
	for _, kind := range []struct {
		name string
		run  func(*bench)
	}{
		{"send/latency", benchPingPong},
		{"write/latency", func(p *bench) { p.access(verbs.RDMAWrite, 1) }},
		{"read/latency", func(p *bench) { p.access(verbs.RDMARead, 1) }},
		{"send/bandwidth", benchStream},
		{"write/bandwidth", func(p *bench) { p.access(verbs.RDMAWrite, benchDepth) }},
		{"read/bandwidth", func(p *bench) { p.access(verbs.RDMARead, benchDepth) }},
	} {
		for _, size := range benchSizes {
			b.Run(fmt.Sprintf("%s/%d", kind.name, size), func(b *testing.B) { benchOne(b, open, size, kind.run) })
		}
	}
}

// bench holds the connection of a benchmark.
type bench struct {
	*testing.B
	c, s *end
	size int
	mine verbs.SGE          // the client's buffer
	peer verbs.MemoryRegion // the server's buffer
}

func benchOne(b *testing.B, open func(testing.TB) Fabric, size int, run func(*bench)) {
	before := stacks()
	f := open(b)
	if f.Timeout <= 0 {
		f.Timeout = 30 * time.Second
	}
	h := &harness{TB: b, Fabric: f}
	b.Cleanup(func() { h.checkClosed(before) })
	if limit := min(f.Client.Attributes().MaxMessageSize, f.Server.Attributes().MaxMessageSize); uint64(size) > uint64(limit) {
		b.Skipf("messages of %d bytes, the devices' limit is %d", size, limit)
	}
	p := &bench{B: b, size: size}
	p.c, p.s = h.connected()
	p.mine, p.peer = whole(p.c.region(size, remoteRW)), p.s.region(size, remoteRW)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	run(p)
}

// spin polls until n requests have completed. It arms and waits when the queue is empty.
func (e *end) spin(n int) {
	wcs := e.wcs[:]
	for armed := false; n > 0; {
		k, err := e.cq.Poll(wcs[:min(n, len(wcs))])
		if err != nil {
			e.h.Errorf("poll: %v", err)
			return
		}
		for _, wc := range wcs[:k] {
			if err := wc.Err(); err != nil {
				e.h.Errorf("completion: %v", err)
				return
			}
		}
		switch {
		case k > 0:
			n, armed = n-k, false
		case !armed:
			e.h.check("arm", e.cq.Arm(false))
			armed = true
		default:
			select {
			case <-e.wake:
				armed = false
			case <-e.lost:
				e.h.Errorf("connection lost: %v", e.qp.Err())
				return
			}
		}
	}
}

// access runs Writes or Reads, with up to depth outstanding.
func (p *bench) access(op verbs.Opcode, depth int) {
	wr := []verbs.SendWR{remote(op, p.peer, 0, p.mine)}
	p.s.recv()
	out := 0
	for p.Loop() {
		if out == depth {
			p.c.spin(1)
			out--
		}
		if _, err := p.c.qp.PostSend(wr); err != nil {
			p.Fatal(err)
		}
		out++
		if depth == 1 {
			p.c.spin(1)
			out--
		}
	}
	p.c.spin(out)
	if _, err := p.c.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send, Flags: signaled}}); err != nil {
		p.Fatal(err)
	}
	p.s.spin(1)
	p.c.spin(1)
}

// benchPingPong measures round trips. An operation is two messages; SetBytes counts one.
func benchPingPong(p *bench) {
	theirs := whole(p.peer)
	recvC, recvS := []verbs.RecvWR{{SGL: []verbs.SGE{p.mine}}}, []verbs.RecvWR{{SGL: []verbs.SGE{theirs}}}
	sendC := []verbs.SendWR{{Opcode: verbs.Send, Flags: signaled, SGL: []verbs.SGE{p.mine}}}
	sendS := []verbs.SendWR{{Opcode: verbs.Send, Flags: signaled, SGL: []verbs.SGE{theirs}}}
	stop := make(chan struct{})
	next := make(chan struct{}, 1)
	var wg sync.WaitGroup
	post := func(e *end, r []verbs.RecvWR) {
		if _, err := e.qp.PostRecv(r); err != nil {
			p.Error(err)
		}
	}
	post(p.s, recvS)
	wg.Go(func() {
		for {
			select {
			case <-next:
			case <-stop:
				return
			}
			p.s.spin(1)
			post(p.s, recvS)
			if _, err := p.s.qp.PostSend(sendS); err != nil {
				p.Error(err)
			}
			p.s.spin(1)
		}
	})
	rounds := 0
	for p.Loop() {
		post(p.c, recvC)
		next <- struct{}{}
		if _, err := p.c.qp.PostSend(sendC); err != nil {
			p.Fatal(err)
		}
		p.c.spin(2)
		rounds++
	}
	p.ReportMetric(float64(p.Elapsed().Nanoseconds())/float64(2*rounds), "ns/message")
	close(stop)
	wg.Wait()
}

// benchStream measures Sends in one direction. One goroutine posts at both ends, so that each
// Send finds a Receive without flow control. It polls completions in batches of benchDepth.
func benchStream(p *bench) {
	recv := []verbs.RecvWR{{SGL: []verbs.SGE{whole(p.peer)}}}
	send := []verbs.SendWR{{Opcode: verbs.Send, Flags: signaled, SGL: []verbs.SGE{p.mine}}}
	sent := 0
	for p.Loop() {
		if sent == benchDepth {
			p.s.spin(sent)
			p.c.spin(sent)
			sent = 0
		}
		if _, err := p.s.qp.PostRecv(recv); err != nil {
			p.Fatal(err)
		}
		if _, err := p.c.qp.PostSend(send); err != nil {
			p.Fatal(err)
		}
		sent++
	}
	p.s.spin(sent)
	p.c.spin(sent)
}
