package stream

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// peerSends writes frames of the peer and waits until they have arrived.
func (w *wired) peerSends(t *testing.T, frames ...[]byte) {
	t.Helper()
	all := bytes.Join(frames, nil)
	if _, err := w.peer.Write(all); err != nil {
		t.Fatal(err)
	}
	if _, err := w.c.need(min(len(all), inputSize)); err != nil {
		t.Fatal(err)
	}
}

// Every frame counts as an arrival and is counted by the way of its payload. After a long frame
// few bytes are read ahead, and more again with each short one.
func TestFramesArrive(t *testing.T) {
	w := newWired(t, nil)
	for range 4 {
		w.receive(t, 8192)
	}
	next := func(what string, f []byte, readAhead int) {
		t.Helper()
		w.sender.heard, w.sender.posts, w.sender.inlineWrites = false, 3, 1
		if _, err := w.peer.Write(f); err != nil {
			t.Fatal(err)
		}
		if err := w.reader.readFrame(w.c); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if !w.sender.heard || w.sender.posts != 0 || w.sender.inlineWrites != 0 || !w.sender.streaming {
			t.Errorf("%s is not noted as an arrival: heard %v, %d posts", what, w.sender.heard, w.sender.posts)
		}
		if w.c.input.readAhead != readAhead {
			t.Errorf("%s: %d bytes are read ahead next, want %d", what, w.c.input.readAhead, readAhead)
		}
		w.c.noWait = false
	}
	next("a short frame", w.frame(100, KindSend, toyLast, 0, 0, 0), inputSize)
	next("a long frame", w.frame(3000, KindSend, 0, 0, 0, 0), padding+trailerSize+toyHeader)
	next("the last of a message", w.frame(4000, KindSend, toyLast, 0, 3000, 0), aheadBehind)
	next("a short frame after it", w.frame(100, KindSend, toyLast, 0, 0, 0), 2*aheadBehind)
	s := w.dev.Stats()
	if s.ReceivedStaged < 200 || s.ReceivedStaged+s.ReceivedDirect != 7200 || s.ReceivedDirect == 0 {
		t.Errorf("%+v, want 7200 bytes, at least 200 staged", s)
	}
	for _, p := range w.reader.in.pieces[:cap(w.reader.in.pieces)] {
		if p != nil {
			t.Error("the reader keeps the memory of a target")
		}
	}
	if w.ioCount != 0 || w.c.placing.Load() {
		t.Errorf("%d in progress, placing %v", w.ioCount, w.c.placing.Load())
	}
}

// The read-ahead grows with short frames, and to its largest size when they come faster than they
// are read.
func TestLookAhead(t *testing.T) {
	for _, tt := range []struct {
		was          int
		filled, wait bool
		want         int
	}{
		{31, true, true, aheadBehind}, {aheadBehind, false, true, 2 * aheadBehind}, {inputSize - 1, true, true, inputSize},
		{inputSize, false, true, inputSize}, {inputSize, true, true, longInput}, {longInput, false, true, longInput},
	} {
		w := newWired(t, nil)
		w.c.input.readAhead, w.c.input.filled = tt.was, tt.filled
		if w.c.lookAhead(); w.c.input.readAhead != tt.want {
			t.Errorf("%d bytes, filled %v: then %d, want %d", tt.was, tt.filled, w.c.input.readAhead, tt.want)
		}
		if w.c.raw = nil; tt.was >= inputSize {
			w.c.input.readAhead = tt.was
			if w.c.lookAhead(); w.c.input.readAhead != tt.was {
				t.Errorf("%d bytes, of another stream: then %d", tt.was, w.c.input.readAhead)
			}
		}
	}
}

