package stream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
)

// sealed returns a batch of two frames with payload of the region, direct if it is more than limit
// bytes, and its bytes.
func sealed(t *testing.T, w *wired, limit int) (b *batch, want []byte) {
	t.Helper()
	b = &batch{arena: make([]byte, 0, batchArena)}
	for range 2 {
		list := pieces(t, w.queuePair, w.mr, 100)
		if !list.Pin() {
			t.Fatal("the region is invalid")
		}
		start := len(b.arena)
		b.arena = append(b.arena, make([]byte, toyHeader)...)
		if b.add(start, list, 0, 100, limit) {
			b.pins = append(b.pins, list[0].Region)
		} else {
			list.Unpin()
		}
	}
	b.seal(toySum)
	return b, bytes.Join(b.bufs, nil)
}

// A stream without a gathering write gets the bytes one piece after the other, from a copy of the
// payload. What it takes in part, before an interrupt, is not sent again. After a write that cannot
// be finished no frame may follow.
func TestSendToAStream(t *testing.T) {
	late := os.ErrDeadlineExceeded
	fault := errors.New("fault")
	for _, tt := range []struct {
		what    string
		writes  []scriptedWrite
		timeout time.Duration
		closing bool
		want    error
	}{
		{what: "whole", timeout: time.Hour},
		{what: "in parts", writes: []scriptedWrite{{3, late}, {0, late}, {5, late}}, timeout: time.Hour},
		{what: "a fault", writes: []scriptedWrite{{3, fault}}, timeout: time.Hour, want: fault},
		{what: "too slow", writes: []scriptedWrite{{3, late}}, timeout: -time.Hour, want: errSlow},
		{what: "the end", writes: []scriptedWrite{{3, late}}, timeout: time.Hour, closing: true, want: errClosing},
	} {
		for _, limit := range []int{10, 1000} {
			w := newWired(t, nil)
			w.dev.cfg.SendTimeout = tt.timeout
			s := &scripted{writes: tt.writes}
			c := &Conn{dev: w.dev, conn: s}
			c.closing.Store(tt.closing)
			b, want := sealed(t, w, limit)
			released := 0
			start := time.Now()
			err := c.send(b, func() {
				released++
				b.unpin()
			})
			if err != tt.want || c.truncated != (tt.want != nil) {
				t.Errorf("%s: %v, want %v; truncated %v", tt.what, err, tt.want, c.truncated)
			}
			if tt.want == nil && !bytes.Equal(s.got, want) {
				t.Errorf("%s: %d bytes are written, want %d", tt.what, len(s.got), len(want))
			}
			if direct := limit < 100; direct != (released == 1) || len(b.pins) != 0 {
				t.Errorf("%s: released %d times, %d regions are pinned", tt.what, released, len(b.pins))
			}
			last := s.limits[len(s.limits)-1]
			if tt.want == nil && !last.IsZero() {
				t.Errorf("%s: the deadline %v is left for later writes", tt.what, last)
			}
			if most := start.Add(lingerWrite + 20*time.Second); tt.closing && last.After(most) {
				t.Errorf("%s: a write may take %v", tt.what, last.Sub(start))
			}
		}
	}
}

// The end that comes while the deadline is set has its own deadline, which counts.
func TestEndBeforeAWrite(t *testing.T) {
	w := newWired(t, nil)
	w.dev.cfg.SendTimeout = time.Hour
	s := &scripted{writes: []scriptedWrite{{0, os.ErrDeadlineExceeded}}}
	c := &Conn{dev: w.dev, conn: s}
	s.onLimit = func() { c.closing.Store(true) }
	b, _ := sealed(t, w, 1000)
	if err := c.send(b, func() {}); err != errClosing || len(s.limits) != 2 || time.Until(s.limits[1]) > time.Minute {
		t.Errorf("%v, with deadlines %v", err, s.limits)
	}
}

// An interrupt during a write makes the rest be sent from a copy, with no region pinned; one that
// comes before makes all of it. The region may then have other content.
func TestInterruptBeforeAWrite(t *testing.T) {
	w := newWired(t, nil)
	b, want := sealed(t, w, 10)
	w.c.interruptWrite.Store(true)
	wasFirst := w.mr.Bytes()[0]
	err := w.c.send(b, func() {
		b.unpin()
		w.mr.Bytes()[0] = wasFirst + 1 // the owner has the region back
	})
	got := make([]byte, len(want))
	if _, rerr := io.ReadFull(w.peer, got); err != nil || rerr != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, %v: other bytes", err, rerr)
	}
	if len(b.pins) != 0 || len(b.pay) != 0 || w.c.interruptWrite.Load() {
		t.Errorf("%d regions are pinned, interrupted %v", len(b.pins), w.c.interruptWrite.Load())
	}
}

// An interrupt reaches the directions that hold memory, and no others. A write of TLS holds none,
// and cannot be continued.
func TestWhoIsInterrupted(t *testing.T) {
	for i := range 8 {
		placing, sending, tcp := i&1 != 0, i&2 != 0, i&4 != 0
		c := &Conn{conn: &scripted{}}
		if tcp {
			c.tcp = &net.TCPConn{}
		}
		c.placing.Store(placing)
		c.sending.Store(sending)
		c.interrupt()
		if c.interruptRead.Load() != placing || c.interruptWrite.Load() != (sending && tcp) {
			t.Errorf("placing %v, sending %v, TCP %v: reads %v, writes %v", placing, sending, tcp, c.interruptRead.Load(), c.interruptWrite.Load())
		}
	}
}

