package rdmatcp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The attacks of RFC 5042 §6.4 on resources, A15 to A20, and the limits against them, each tested
// below, at and above its value. A13 and A14 are in crowd_test.go.

// listen returns a listener that is closed at the end of the test.
func listen(t *testing.T, dev *rdmatcp.Device) verbs.Listener {
	t.Helper()
	ln, err := dev.Listen(context.Background(), local)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// dialFrom connects from an address of this machine.
func dialFrom(t *testing.T, ip, addr string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}).Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// closes reports whether the other end closes the stream within a time.
func closes(conn net.Conn, soon time.Duration) bool {
	conn.SetReadDeadline(time.Now().Add(soon))
	n, err := conn.Read(make([]byte, 1))
	return n == 0 && !isTimeout(err)
}

// heap returns the memory in use after a garbage collection, stacks included.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// A15: a Send without a Receive breaks its connection, and another connection of the device
// continues.
func TestA15SendsBeyondReceives(t *testing.T) {
	dev := device(t, rawConfig())
	neighbour, nv := attack(t, dev, true)
	p, v := attack(t, dev, true)
	v.recv(t, 1, 100)
	var flood []byte
	for range 10_000 {
		flood = append(flood, p.whole(segment.Header{}, nil, []byte{1})...)
	}
	go p.write(flood)
	for range 200 {
		nv.recv(t, 16, 1)
		neighbour.put(segment.Header{}, nil, []byte("honest"))
		if wc := nv.next(); wc.Err() != nil {
			t.Fatalf("the neighbour: %v", nv.qp.Err())
		}
	}
	v.fails(verbs.ErrConnectionBroken)
	for range 100 {
		if wc := v.next(); wc.Err() != nil {
			t.Fatalf("completion %+v", wc)
		}
	}
	v.none()
}

// A15: a connection keeps at least 80 % of its calls a second while others flood theirs with
// one-byte Sends, lose them and connect again. Periods with and without the flood alternate. The
// result does not count on a machine where those without the flood differ by as much.
func TestA15Neighbour(t *testing.T) {
	slices, slice := 12, 80*time.Millisecond
	if testing.Short() || raceDetector {
		t.Skip("compares speeds")
	}
	cfg := rawConfig()
	cfg.ReceiveTimeout = 50 * time.Millisecond
	dev := device(t, cfg)
	neighbour, nv := attack(t, dev, true)
	a := newArena(t, dev, everything)
	calls := func() (n float64) {
		for start := time.Now(); time.Since(start) < slice; n++ {
			nv.recv(t, 16, 1)
			neighbour.put(segment.Header{}, nil, []byte("honest"))
			if wc := nv.next(); wc.Err() != nil {
				t.Fatalf("the neighbour: %v", nv.qp.Err())
			}
		}
		return n
	}
	var flood []byte
	attacker := &peer{t: t, id: 1}
	for range 10_000 {
		flood = append(flood, attacker.whole(segment.Header{}, nil, []byte{1})...)
	}
	var lost atomic.Int64
	flooding := func() (stop func()) {
		var done atomic.Bool
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for !done.Load() {
					there, here := tcpPair(t)
					if _, err := a.over(here, there, func(p *peer) []byte { return flood }); errors.Is(err, verbs.ErrConnectionBroken) {
						lost.Add(1)
					} else {
						t.Errorf("a flood ends with %v", err)
						return
					}
				}
			})
		}
		return func() { done.Store(true); wg.Wait() }
	}
	for try := 1; ; try++ {
		least, most, quiet, loud := math.MaxFloat64, 0.0, 0.0, 0.0
		for range slices {
			n := calls()
			least, most, quiet = min(least, n), max(most, n), quiet+n
			stop := flooding()
			loud += calls()
			stop()
		}
		t.Logf("%.2f of the calls during a flood that lost %d connections; without it slices have %.0f to %.0f calls", loud/quiet, lost.Load(), least, most)
		switch {
		case lost.Load() == 0:
			t.Fatal("no flood")
		case loud >= quiet*8/10:
			return
		case try < 5:
		case least < most*8/10:
			t.Skip("the machine is too busy to compare speeds")
		default:
			t.Fatalf("the neighbour has %.2f of its calls, want at least 0.80", loud/quiet)
		}
	}
}