// Bytes that were read ahead move to a longer buffer when more are to be read ahead. Whether a read
// has got all that it could is recorded.
func TestNeedMovesBytes(t *testing.T) {
	w := newWired(t, nil)
	many := make([]byte, 40<<10)
	for i := range many {
		many[i] = byte(i * 3)
	}
	go w.peer.Write(many)
	if b, err := w.c.need(100); err != nil || !bytes.Equal(b, many[:100]) {
		t.Fatal(err)
	}
	w.c.input.skip(50)
	w.c.input.next = 9
	w.c.input.readAhead = longInput
	b, err := w.c.need(30 << 10)
	if err != nil || !bytes.Equal(b, many[50:50+30<<10]) || len(w.c.input.buf) != longInput {
		t.Errorf("%v: other bytes, or a buffer of %d bytes", err, len(w.c.input.buf))
	}
	if w.c.input.skip(1); w.c.input.next != 0 {
		t.Error("the size of a frame is kept for the next one")
	}
	w.c.input.giveBack()
	if w.c.input.buf != nil || w.c.input.r+w.c.input.w != 0 {
		t.Error("a returned buffer is kept")
	}

	for _, n := range []int{HandshakeInput, HandshakeInput - 1} {
		s := &scripted{reads: []int{n}}
		c := &Conn{dev: w.dev, conn: s, input: inputBuffer{buf: make([]byte, HandshakeInput), readAhead: HandshakeInput}}
		if _, err := c.need(1); err != nil || c.input.filled != (n == HandshakeInput) {
			t.Errorf("%d bytes of %d: filled %v, %v", n, HandshakeInput, c.input.filled, err)
		}
	}
}

// A connection without input has no buffer. A read that must not wait returns errIdle if no bytes
// have arrived.
func TestIdleHasNoBuffer(t *testing.T) {
	w := newWired(t, nil)
	w.c.input.giveBack()
	w.c.noWait = true
	if _, err := w.c.need(1); err != errIdle || w.c.input.buf != nil || keepsTarget(w.c) {
		t.Errorf("%v, a buffer of %d bytes", err, len(w.c.input.buf))
	}
	w.peer.Close()
	for err := errIdle; err == errIdle; {
		if _, err = w.c.need(1); err != errIdle && err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	}
}

