package stream

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The end of the stream waits for a write in progress, whose error is then the reason, and for
// responses that the peer may still read. While a Read is outstanding it is unexpected.
func TestEndOfStreamWaits(t *testing.T) {
	for rounds := 0; ; rounds++ { // the wait is short, and the machine may be busy
		w := newWired(t, nil)
		w.mu.Lock()
		w.sender.sending = true
		go func() {
			w.mu.Lock()
			w.sender.sending = false
			w.sender.writeFailed(io.ErrShortWrite)
			w.mu.UnlockNotify()
		}()
		w.reader.readFailed(io.EOF)
		w.mu.UnlockNotify()
		if errors.Is(w.Err(), io.ErrShortWrite) {
			break
		}
		if rounds == 20 {
			t.Fatalf("a write fails: %v", w.Err())
		}
	}

	w := newWired(t, nil)
	w.respond(t, 8)
	w.mu.Lock()
	read := false
	go func() {
		w.mu.Lock()
		w.resp.pop()
		read = true
		w.wake()
		w.mu.UnlockNotify()
	}()
	if w.reader.readFailed(io.EOF); !read {
		t.Error("the end does not wait for a response")
	}
	w.mu.UnlockNotify()
	if err := w.Err(); err != verbs.ErrPeerDisconnected {
		t.Error(err)
	}

	w = newWired(t, nil)
	w.queue(t, verbs.RDMARead, 8)
	w.mu.Lock()
	w.reads.next()
	*w.reads.at(w.reads.push()) = 0
	w.reader.readFailed(io.EOF)
	w.mu.UnlockNotify()
	if err := w.Err(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a Read is outstanding: %v", err)
	}
	if unexpected(io.EOF) != io.ErrUnexpectedEOF || unexpected(nil) != nil || unexpected(errSlow) != errSlow {
		t.Error("the end inside a frame is expected")
	}
}

