package mem_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// message sends n bytes once, from the posts to both polled completions.
func message(t testing.TB, c, s *side, n int) func() {
	recv := []verbs.RecvWR{{WRID: 1, SGL: []verbs.SGE{{MR: s.mr, Length: n}}}}
	send := []verbs.SendWR{{WRID: 2, Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: c.mr, Length: n}}}}
	wcs := make([]verbs.WC, 4)
	return func() {
		if _, err := s.qp.PostRecv(recv); err != nil {
			t.Fatal(err)
		}
		if _, err := c.qp.PostSend(send); err != nil {
			t.Fatal(err)
		}
		if k, _ := s.cq.Poll(wcs); k != 1 || wcs[0].Status != verbs.StatusSuccess {
			t.Fatal("not received")
		}
		if k, _ := c.cq.Poll(wcs); k != 1 || wcs[0].Status != verbs.StatusSuccess {
			t.Fatal("not sent")
		}
	}
}

// access posts one Write or Read of n bytes and polls its completion.
func access(t testing.TB, c, s *side, op verbs.Opcode, n int) func() {
	wr := []verbs.SendWR{{WRID: 2, Opcode: op, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: c.mr, Length: n}}, RKey: s.mr.RKey(), RemoteAddr: s.mr.RemoteAddr()}}
	wcs := make([]verbs.WC, 4)
	return func() {
		if _, err := c.qp.PostSend(wr); err != nil {
			t.Fatal(err)
		}
		if k, _ := c.cq.Poll(wcs); k != 1 || wcs[0].Status != verbs.StatusSuccess {
			t.Fatal("not completed")
		}
	}
}

// reregister invalidates and registers a region, as a transport's region pool does for each call.
func reregister(t testing.TB, s *side) func() {
	buf, rights := s.mr.Bytes(), s.mr.Access()
	return func() {
		if s.mr.Invalidate() != nil || s.mr.Reregister(buf, rights) != nil {
			t.Fatal("reregister failed")
		}
	}
}

func TestMessageDoesNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	_, c, s := newPair(t)
	empty := message(t, c, s, 0)
	for _, tc := range []struct {
		name string
		f    func()
	}{
		{"send 128", message(t, c, s, 128)},
		{"write 4096", access(t, c, s, verbs.RDMAWrite, 4096)},
		{"read 4096", access(t, c, s, verbs.RDMARead, 4096)},
		{"reregister", reregister(t, s)},
		{"arm and notify", func() {
			c.cq.Arm(false)
			s.cq.Arm(false)
			empty()
		}},
	} {
		if n := testing.AllocsPerRun(1000, tc.f); n != 0 {
			t.Errorf("%s: %v allocations, want 0", tc.name, n)
		}
	}
}

func run(b *testing.B, bytes int64, f func()) {
	b.Helper()
	b.SetBytes(bytes)
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
}

func BenchmarkSend128(b *testing.B) {
	_, c, s := newPair(b)
	run(b, 128, message(b, c, s, 128))
}

func BenchmarkWrite64K(b *testing.B) {
	_, c, s := newPair(b)
	run(b, 64<<10, access(b, c, s, verbs.RDMAWrite, 64<<10))
}

func BenchmarkRead64K(b *testing.B) {
	_, c, s := newPair(b)
	run(b, 64<<10, access(b, c, s, verbs.RDMARead, 64<<10))
}

func BenchmarkReregister(b *testing.B) {
	_, _, s := newPair(b)
	run(b, 0, reregister(b, s))
}

// BenchmarkCopy64K measures a plain copy, for comparison.
func BenchmarkCopy64K(b *testing.B) {
	from, to := make([]byte, 64<<10), make([]byte, 64<<10)
	run(b, 64<<10, func() { copy(to, from) })
}