// The reader holds back at most corkFrames frames, and nothing when it waits for input.
func TestCorkIsLimited(t *testing.T) {
	for _, tt := range []struct {
		what     string
		cork     int
		buffered bool // a further frame is at hand
		noWait   bool
		want     int // frames held back afterwards
	}{
		{"one less, and input is at hand", corkFrames - 1, true, false, corkFrames},
		{"as many, and input is at hand", corkFrames, true, false, 1},
		{"input is expected", 3, false, true, 4},
		{"no input", 3, false, false, 0},
		{"nothing is held back", 0, false, false, 0},
		{"the last at hand", 1, false, false, 2},
	} {
		w := newWired(t, nil)
		f := w.frame(0, KindNone, toyLast, 0, 0, 0)
		w.c.noWait = tt.noWait
		w.sender.held, w.sender.corked = tt.cork, tt.cork > 0
		switch {
		case tt.buffered:
			w.peerSends(t, f, f)
		case tt.noWait, tt.want == 2:
			w.peerSends(t, f)
		default:
			if _, err := w.peer.Write(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.reader.readFrame(w.c); err != nil {
			t.Fatal(err)
		}
		if w.sender.held != tt.want || w.sender.corked != (tt.want > 0) {
			t.Errorf("%s: %d frames are held back, want %d", tt.what, w.sender.held, tt.want)
		}
		w.c.noWait = false
		w.reader.flush(w.c)
	}
}

// A long response is followed by others if Reads are outstanding, so that what it causes is held
// back. After any other long message nothing is, unless the reader holds back already.
func TestCorkAfterLongFrames(t *testing.T) {
	for _, tt := range []struct {
		reads  int
		corked bool
		want   bool
	}{{0, false, false}, {1, false, true}, {0, true, true}} {
		w := newWired(t, nil)
		w.receive(t, 8192)
		for range tt.reads {
			w.queue(t, verbs.RDMARead, 8)
			w.reads.next()
			*w.reads.at(w.reads.push()) = w.sq.tail - 1
		}
		w.sender.sqNext = w.sq.tail
		f := w.frame(4000, KindSend, toyLast, 0, 0, 0)
		w.peerSends(t, f)
		if w.sender.corked = tt.corked; tt.corked {
			w.sender.held = 1
		}
		if err := w.reader.readFrame(w.c); err != nil {
			t.Fatal(err)
		}
		if w.sender.corked != tt.want || w.c.noWait != tt.want || tt.want && w.sender.held < 1 {
			t.Errorf("%d Reads, held back before %v: held back %v, %d frames; waits %v", tt.reads, tt.corked, w.sender.corked, w.sender.held, !w.c.noWait)
		}
		if w.reader.flush(w.c); w.c.noWait || w.sender.corked {
			t.Error("flush leaves something")
		}
	}
}

// The bytes of an open message are counted, for its time limit: those after its first frame.
func TestOpenBytes(t *testing.T) {
	w := newWired(t, nil)
	w.receive(t, 8192)
	for i, want := range []int64{1000, 1000, 2000} {
		at := uint64(1000 * i)
		if _, err := w.peer.Write(w.frame(1000, KindSend, 0, 0, at, 0)); err != nil {
			t.Fatal(err)
		}
		if err := w.reader.readFrame(w.c); err != nil {
			t.Fatal(err)
		}
		if w.c.open.bytes != want {
			t.Errorf("%d bytes are counted, want %d", w.c.open.bytes, want)
		}
	}
}

// The frames of a message have room in its Receive together, not each.
func TestFramesOfAMessageHaveRoomTogether(t *testing.T) {
	for _, tt := range []struct {
		room int
		want error
	}{{2000, nil}, {1999, verbs.ErrConnectionBroken}} {
		w := newWired(t, nil)
		w.receive(t, tt.room)
		w.peerSends(t, w.frame(1000, KindSend, 0, 0, 0, 0), w.frame(1000, KindSend, toyLast, 0, 1000, 0))
		if err := w.reader.readFrame(w.c); err != nil {
			t.Fatal(err)
		}
		if err := w.reader.readFrame(w.c); !errors.Is(err, tt.want) {
			t.Errorf("room for %d bytes: %v, want %v", tt.room, err, tt.want)
		}
		w.mu.Lock()
		want := ReasonNone
		if tt.want != nil {
			want = ReasonLength
		}
		if w.last.Reason != want {
			t.Errorf("room for %d bytes: reports %d, want %d", tt.room, w.last.Reason, want)
		}
		w.mu.Unlock()
	}
}

// A side that must hear from the peer first sends the posted requests when a frame has come.
func TestFirstFrameLetsSend(t *testing.T) {
	w := newWired(t, nil)
	w.f.ready, w.sender.mayWrite = false, false
	w.queue(t, verbs.Send, 8)
	w.mu.Lock()
	if w.sender.kick(); w.sender.sqNext != 0 {
		t.Error("it sends before")
	}
	w.mu.Unlock()
	if err := w.reader.check(w.c, &Frame{Kind: KindNone}); err != nil || !w.sender.mayWrite || w.sender.sqNext != 1 {
		t.Errorf("%v: may send %v, %d sent", err, w.sender.mayWrite, w.sender.sqNext)
	}
}

// A frame without payload has no target, whatever the one before had.
func TestNoTarget(t *testing.T) {
	w := newWired(t, nil)
	old := pieces(t, w.queuePair, w.mr, 8)
	for _, f := range []*Frame{{Kind: KindNone}, {Kind: KindWrite}, {Kind: KindReport}} {
		w.reader.in.target = old
		if err := w.reader.check(w.c, f); err != nil || w.reader.in.target != nil {
			t.Errorf("%v: target %v, %v", f.Kind, w.reader.in.target, err)
		}
	}
}

// A Receive without memory borrows as much as a message of one frame has, and its own size for a
// longer one. The message has the bytes that have come, and the next one another loan.
func TestReceivesBorrowWhatTheMessageNeeds(t *testing.T) {
	w := newWired(t, func(c *Config) { c.Attrs.LendReceives = true })
	post := func(lend int) {
		t.Helper()
		if _, err := w.PostRecv([]verbs.RecvWR{{Lend: lend}}); err != nil {
			t.Fatal(err)
		}
	}
	accept := func(f *Frame) {
		t.Helper()
		w.mu.Lock()
		defer w.mu.Unlock()
		if err := w.reader.acceptSend(f); err != nil {
			t.Fatal(err)
		}
	}
	finish := func(f *Frame) *message {
		t.Helper()
		w.mu.Lock()
		defer w.mu.Unlock()
		if err := w.reader.deliver(w.c, f); err != nil {
			t.Fatal(err)
		}
		return w.messages.at(w.reader.in.recv)
	}
	post(1000)
	post(1000)
	w.receive(t, 100)
	w.resp.next() // no message completes before this response
	w.resp.push()
	w.c.framer = &blaming{}

	short := &Frame{Kind: KindSend, Begin: true, End: true, Payload: 10}
	if accept(short); w.reader.in.lend != 10 || len(w.reader.in.lent(short)) != 10 {
		t.Errorf("a message of 10 bytes borrows %d", w.reader.in.lend)
	}
	loan := w.reader.in.loan
	if m := finish(short); m.wc.Loan != loan || len(loan.Bytes()) != 10 || w.reader.in.loan != nil {
		t.Error("its loan is not handed over")
	}
	long := &Frame{Kind: KindSend, Begin: true, Payload: 10}
	if accept(long); w.reader.in.lend != 1000 || w.reader.in.lent(&Frame{Kind: KindSend}) != nil || w.reader.in.loan != nil {
		t.Errorf("a longer message borrows %d, or memory for no bytes", w.reader.in.lend)
	}
	if n := len(w.reader.in.lent(&Frame{Kind: KindSend, Payload: 1, Offset: 10})); n != 990 || w.reader.in.lent(&Frame{Kind: KindWrite, Payload: 1}) != nil {
		t.Errorf("the rest of the loan has %d bytes, or a Write is lent something", n)
	}
	loan = w.reader.in.loan
	if m := finish(long); m.wc.Loan != loan || len(loan.Bytes()) != 10 || m.barrier != 1 {
		t.Errorf("a message of 10 bytes has %d, barrier %d", len(loan.Bytes()), m.barrier)
	}
	w.reader.in.loan = loan
	if accept(short); w.reader.in.loan != nil || w.reader.in.lend != 0 || w.reader.in.lent(short) != nil {
		t.Error("a Receive with memory borrows some")
	}
	w.resp = ring[Response]{}
}

// A Send that must not overtake Reads completes after the response to the last Read.
func TestSendCompletesAfterEarlierReads(t *testing.T) {
	w := newWired(t, nil)
	w.c.framer = &blaming{}
	w.receive(t, 8)
	for range 3 {
		w.respond(t, 8)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.reader.acceptSend(&Frame{Kind: KindSend, Begin: true, End: true}); err != nil {
		t.Fatal(err)
	}
	if err := w.reader.deliver(w.c, &Frame{Kind: KindSend, End: true}); err != nil {
		t.Fatal(err)
	}
	if m := w.messages.at(0); m.barrier != 3 || w.rq.len() != 1 {
		t.Errorf("barrier %d, want 3; %d Receives", m.barrier, w.rq.len())
	}
	w.resp = ring[Response]{}
}

// A Read of no bytes has no source. The response to any is sent without a further cause, and the
// end of our own Read lets a fenced request go.
func TestReadsLetSend(t *testing.T) {
	w := newWired(t, nil)
	w.reader.in.read[0] = pieces(t, w.queuePair, w.mr, 8)[0]
	w.mu.Lock()
	w.sender.corked = true
	w.reader.queueResponse(&Frame{Kind: KindReadRequest})
	if r := w.resp.at(0); r.source[0] != (soft.Element{}) || r.Total != 0 {
		t.Errorf("a Read of no bytes has the source %+v", r.source)
	}
	w.reader.queueResponse(&Frame{Kind: KindReadRequest, Length: 8})
	if w.resp.at(1).source[0] == (soft.Element{}) {
		t.Error("a Read of 8 bytes has no source")
	}
	w.sender.corked = false
	if w.reader.queueResponse(&Frame{Kind: KindReadRequest}); w.sender.rspNext != 3 {
		t.Errorf("%d responses are sent, want 3", w.sender.rspNext)
	}
	w.mu.Unlock()

	w.queue(t, verbs.RDMARead, 8)
	w.queue(t, verbs.Send, 8)
	w.mu.Lock()
	defer w.mu.UnlockNotify()
	w.sq.at(1).Flags |= verbs.SendFence
	w.sender.inlineWrites = 0
	if w.sender.kick(); w.sender.sqNext != 1 {
		t.Fatalf("%d requests are sent, want the Read", w.sender.sqNext)
	}
	w.sender.inlineWrites = 0
	if w.reader.readDone(); w.sender.sqNext != 2 || w.reads.len() != 0 || w.sq.len() != 0 {
		t.Errorf("%d requests are sent after the Read", w.sender.sqNext)
	}
}

// A wait looks again whenever it is woken, and gives up when its time is over or the connection
// closes. The reader first releases all that it has held back: the wait may be for that.
func TestAwaitEndsWithTheTimeOrTheConnection(t *testing.T) {
	w := newWired(t, nil)
	w.queue(t, verbs.Send, 8)
	w.mu.Lock()
	w.sender.cork(0)
	if w.reader.await(func() bool { return false }, time.Millisecond) || w.sender.corked || w.sender.held != 0 || w.sender.sqNext != 1 {
		t.Errorf("held back %v, %d sent", w.sender.corked, w.sender.sqNext)
	}
	if w.sender.cork(0); !w.reader.await(func() bool { return true }, 0) || !w.sender.corked {
		t.Error("a wait that is over uncorks")
	}
	looks := 0
	for len(w.woken) > 0 {
		<-w.woken
	}
	w.wake()
	if !w.reader.await(func() bool {
		looks++
		w.wake()
		return looks == 5
	}, time.Hour) || looks != 5 {
		t.Errorf("%d looks", looks)
	}
	looks = 0
	ended := make(chan struct{})
	go func() {
		w.mu.Lock()
		w.end(verbs.ErrDisconnected, Report{})
		w.mu.UnlockNotify()
		close(ended)
	}()
	if w.reader.await(func() bool { return w.ending }, time.Hour) {
		t.Error("a wait succeeds at the end")
	}
	w.mu.UnlockNotify()
	returns(t, "the end", ended)
}

// A Receive that is posted wakes the reader, which may wait for it.
func TestReceiveWakes(t *testing.T) {
	w := newWired(t, nil)
	if w.PostRecv(nil); len(w.woken) != 0 {
		t.Error("no Receive wakes it")
	}
	if w.receive(t, 8); len(w.woken) != 1 {
		t.Error("a Receive does not wake it")
	}
}

// A target that is gone breaks the connection with nothing in progress. At the end of the
// connection it is not the reason.
func TestPinTarget(t *testing.T) {
	for _, ending := range []bool{false, true} {
		w := newWired(t, nil)
		w.reader.in.target = pieces(t, w.queuePair, w.mr, 8)
		if err := w.mr.Invalidate(); err != nil {
			t.Fatal(err)
		}
		f := &Frame{Kind: KindWrite, Payload: 8}
		want := verbs.ErrConnectionBroken
		if ending {
			w.mu.Lock()
			w.end(verbs.ErrDisconnected, Report{})
			w.mu.UnlockNotify()
			want = errClosing
		}
		if err := w.reader.pinTarget(w.c, f, 0); !errors.Is(err, want) || w.ioCount != 0 || w.c.placing.Load() || w.State() != verbs.StateError {
			t.Errorf("ending %v: %v, %d in progress, placing %v, state %v", ending, err, w.ioCount, w.c.placing.Load(), w.State())
		}
	}
	w := newWired(t, nil)
	w.mu.Lock()
	w.ending = true
	if err := w.reader.targetGone(&Frame{Kind: KindWrite}); err != errClosing {
		t.Error(err)
	}
	w.ending = false
	w.mu.Unlock()
}

// Reads that are interrupted go on unless they hold memory, and those after them are not disturbed.
func TestInterruptedRead(t *testing.T) {
	for _, holding := range []bool{false, true} {
		w := newWired(t, nil)
		w.c.placing.Store(true)
		w.c.interrupt()
		read := func(holding bool) error {
			_, err := w.c.read(make([]byte, 1), 0, holding)
			return err
		}
		if _, err := w.peer.Write([]byte("12")); err != nil {
			t.Fatal(err)
		}
		if err := read(holding); holding != (err == errInterrupted) || !holding && err != nil {
			t.Errorf("holding %v: %v", holding, err)
		}
		if err := read(true); err != nil {
			t.Errorf("the read after it: %v", err)
		}
	}
}

// A read that is interrupted in a later element of its target continues at the same byte.
func TestInterruptInTheSecondElement(t *testing.T) {
	w := newWired(t, nil)
	if _, err := w.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: w.mr, Length: 100}, {MR: w.mr, Offset: 1000, Length: 3900}}}}); err != nil {
		t.Fatal(err)
	}
	f := w.frame(4000, KindSend, toyLast, 0, 0, 0)
	w.peerSends(t, f[:1500])
	w.c.interruptRead.Store(true)
	if _, err := w.peer.Write(f[1500:]); err != nil {
		t.Fatal(err)
	}
	if err := w.reader.readFrame(w.c); err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte{0xab}, 3900)
	if got := w.mr.Bytes(); !bytes.Equal(got[:100], want[:100]) || !bytes.Equal(got[1000:4900], want) || w.c.interruptRead.Load() {
		t.Errorf("the target has other bytes, or the reader is still interrupted: %v", w.c.interruptRead.Load())
	}
}