// The report for a Refusal has its reason, number and key.
func TestRefusalIsReported(t *testing.T) {
	w := newWired(t, nil)
	w.mu.Lock()
	w.reader.readFailed(&breach{&Refusal{Reason: ReasonAccess, Number: 5, Key: 6, What: "no"}})
	got := w.last
	w.mu.UnlockNotify()
	if want := (Report{Reason: ReasonAccess, AtHand: true, Number: 5, Key: 6}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// The reader gives back its batch, its input buffer and its state at the end.
func TestReaderKeepsNothing(t *testing.T) {
	w := newWired(t, nil)
	w.peerSends(t, []byte("input"))
	w.peer.Close()
	w.mu.Lock()
	w.takeToken()
	w.reader.in.target = pieces(t, w.queuePair, w.mr, 8)
	w.mu.Unlock()
	if !w.dev.mayHangUp() {
		t.Fatal("the device is closed")
	}
	w.reader.stopReading(w.c, io.ErrNoProgress)
	if w.sender.out != nil || w.reader.in.target != nil || w.c.input.buf != nil || !w.ending {
		t.Errorf("a batch is kept: %v, a target: %v, a buffer: %v", w.sender.out != nil, w.reader.in.target != nil, w.c.input.buf != nil)
	}
}

// A frame that has begun must come in Config.SegmentTimeout.
func TestSlowFrame(t *testing.T) {
	w := newWired(t, nil)
	w.dev.cfg.SegmentTimeout = -time.Hour
	if _, err := w.peer.Write(w.frame(8, KindSend, toyLast, 0, 0, 0)[:6]); err != nil {
		t.Fatal(err)
	}
	w.peer.Close()
	if err := w.reader.readFrame(w.c); err != errSlow {
		t.Errorf("%v, want %v", err, errSlow)
	}
}

// A message in lent memory has its bytes.
func TestLentBytes(t *testing.T) {
	for _, n := range []int{100, 3000} {
		w := newWired(t, func(c *Config) { c.Attrs.LendReceives = true })
		if _, err := w.PostRecv([]verbs.RecvWR{{Lend: 4000}}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.peer.Write(w.frame(n, KindSend, toyLast, 0, 0, 0)); err != nil {
			t.Fatal(err)
		}
		if err := w.reader.readFrame(w.c); err != nil {
			t.Fatal(err)
		}
		wcs := make([]verbs.WC, 1)
		if k, err := w.RecvCQ.Poll(wcs); k != 1 || err != nil || wcs[0].Loan == nil || len(wcs[0].Loan.Bytes()) != n {
			t.Fatalf("%d bytes: %+v, %v", n, wcs[0], err)
		}
		for i, b := range wcs[0].Loan.Bytes() {
			if b != 0xab {
				t.Fatalf("%d bytes: byte %d is %#x", n, i, b)
			}
		}
		wcs[0].Loan.Return()
	}
}

// A caller may handle a frame that is at hand as a whole and short, if there is a Receive for it,
// no Read is in progress in either direction, and the connection has not ended.
func TestCallerMayRead(t *testing.T) {
	for _, tt := range []struct {
		what string
		set  func(*wired)
		want bool
	}{
		{"a short frame", func(*wired) {}, true},
		{"the end", func(w *wired) { w.ending = true }, false},
		{"a response", func(w *wired) { w.resp.next(); w.resp.push() }, false},
		{"a Read", func(w *wired) { w.reads.next(); w.reads.push() }, false},
		{"no Receive", func(w *wired) { w.messages.next(); w.messages.push() }, false},
		{"a long frame", func(w *wired) {
			w.c.input.next = toyHeader + 2048 + padding + trailerSize + 1
			w.c.input.w = w.c.input.r + w.c.input.next
		}, false},
		{"a part of a frame", func(w *wired) { w.c.input.w-- }, false},
	} {
		w := newWired(t, nil)
		w.receive(t, 8)
		w.peerSends(t, w.frame(8, KindSend, toyLast, 0, 0, 0))
		tt.set(w)
		if got := w.reader.callerMayRead(w.c); got != tt.want {
			t.Errorf("%s: %v", tt.what, got)
		}
		w.ending, w.resp, w.reads, w.messages = false, ring[Response]{}, ring[uint64]{}, ring[message]{}
	}
}

// Only a caller that waits for input is woken. Its wait has no limit but the caller's own reasons.
func TestWakeOnlyAWaiter(t *testing.T) {
	for state := turnReader; state <= turnWaiting; state++ {
		w := newWired(t, nil)
		s := &scripted{Conn: w.c.conn}
		w.c.conn = s
		w.reader.turn.state.Store(state)
		if w.Wake(); (len(s.readLimits) == 1) != (state == turnWaiting) {
			t.Errorf("state %d: %d interrupts", state, len(s.readLimits))
		}
		w.reader.turn.state.Store(turnReader)
		w.c.conn = s.Conn
	}
	w := newWired(t, nil)
	w.c.setLimit(past)
	w.c.done = func() bool { return false }
	if _, err := w.peer.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if err := w.reader.awaitInput(w.c); err != nil || w.c.input.w-w.c.input.r != 1 {
		t.Errorf("%d bytes, %v", w.c.input.w-w.c.input.r, err)
	}
	w.c.done = nil
}

// A short frame after a long one, and then more bytes: the next long one has probably arrived.
func TestShortFrameBehindALongOne(t *testing.T) {
	for _, tt := range []struct{ readAhead, behind int }{{aheadBehind, 10}, {aheadBehind, 0}, {inputSize, 10}} {
		w := newWired(t, nil)
		w.peerSends(t, w.frame(0, KindNone, toyLast, 0, 0, 0), make([]byte, tt.behind))
		w.c.input.readAhead = tt.readAhead
		if err := w.reader.readFrame(w.c); err != nil {
			t.Fatal(err)
		}
		if want := tt.readAhead < inputSize && tt.behind > 0; w.c.noWait != want || w.sender.corked != want {
			t.Errorf("%d bytes read ahead, %d after the frame: expects more %v", tt.readAhead, tt.behind, w.c.noWait)
		}
		w.c.noWait = false
		w.reader.flush(w.c)
	}
}

// Payload of a stream that is not plain TCP counts as staged.
func TestStreamIsStaged(t *testing.T) {
	w := newWired(t, nil)
	w.receive(t, 8192)
	w.c.tcp, w.c.raw = nil, nil
	if _, err := w.peer.Write(w.frame(4000, KindSend, toyLast, 0, 0, 0)); err != nil {
		t.Fatal(err)
	}
	if err := w.reader.readFrame(w.c); err != nil {
		t.Fatal(err)
	}
	if s := w.dev.Stats(); s.ReceivedDirect != 0 || s.ReceivedStaged != 4000 {
		t.Errorf("%+v", s)
	}
}

// A read into a target keeps no reference to it.
func TestReadKeepsNoTarget(t *testing.T) {
	w := newWired(t, nil)
	w.c.input.giveBack()
	if _, err := w.peer.Write([]byte("1234")); err != nil {
		t.Fatal(err)
	}
	if n, err := w.c.read(make([]byte, 2), 10, true); n < 1 || err != nil || keepsTarget(w.c) {
		t.Errorf("%d bytes, %v, a target is kept: %v", n, err, keepsTarget(w.c))
	}
}

// A region is free when the read into it fails, and while the read waits for the peer.
func TestRegionDuringARead(t *testing.T) {
	for _, waits := range []bool{false, true} {
		w := newWired(t, nil)
		w.receive(t, 8192)
		if _, err := w.peer.Write(w.frame(4000, KindSend, toyLast, 0, 0, 0)[:2000]); err != nil {
			t.Fatal(err)
		}
		if !waits {
			w.peer.Close()
		}
		read := make(chan error, 1)
		go func() { read <- w.reader.readFrame(w.c) }()
		if !waits {
			if err := <-read; err != io.ErrUnexpectedEOF || w.ioCount != 0 {
				t.Errorf("%v, %d in progress", err, w.ioCount)
			}
		}
		for waits && !w.c.placing.Load() {
			time.Sleep(10 * time.Microsecond)
		}
		invalidated := make(chan struct{})
		go func() {
			if err := w.mr.Invalidate(); err != nil {
				t.Error(err)
			}
			close(invalidated)
		}()
		returns(t, "Invalidate", invalidated)
		if waits {
			if err := <-read; !errors.Is(err, verbs.ErrConnectionBroken) {
				t.Errorf("the read after it: %v", err)
			}
		}
	}
}
