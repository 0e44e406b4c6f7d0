package rdmatcp_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// side is one end of a connection, with little overhead, for benchmarks.
type side struct {
	dev  *rdmatcp.Device
	pd   verbs.ProtectionDomain
	cq   verbs.CompletionQueue
	qp   verbs.QueuePair
	mr   verbs.MemoryRegion // 1 MiB with all rights
	room []byte             // its memory, which the region forgets when it is deregistered
	wake <-chan struct{}
	lost <-chan struct{}
	wcs  [64]verbs.WC

	alarm *time.Timer // of wait: a field, which saves allocations
}

const sideBytes = 1 << 20

// hung is the time after which a slow benchmark counts as hung.
const hung = 30 * time.Second

func newSide(t testing.TB, dev *rdmatcp.Device) *side {
	t.Helper()
	notify, wake := verbs.NotifyChannel()
	s := newSideNotifying(t, dev, notify)
	s.wake = wake
	return s
}

func newSideNotifying(t testing.TB, dev *rdmatcp.Device, notify func()) *side {
	t.Helper()
	s := &side{dev: dev, alarm: time.NewTimer(hung)}
	var err error
	must := func() {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s.pd, err = dev.AllocPD()
	must()
	lost, lostC := verbs.NotifyChannel()
	s.lost = lostC
	s.cq, err = dev.CreateCQ(1024, notify)
	must()
	s.qp, err = s.pd.CreateQP(verbs.QPConfig{SendCQ: s.cq, RecvCQ: s.cq, MaxSendWR: 256, MaxRecvWR: 256, Notify: lost})
	must()
	s.room = make([]byte, sideBytes)
	s.mr, err = s.pd.RegisterMemory(s.room,
		verbs.AccessLocalWrite|verbs.AccessRemoteRead|verbs.AccessRemoteWrite|verbs.AccessRemoteInvalidate)
	must()
	t.Cleanup(func() {
		for _, f := range []func() error{s.qp.Close, s.mr.Deregister, s.cq.Close, s.pd.Close} {
			if err := f(); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

// newPair connects two devices.
func newPair(t testing.TB, cfg *rdmatcp.Config) (c, s *side) {
	t.Helper()
	client, server := open(t, cfg), open(t, cfg)
	t.Cleanup(func() {
		for _, d := range []*rdmatcp.Device{client, server} {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	c, s = newSide(t, client), newSide(t, server)
	ln, err := server.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := client.Dial(ctx, ln.Addr(), c.qp, nil)
		done <- err
	}()
	req, err := ln.Accept(ctx)
	if err == nil {
		_, err = req.Accept(ctx, s.qp, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return c, s
}

// wait waits for n completions, with Arm as verbs.CompletionQueue describes.
func (s *side) wait(t testing.TB, n int) {
	for armed := false; n > 0; {
		k, err := s.cq.Poll(s.wcs[:min(n, len(s.wcs))])
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.wcs[:k] {
			if err := s.wcs[i].Err(); err != nil {
				t.Fatalf("%v: %v", err, s.qp.Err())
			}
		}
		n -= k
		switch {
		case k > 0:
			armed = false
		case !armed:
			s.cq.Arm(false)
			armed = true
		default:
			s.alarm.Reset(hung)
			select {
			case <-s.wake:
				armed = false
			case <-s.alarm.C:
				t.Fatalf("%d completions are missing after %v: %v", n, hung, s.qp.Err())
			}
		}
	}
}

func (s *side) sge(n int) []verbs.SGE { return []verbs.SGE{{MR: s.mr, Length: n}} }

func (s *side) send(t testing.TB, wrs []verbs.SendWR) {
	if _, err := s.qp.PostSend(wrs); err != nil {
		t.Fatal(err)
	}
}

func (s *side) recv(t testing.TB, n, count int) {
	for range count {
		if _, err := s.qp.PostRecv([]verbs.RecvWR{{SGL: s.sge(n)}}); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkPingPong128 measures a 128-byte Send in each direction. Both sides wait for
// notifications.
func BenchmarkPingPong128(b *testing.B) { pingPong(b, nil) }

func pingPong(b *testing.B, cfg *rdmatcp.Config) {
	c, s := newPair(b, cfg)
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
			s.wait(b, 1)
			s.qp.PostRecv(recvS)
			s.send(b, back)
			s.wait(b, 1)
		}
	}()
	b.ReportAllocs()
	b.ResetTimer()
	for range n {
		c.qp.PostRecv(recvC)
		c.send(b, there)
		c.wait(b, 2)
	}
	<-done
}

// BenchmarkTCPPingPong128 measures the same over plain TCP, for comparison.
func BenchmarkTCPPingPong128(b *testing.B) {
	ln, err := net.Listen("tcp", local)
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	n := b.N
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		buf := make([]byte, 128)
		for range n {
			c.Read(buf)
			c.Write(buf)
		}
	}()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	buf := make([]byte, 128)
	b.ResetTimer()
	for range n {
		c.Write(buf)
		c.Read(buf)
	}
	<-done
}

// BenchmarkSend128x32 measures Sends with 32 outstanding.
func BenchmarkSend128x32(b *testing.B) {
	c, s := newPair(b, nil)
	wr := []verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: c.sge(128)}}
	recvS := []verbs.RecvWR{{SGL: s.sge(128)}}
	s.recv(b, 128, 200)
	done := make(chan struct{})
	n := b.N
	go func() {
		defer close(done)
		for range n {
			s.wait(b, 1)
			s.qp.PostRecv(recvS)
		}
	}()
	b.ReportAllocs()
	b.SetBytes(128)
	b.ResetTimer()
	for i := range n {
		c.send(b, wr)
		if i >= 32 {
			c.wait(b, 1)
		}
	}
	<-done
	c.wait(b, min(n, 32))
}

// bulk keeps depth Writes or Reads of size bytes outstanding.
func bulk(b *testing.B, cfg *rdmatcp.Config, op verbs.Opcode, size, depth int) {
	c, s := newPair(b, cfg)
	wr := []verbs.SendWR{{Opcode: op, Flags: verbs.SendSignaled, SGL: c.sge(size), RKey: s.mr.RKey(), RemoteAddr: s.mr.RemoteAddr()}}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	n := b.N
	for i := range n {
		c.send(b, wr)
		if i >= depth {
			c.wait(b, 1)
		}
	}
	c.wait(b, min(n, depth))
	s.recv(b, 8, 1) // all has arrived when this has
	c.send(b, []verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled}})
	s.wait(b, 1)
	c.wait(b, 1)
}

func BenchmarkWrite64Kx16(b *testing.B) { bulk(b, nil, verbs.RDMAWrite, 64<<10, 16) }
func BenchmarkWrite1Mx8(b *testing.B)   { bulk(b, nil, verbs.RDMAWrite, 1<<20, 8) }
func BenchmarkRead64Kx16(b *testing.B)  { bulk(b, nil, verbs.RDMARead, 64<<10, 16) }
func BenchmarkWrite4Kx32(b *testing.B)  { bulk(b, nil, verbs.RDMAWrite, 4<<10, 32) }

// BenchmarkTCPStream64K measures plain TCP, without segments and CRC, for comparison.
func BenchmarkTCPStream64K(b *testing.B) {
	ln, err := net.Listen("tcp", local)
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	n := b.N
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		buf := make([]byte, 64<<10)
		for left := n * len(buf); left > 0; {
			k, err := c.Read(buf)
			if left -= k; err != nil {
				return
			}
		}
	}()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	buf := make([]byte, 64<<10)
	b.SetBytes(int64(len(buf)))
	b.ResetTimer()
	for range n {
		c.Write(buf)
	}
	<-done
}
