package stream

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// wired is a connected queue pair without a reader: the test itself calls the functions of the
// reader and the sender. Frames have at most 4 KiB of payload.
type wired struct {
	*queuePair
	c    *Conn
	peer net.Conn
	mr   verbs.MemoryRegion // 64 KiB, each byte another than its neighbours
	f    *toyFramer         // of c
}

func newWired(t *testing.T, shape func(*Config)) *wired {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	cfg := toyConfig(4 << 10)
	cfg.Shape.StageSend, cfg.Shape.StageReceive = 1024, 2048
	if shape != nil {
		shape(&cfg)
	}
	dev := openToy(t, cfg)
	pd, err := dev.AllocPD()
	must(err)
	cq, err := dev.CreateCQ(64, func() {})
	must(err)
	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 16, MaxRecvWR: 16})
	must(err)
	mr, err := pd.RegisterMemory(make([]byte, 1<<16), verbs.AccessLocalWrite|verbs.AccessRemoteRead|verbs.AccessRemoteWrite)
	must(err)
	for i := range mr.Bytes() {
		mr.Bytes()[i] = byte(i*7 + i>>8)
	}
	ln, err := net.Listen("tcp", local)
	must(err)
	peer, err := net.Dial("tcp", ln.Addr().String())
	must(err)
	conn, err := ln.Accept()
	must(err)
	must(ln.Close())
	w := &wired{queuePair: qp.(*queuePair), peer: peer, mr: mr, f: &toyFramer{toy: cfg.Framing.(*toy), ready: true}}
	w.c = newConn(dev, conn)
	w.c.framer, w.c.sum, w.c.turn = w.f, toySum, &w.reader.turn
	w.sender.mayWrite, w.depth, w.resources, w.maxSend = true, 4, 4, 1<<30
	w.conn.Store(w.c)
	w.SetState(verbs.StateConnected)
	t.Cleanup(func() {
		conn.Close()
		peer.Close()
		closeAll(t, qp.Close, mr.Deregister, cq.Close, pd.Close, dev.Close)
	})
	return w
}

// closeAll closes objects, in this order. None may wait for good.
func closeAll(t *testing.T, objects ...func() error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, object := range objects {
			if err := object(); err != nil {
				t.Error(err)
			}
		}
	}()
	returns(t, "Close", done)
}

// queue queues a request with n bytes, without sending it.
func (w *wired) queue(t *testing.T, op verbs.Opcode, n int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	wr := verbs.SendWR{Opcode: op, Flags: verbs.SendSignaled}
	if n > 0 {
		wr.SGL = []verbs.SGE{{MR: w.mr, Length: n}}
	}
	if _, err := w.postSend([]verbs.SendWR{wr}, nil); err != nil {
		t.Fatal(err)
	}
}

// respond queues a response of n bytes.
func (w *wired) respond(t *testing.T, n int) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	e, reason := w.PD.Remote(w.mr.RKey(), w.mr.RemoteAddr(), n, verbs.AccessRemoteRead)
	if reason != "" {
		t.Fatal(reason)
	}
	r := w.resp.next()
	*r = Response{Total: n}
	r.source[0] = e
	w.resp.push()
}

// receive posts a Receive of n bytes.
func (w *wired) receive(t *testing.T, n int) {
	t.Helper()
	if _, err := w.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: w.mr, Length: n}}}}); err != nil {
		t.Fatal(err)
	}
}

// frame returns a frame of the peer, with a payload of n bytes 0xab.
func (w *wired) frame(n int, kind Kind, flags byte, key uint32, addr uint64, length int) []byte {
	b := w.f.put(nil, n, kind, flags, 1, key, addr, length)
	for range n {
		b = append(b, 0xab)
	}
	b = append(b, make([]byte, -len(b)&3)...)
	sum := toySum(0, b)
	return append(b, byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24))
}

// kinds returns the kinds of frames in a batch.
func (w *wired) kinds(b *batch) (list []Kind) {
	for _, p := range b.frames {
		list = append(list, Kind(b.arena[p.start+2]))
	}
	return list
}

// takeToken takes the token with an empty batch, as push does.
func (w *wired) takeToken() {
	w.sender.sending, w.sender.out = true, &batch{arena: make([]byte, 0, batchArena)}
}

// returns waits until done is closed.
func returns(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(leak.Patience()):
		t.Fatalf("%s does not return", what)
	}
}

// scripted is a stream that is not TCP. Its writes take what the test says.
type scripted struct {
	net.Conn
	writes     []scriptedWrite // the results; afterwards all is taken
	reads      []int           // the results, then io.EOF
	onLimit    func()          // called by SetWriteDeadline, if not nil
	got        []byte          // all bytes written
	limits     []time.Time     // of writes
	readLimits []time.Time     // of reads
	all        []time.Time     // of both directions
	readCalls  int
	closed     int
	half       int // calls of CloseWrite
}

type scriptedWrite struct {
	n   int
	err error
}

func (s *scripted) Write(b []byte) (int, error) {
	if len(s.writes) == 0 {
		s.got = append(s.got, b...)
		return len(b), nil
	}
	one := s.writes[0]
	s.writes = s.writes[1:]
	n := min(one.n, len(b))
	s.got = append(s.got, b[:n]...)
	return n, one.err
}

func (s *scripted) Read(b []byte) (int, error) {
	s.readCalls++
	if len(s.reads) == 0 {
		return 0, io.EOF
	}
	n := s.reads[0]
	s.reads = s.reads[1:]
	return min(n, len(b)), nil
}

func (s *scripted) SetWriteDeadline(limit time.Time) error {
	s.limits = append(s.limits, limit)
	if s.onLimit != nil {
		s.onLimit()
	}
	return nil
}

func (s *scripted) SetReadDeadline(limit time.Time) error {
	s.readLimits = append(s.readLimits, limit)
	return nil
}

func (s *scripted) SetDeadline(limit time.Time) error {
	s.all = append(s.all, limit)
	return nil
}

func (s *scripted) Close() error {
	s.closed++
	return nil
}

func (s *scripted) CloseWrite() error {
	s.half++
	return nil
}

// pieces returns a list of elements with n bytes of a region.
func pieces(t *testing.T, q *queuePair, mr verbs.MemoryRegion, n int) soft.List {
	t.Helper()
	list, _, err := q.PD.Check(nil, []verbs.SGE{{MR: mr, Length: n}}, 1, 1<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