// A16: messages that begin and do not end. A connection has at most two, whatever the peer sends.
// Their time and memory are limited, and so is the time of one that continues with empty segments.
func TestA16OpenMessages(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector itself needs memory")
	}
	n := min(1000, (descriptors()-scaleRest)/2)
	if testing.Short() {
		n = 50
	}
	cfg := rawConfig()
	cfg.MessageTimeout, cfg.SegmentTimeout = 2*time.Second, 2*time.Second
	cfg.Raw.Control = func(rdmatcp.ControlData) {}
	dev := device(t, cfg)
	ln := listen(t, dev)
	pd, err := dev.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := dev.CreateCQ(8*n, nil)
	if err != nil {
		t.Fatal(err)
	}
	room, err := pd.RegisterMemory(make([]byte, 1<<20), everything)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	before, sent := heap(), 0
	var qps []verbs.QueuePair
	for i := range n {
		q, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4})
		if err != nil {
			t.Fatal(err)
		}
		qps = append(qps, q)
		q.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: room, Length: 1 << 20}}}})
		p := &peer{t: t, conn: dialFrom(t, "127.0.0.1", ln.Addr()), id: uint64(i)}
		req, err := ln.Accept(ctx)
		if err == nil {
			_, err = req.Accept(ctx, q, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		h := header(segment.Send, b_, p.next())
		if i%2 == 1 {
			h = header(segment.Write, b_, p.next())
			h.BufferID, h.RDMALength = room.RKey(), 1<<20
		}
		b := p.part(h, make([]byte, 1000), make([]byte, 100))
		b = append(b, p.whole(segment.Header{}, nil, nil)[:20]...) // and half a header
		p.write(b)
		sent += len(b)
	}
	time.Sleep(100 * time.Millisecond)
	used, limit := heap()-before, int64(4*sent+n*64<<10)
	t.Logf("%d bytes each", used/int64(n))
	if used > limit {
		t.Errorf("%d connections that sent %d bytes keep %d, want at most %d", n, sent, used, limit)
	}
	for _, q := range qps {
		for limit := time.Now().Add(2 * patience); q.State() != verbs.StateError && time.Now().Before(limit); {
			time.Sleep(5 * time.Millisecond)
		}
		if err := q.Err(); !errors.Is(err, verbs.StatusError{Status: verbs.StatusRetryExceeded}) {
			t.Fatalf("error %v", err)
		}
		q.Close()
	}
	room.Deregister()
	cq.Close()
	pd.Close()
}

func TestA16EmptySegments(t *testing.T) {
	cfg := rawConfig()
	cfg.MessageTimeout = 300 * time.Millisecond
	p, v := attack(t, device(t, cfg), true)
	v.recv(t, 100, 1)
	n := p.next()
	p.write(p.part(header(segment.Send, b_, n), nil, nil))
	start := time.Now()
	for v.qp.State() == verbs.StateConnected && time.Since(start) < patience {
		p.write(p.part(header(segment.Send, 0, n), []byte("more"), nil))
		time.Sleep(time.Millisecond)
	}
	if v.qp.State() == verbs.StateConnected {
		t.Fatal("a message that brings nothing stays open")
	}
	v.fails(verbs.StatusError{Status: verbs.StatusRetryExceeded})
}

// A17: a queue pair whose completions would not fit is refused, for all sizes.
func TestA17CompletionRoom(t *testing.T) {
	dev := device(t, nil)
	pd, err := dev.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	defer pd.Close()
	for entries := 1; entries < 40; entries++ {
		cq, err := dev.CreateCQ(entries, nil)
		if err != nil {
			t.Fatal(err)
		}
		left := entries
		var qps []verbs.QueuePair
		for i := 0; left > 0 && i < 50; i++ {
			send, recv := 1+(i*7)%5, 1+(i*3)%4
			q, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: send, MaxRecvWR: recv})
			if fits := send+recv <= left; fits != (err == nil) || err != nil && !errors.Is(err, verbs.ErrQueueFull) {
				t.Fatalf("%d and %d entries with %d of %d left: %v", send, recv, left, entries, err)
			}
			if err == nil {
				left -= send + recv
				qps = append(qps, q)
			}
		}
		for _, q := range qps {
			q.Close()
		}
		cq.Close()
	}
}

// A18, A20: Reads whose responses the peer does not take, and Sends that it does not take, cost
// their entries only. Posts do not wait.
func TestA18A20NothingTaken(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector itself needs memory")
	}
	p, v := attack(t, device(t, rawConfig()), true)
	before := heap()
	for range 16 {
		p.put(segment.Header{Type: segment.ReadRequest, BufferID: v.mr.RKey(), RDMALength: sideBytes}, nil, nil)
	}
	full := false
	for range 1000 {
		start := time.Now()
		_, err := v.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: v.sge(1000)}})
		if took := time.Since(start); took > time.Second {
			t.Fatalf("a post waited %v", took)
		}
		if full = errors.Is(err, verbs.ErrQueueFull); full {
			break
		}
	}
	if !full {
		t.Error("the send queue takes all")
	}
	if grown := heap() - before; grown > 256<<10 {
		t.Errorf("%d bytes are kept", grown)
	}
}