// The end interrupts reads at once, and gives writes a short time.
func TestStopInterruptsReadsAtOnce(t *testing.T) {
	s := &scripted{}
	c := &Conn{conn: s}
	start := time.Now()
	c.stop()
	if !c.closing.Load() || len(s.readLimits) != 1 || !s.readLimits[0].Equal(past) {
		t.Errorf("closing %v, reads end at %v", c.closing.Load(), s.readLimits)
	}
	if len(s.limits) != 1 || s.limits[0].Before(start) || s.limits[0].After(time.Now().Add(lingerWrite)) {
		t.Errorf("writes end at %v", s.limits)
	}
}

// The last bytes are sent, then the sending direction is closed, and input is read and dropped
// until the peer closes its own: at most 64 MiB, in a limited time. The stream is closed in any
// case, once.
func TestHangupReadsUntilThePeerCloses(t *testing.T) {
	many := make([]int, 40<<10)
	for i := range many {
		many[i] = HandshakeInput
	}
	for _, tt := range []struct {
		what   string
		writes []scriptedWrite
		reads  []int
		last   string
		want   int // reads
		half   int
	}{
		{what: "nothing to say", want: 1, half: 1},
		{what: "a report", last: "report", reads: []int{10, 2000, 3}, want: 4, half: 1},
		{what: "a report that cannot be sent", last: "report", writes: []scriptedWrite{{2, net.ErrClosed}}, reads: []int{10}},
		{what: "a flood", reads: many, want: 64 << 20 / HandshakeInput, half: 1},
	} {
		d := openToy(t, toyConfig(100))
		s := &scripted{writes: tt.writes, reads: tt.reads}
		if !d.mayHangUp() {
			t.Fatal("the device is closed")
		}
		start := time.Now()
		(&Conn{dev: d, conn: s}).hangup([]byte(tt.last))
		if s.readCalls != tt.want || s.half != tt.half || s.closed != 1 || tt.half > 0 && string(s.got) != tt.last {
			t.Errorf("%s: %d reads, want %d; sent %q, ended %d times, closed %d times", tt.what, s.readCalls, tt.want, s.got, s.half, s.closed)
		}
		if len(s.all) != 1 || s.all[0].Before(start) || s.all[0].After(time.Now().Add(lingerTime)) {
			t.Errorf("%s: deadlines %v", tt.what, s.all)
		}
		sent := make(chan struct{})
		go func() {
			d.last.Wait()
			close(sent)
		}()
		returns(t, "the wait for the last bytes", sent)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A try that the socket does not take, or that is interrupted, is not an error; any other is.
func TestTryKeepsWhatTheSocketDoesNotTake(t *testing.T) {
	if !canTry {
		t.Skip("this system has no write that does not wait")
	}
	w := newWired(t, nil)
	w.c.conn.SetWriteDeadline(past)
	if n, err := w.c.try([]byte("late")); n != 0 || err != nil {
		t.Errorf("interrupted: %d bytes, %v", n, err)
	}
	w.c.conn.SetWriteDeadline(time.Time{})
	if n, err := w.c.try([]byte("bytes")); n != 5 || err != nil || keepsBytes(w.c) {
		t.Errorf("%d bytes, %v; its memory is kept: %v", n, err, keepsBytes(w.c))
	}
	w.c.conn.Close()
	if n, err := w.c.try([]byte("closed")); n != 0 || err == nil {
		t.Errorf("closed: %d bytes, %v", n, err)
	}
}

// A batch that was reset, copied or unpinned keeps no memory of its frames.
func TestBatchKeepsNothing(t *testing.T) {
	w := newWired(t, nil)
	empty := func(what string, lists ...[][]byte) {
		t.Helper()
		for _, l := range lists {
			for _, b := range l[:cap(l)] {
				if b != nil {
					t.Errorf("%s: memory is kept", what)
				}
			}
		}
	}
	regions := func(what string, l []*soft.Region) {
		t.Helper()
		for _, r := range l[:cap(l)] {
			if r != nil {
				t.Errorf("%s: a region is kept", what)
			}
		}
	}
	b, _ := sealed(t, w, 10)
	b.copyRest()
	empty("a copied rest", b.pay)
	b.unpin()
	regions("unpin", b.pins)
	if b.unpin(); len(b.pins) != 0 {
		t.Error("regions are unpinned twice")
	}
	if err := w.mr.Invalidate(); err != nil { // it waits for pins
		t.Error(err)
	}
	b = &batch{
		pay: [][]byte{{1}, {2}}, pins: []*soft.Region{{}, {}}, iov: append(net.Buffers{{1}, {2}, {3}}, nil)[:1],
		bufs: net.Buffers{{1}}, sealed: true, direct: 1, staged: 2, first: 3, requests: 4, responses: 5, frames: make([]part, 3), arena: make([]byte, 9, 10),
	}
	b.reset()
	empty("reset", b.pay, b.iov, b.bufs)
	regions("reset", b.pins)
	if b.sealed || len(b.arena) != 0 || cap(b.arena) != 10 || len(b.frames)+len(b.pay)+len(b.pins)+b.direct+b.staged != 0 || b.first+b.requests+b.responses != 0 {
		t.Errorf("reset leaves %+v", b)
	}
}