// Payload of a stream that is not plain TCP counts as staged: TLS has copied it.
func TestPayloadOfOtherStreamsIsStaged(t *testing.T) {
	w := newWired(t, nil)
	w.c.tcp, w.c.raw = nil, nil
	w.receive(t, 8192)
	if _, err := w.peer.Write(w.frame(4000, KindSend, toyLast, 0, 0, 0)); err != nil {
		t.Fatal(err)
	}
	w.c.input.readAhead = toyHeader
	if err := w.reader.readFrame(w.c); err != nil {
		t.Fatal(err)
	}
	if s := w.dev.Stats(); s.ReceivedStaged != 4000 || s.ReceivedDirect != 0 {
		t.Errorf("%d bytes are staged and %d direct, want 4000 and 0", s.ReceivedStaged, s.ReceivedDirect)
	}
}

// A read returns at its limit, and when the connection closes.
func TestReadsEnd(t *testing.T) {
	w := newWired(t, nil)
	w.c.setLimit(past)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := w.c.need(1); err != errSlow {
			t.Errorf("a limit that has passed: %v", err)
		}
	}()
	returns(t, "a read with a limit that has passed", done)
	w.c.setLimit(time.Time{})
	w.c.stop()
	if _, err := w.c.need(1); err != errClosing {
		t.Errorf("the end: %v", err)
	}
}

// The reader calls done of a caller no more after it has left, and finds none of its state.
func TestProgressLeavesNothing(t *testing.T) {
	w := newWired(t, nil)
	w.reader.turn.state.Store(turnFree)
	w.receive(t, 8)
	w.receive(t, 8)
	w.peerSends(t, w.frame(8, KindSend, toyLast, 0, 0, 0))
	w.Progress(func() bool { return w.c.input.w == w.c.input.r })
	if w.c.done != nil || w.c.atHand || w.reader.turn.takes.Load() != 1 || w.reader.turn.state.Load() != turnFree || w.rq.len() != 1 {
		t.Errorf("done %v, at hand %v, %d takes, state %d", w.c.done != nil, w.c.atHand, w.reader.turn.takes.Load(), w.reader.turn.state.Load())
	}
}
