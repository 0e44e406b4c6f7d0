package iwarp_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

const (
	patience   = 5 * time.Second
	sideBytes  = 1 << 20
	everything = verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite | verbs.AccessRemoteInvalidate
)

// side is a queue pair of the provider with all that belongs to it.
type side struct {
	testing.TB
	dev  *iwarp.Device
	pd   verbs.ProtectionDomain
	cq   verbs.CompletionQueue
	qp   verbs.QueuePair
	mr   verbs.MemoryRegion // of sideBytes, with all rights
	wake chan struct{}
	lost chan struct{} // closed when the connection is lost

	alarm *time.Timer // of next: a field, which saves allocations, and so is wc
	wc    [1]verbs.WC
}

// device opens a device, which is closed after all its objects.
func device(t testing.TB, cfg *iwarp.Config) *iwarp.Device {
	t.Helper()
	d := open(t, cfg)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func newSide(t testing.TB, dev *iwarp.Device) *side {
	t.Helper()
	s := &side{TB: t, dev: dev, wake: make(chan struct{}, 1), lost: make(chan struct{}), alarm: time.NewTimer(patience)}
	var err error
	if s.pd, err = dev.AllocPD(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.pd.Close() })
	s.cq, err = dev.CreateCQ(512, func() {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.cq.Close() })
	s.mr = s.region(s.pd, sideBytes, everything)
	s.qp, err = s.pd.CreateQP(verbs.QPConfig{SendCQ: s.cq, RecvCQ: s.cq, MaxSendWR: 128, MaxRecvWR: 128, Notify: func() { close(s.lost) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.qp.Close() })
	return s
}

// region registers memory until the end of the test.
func (s *side) region(pd verbs.ProtectionDomain, n int, access verbs.Access) verbs.MemoryRegion {
	s.Helper()
	mr, err := pd.RegisterMemory(make([]byte, n), access)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { mr.Deregister() })
	return mr
}

// listen returns a listener that is closed at the end of the test.
func listen(t testing.TB, dev *iwarp.Device) verbs.Listener {
	t.Helper()
	ln, err := dev.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// acceptConn connects the side as the responder over a stream.
func (s *side) acceptConn(conn net.Conn, p *verbs.ConnParams) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := s.dev.AcceptConn(ctx, conn)
	if err == nil {
		_, err = req.Accept(ctx, s.qp, p)
	}
	return err
}

// dialConn connects the side as the initiator over a stream.
func (s *side) dialConn(conn net.Conn, p *verbs.ConnParams) (*verbs.ConnInfo, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.dev.DialConn(ctx, conn, s.qp, p)
}

// tcpPair returns both ends of a TCP connection.
func tcpPair(t testing.TB) (a, b net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if a, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// pair returns two connected sides over a TCP connection.
func pair(t testing.TB, initiator, responder *iwarp.Config) (i, r *side) {
	t.Helper()
	a, b := tcpPair(t)
	i, r = newSide(t, device(t, initiator)), newSide(t, device(t, responder))
	done := make(chan error, 1)
	go func() { done <- r.acceptConn(b, nil) }()
	_, err := i.dialConn(a, nil)
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	return i, r
}

// sge returns the first n bytes of the side's region.
func (s *side) sge(n int) []verbs.SGE { return []verbs.SGE{{MR: s.mr, Length: n}} }

// recv posts Receives of n bytes each, one after the other in the region.
func (s *side) recv(sizes ...int) {
	s.Helper()
	at := 0
	for i, n := range sizes {
		wr := verbs.RecvWR{WRID: uint64(i)}
		if n > 0 {
			wr.SGL = []verbs.SGE{{MR: s.mr, Offset: at, Length: n}}
		}
		if _, err := s.qp.PostRecv([]verbs.RecvWR{wr}); err != nil {
			s.Fatal(err)
		}
		at += n
	}
}

// post posts a signaled request.
func (s *side) post(wr verbs.SendWR) {
	s.Helper()
	wr.Flags |= verbs.SendSignaled
	if _, err := s.qp.PostSend([]verbs.SendWR{wr}); err != nil {
		s.Fatal(err)
	}
}

// next waits for a completion.
func (s *side) next() verbs.WC {
	s.Helper()
	for {
		for range 2 {
			n, err := s.cq.Poll(s.wc[:])
			if err != nil {
				s.Fatal(err)
			}
			if n == 1 {
				return s.wc[0]
			}
			s.cq.Arm(false)
		}
		s.alarm.Reset(patience)
		select {
		case <-s.wake:
		case <-s.alarm.C:
			s.Fatalf("no completion; %v", s.qp.Err())
		}
	}
}

// ok waits for a completion, which must be a success.
func (s *side) ok() verbs.WC {
	s.Helper()
	wc := s.next()
	if wc.Status != verbs.StatusSuccess {
		s.Fatalf("%+v: %v", wc, s.qp.Err())
	}
	return wc
}

// fails waits for the end of the connection and checks its reason.
func (s *side) fails(wants ...error) {
	s.Helper()
	select {
	case <-s.lost:
	case <-time.After(patience):
		s.Fatal("the connection is still open")
	}
	for _, want := range wants {
		if err := s.qp.Err(); !errors.Is(err, want) {
			s.Errorf("error %v, want %v", err, want)
		}
	}
}