// A19: invalid input costs its connection, at most one answer, and about as much work as valid
// input. Log lines above the rate are counted, not written.
func TestA19Nonsense(t *testing.T) {
	n := 300
	if raceDetector {
		n = 50
	}
	var lines atomic.Int64
	var text sync.Map
	handler := slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
		text.Store(lines.Add(1), string(b))
		return len(b), nil
	}), nil)
	dev := device(t, &rdmatcp.Config{ReceiveTimeout: -1, Logger: slog.New(handler), LogRate: 5})
	a := newArena(t, dev, everything)
	run := func(script func(p *peer) []byte) time.Duration {
		start := time.Now()
		for range n {
			if answer, _ := a.try(script); len(answer) > 1100+48 {
				t.Fatalf("%d bytes of answer", len(answer))
			}
		}
		return time.Since(start)
	}
	// The smallest of some runs: the machine may be busy.
	const rounds = 3
	good, bad := time.Hour, time.Hour
	start := time.Now()
	for range rounds {
		good = min(good, run(func(p *peer) []byte { return p.whole(segment.Header{}, nil, []byte("good")) }))
		bad = min(bad, run(func(p *peer) []byte { return p.whole(segment.Header{Res: 8}, []byte("????????"), nil) }))
	}
	if bad > 10*good {
		t.Errorf("%v for %d bad connections, %v for good ones", bad, n, good)
	}
	stats, most := dev.Stats(), int64(5+5*(time.Since(start)/time.Second+1))
	for limit := time.Now().Add(patience); lines.Load()+stats.Suppressed < stats.Broken && time.Now().Before(limit); stats = dev.Stats() {
		time.Sleep(time.Millisecond) // the last one is still being written
	}
	if got := lines.Load(); stats.Broken != int64(rounds*n) || got < 5 || got+stats.Suppressed != stats.Broken || got > most {
		t.Errorf("%d lines, want 5 to %d; stats %+v", got, most, stats)
	}
	if first, _ := text.Load(int64(1)); !strings.Contains(first.(string), "the connection profile") {
		t.Errorf("line %q", first)
	}
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// A closed connection holds no buffers, even if its queue pair is not closed.
func TestNothingKeptAtTheEnd(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector itself needs memory")
	}
	dev := device(t, rawConfig())
	ln := listen(t, dev)
	pd, _ := dev.AllocPD()
	cq, _ := dev.CreateCQ(2000, nil)
	ctx, cancel := context.WithTimeout(context.Background(), hung)
	defer cancel()
	before := heap()
	var qps []verbs.QueuePair
	for range 100 {
		q, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4})
		if err != nil {
			t.Fatal(err)
		}
		qps = append(qps, q)
		conn := dialFrom(t, "127.0.0.1", ln.Addr())
		req, err := ln.Accept(ctx)
		if err == nil {
			_, err = req.Accept(ctx, q, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		p := &peer{t: t, conn: conn, id: 1}
		p.put(segment.Header{Type: segment.Write}, nil, nil)
		q.PostSend([]verbs.SendWR{{Opcode: verbs.RDMAWrite}})
		p.get()
		conn.Close()
		for q.State() == verbs.StateConnected && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}
	const most = 6 << 10
	each := (heap() - before) / 100
	for ; each > most && ctx.Err() == nil; each = (heap() - before) / 100 {
		time.Sleep(10 * time.Millisecond) // goroutines of the last connections still return
	}
	if each > most {
		t.Errorf("%d bytes for each connection that is over, want at most %d", each, most)
	}
	for _, q := range qps {
		q.Close()
	}
	cq.Close()
	pd.Close()
}

// A12: docs/rdmatcp.md has every attack, also those that a provider does not defend against, and
// the name of every limit.
func TestThreatPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/rdmatcp.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 20; i++ {
		if !regexp.MustCompile(fmt.Sprintf(`\| (A\d+, )*A%d[, ]`, i)).Match(page) {
			t.Errorf("attack A%d is not on the page", i)
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[rdmatcp.Config]()) {
		if k := f.Type.Kind(); (k == reflect.Int || k == reflect.Int64) && !bytes.Contains(page, []byte("`"+f.Name+"`")) {
			t.Errorf("limit %s is not on the page", f.Name)
		}
	}
}
