package mem_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

func ids(wcs []verbs.WC, status verbs.Status) (out []uint64) {
	for _, wc := range wcs {
		if wc.Status == status {
			out = append(out, wc.WRID)
		}
	}
	return out
}

func post(t *testing.T, s *side, wrs ...verbs.SendWR) {
	t.Helper()
	if n, err := s.qp.PostSend(wrs); err != nil {
		t.Fatalf("%d of %d posted: %v", n, len(wrs), err)
	}
}

func TestHoldKeepsOrder(t *testing.T) {
	n, c, s := newPair(t)
	if _, err := s.qp.PostRecv([]verbs.RecvWR{{WRID: 1}, {WRID: 2}, {WRID: 3}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.qp.PostRecv([]verbs.RecvWR{{WRID: 9}}); err != nil {
		t.Fatal(err)
	}
	n.Hold()
	send := verbs.SendWR{Opcode: verbs.Send, Flags: verbs.SendSignaled}
	send.WRID = 10
	post(t, c, send)
	send.WRID = 20
	post(t, s, send)
	send.WRID = 11
	post(t, c, send)
	if got := append(c.poll(t), s.poll(t)...); len(got) > 0 {
		t.Fatalf("completions while on hold: %+v", got)
	}
	if r := c.dev.Resources(); r.PostedSends != 2 {
		t.Errorf("%d sends counted, want 2", r.PostedSends)
	}
	for i, want := range [][2][]uint64{{{10}, {1}}, {{9}, {20}}, {{11}, {2}}} {
		if !n.Step() {
			t.Fatalf("step %d: nothing waits", i)
		}
		got := [2][]uint64{ids(c.poll(t), verbs.StatusSuccess), ids(s.poll(t), verbs.StatusSuccess)}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("step %d (-want +got):\n%s", i, d)
		}
	}
	if n.Step() {
		t.Error("a fourth step found something")
	}
	send.WRID = 12
	post(t, c, send)
	n.Release()
	if got := ids(c.poll(t), verbs.StatusSuccess); !slices.Equal(got, []uint64{12}) {
		t.Errorf("released %v, want [12]", got)
	}
}

// Requests still in the queue are flushed in order, signaled or not, and never run.
func TestHoldFlush(t *testing.T) {
	for name, end := range map[string]func(c, s *side) error{
		"own disconnect":    func(c, s *side) error { return c.qp.Disconnect() },
		"peer's disconnect": func(c, s *side) error { return s.qp.Disconnect() },
		"own close":         func(c, s *side) error { return c.qp.Close() },
		"device removed":    func(c, s *side) error { c.dev.Remove(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			n, c, s := newPair(t)
			if _, err := s.qp.PostRecv([]verbs.RecvWR{{WRID: 1}}); err != nil {
				t.Fatal(err)
			}
			n.Hold()
			post(t, c, verbs.SendWR{WRID: 5, Opcode: verbs.RDMAWrite, SGL: c.sge(4), RKey: s.mr.RKey(), RemoteAddr: s.mr.RemoteAddr()},
				verbs.SendWR{WRID: 6, Opcode: verbs.Send, Flags: verbs.SendSignaled})
			if err := end(c, s); err != nil {
				t.Fatal(err)
			}
			if n.Step() {
				t.Error("a flushed request ran")
			}
			if got := ids(c.poll(t), verbs.StatusFlushed); !slices.Equal(got, []uint64{5, 6}) {
				t.Errorf("client flushed %v, want [5 6]", got)
			}
			if got := ids(s.poll(t), verbs.StatusFlushed); !slices.Equal(got, []uint64{1}) {
				t.Errorf("server flushed %v, want [1]", got)
			}
			if r := c.dev.Resources(); r.PostedSends != 0 {
				t.Errorf("%d entries of the send queue in use", r.PostedSends)
			}
		})
	}
}

// A region that was invalidated between post and transfer is not accessed, even if it was
// registered again before the transfer.
func TestHoldStaleRegion(t *testing.T) {
	for _, op := range []verbs.Opcode{verbs.Send, verbs.RDMAWrite, verbs.RDMARead} {
		t.Run(op.String(), func(t *testing.T) {
			n, c, s := newPair(t)
			if _, err := s.qp.PostRecv([]verbs.RecvWR{{WRID: 1, SGL: s.sge(4)}}); err != nil {
				t.Fatal(err)
			}
			n.Hold()
			post(t, c, verbs.SendWR{WRID: 5, Opcode: op, SGL: c.sge(4), RKey: s.mr.RKey(), RemoteAddr: s.mr.RemoteAddr()})
			if err := c.mr.Invalidate(); err != nil {
				t.Fatal(err)
			}
			if err := c.mr.Reregister(c.mr.Bytes(), c.mr.Access()); err != nil {
				t.Fatal(err)
			}
			copy(c.mr.Bytes(), "secret")
			n.Release()
			if got := ids(c.poll(t), verbs.StatusLocalProtection); !slices.Equal(got, []uint64{5}) {
				t.Errorf("request did not end with a protection error: %v", got)
			}
			if s.mr.Bytes()[0] != 0 || c.mr.Bytes()[0] != 's' {
				t.Error("bytes moved")
			}
		})
	}
}
