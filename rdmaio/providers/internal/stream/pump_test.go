package stream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A single request is sent by the goroutine that posts. One in a stream of requests, and a second
// one before anything has arrived, is left to the writer. Nothing is sent while the reader holds it
// back, or while this side may not send.
func TestWhoSends(t *testing.T) {
	const none, poster, writer = "no goroutine", "the poster", "the writer"
	for _, tt := range []struct {
		what string
		set  func(*queuePair)
		want string
	}{
		{"a single request", func(*queuePair) {}, poster},
		{"a second one", func(q *queuePair) { q.sender.inlineWrites = 1 }, writer},
		{"a stream", func(q *queuePair) { q.sender.streaming = true }, writer},
		{"held back", func(q *queuePair) { q.sender.corked = true }, none},
		{"another has the token", func(q *queuePair) { q.sender.sending = true }, none},
		{"the end", func(q *queuePair) { q.ending = true }, none},
		{"a pause", func(q *queuePair) { q.sender.paused = true }, none},
		{"before the peer", func(q *queuePair) { q.sender.mayWrite = false }, none},
	} {
		w := newWired(t, nil)
		w.queue(t, verbs.Send, 8)
		w.mu.Lock()
		tt.set(w.queuePair)
		before := w.sender.inlineWrites
		w.sender.kick()
		got := none
		switch {
		case w.sender.writing:
			got = writer
		case w.sender.sqNext == 1:
			got = poster
		}
		if wrote := w.sender.inlineWrites > before; got != tt.want || wrote != (got == poster) || w.sender.sending != (got == writer || tt.what == "another has the token") {
			t.Errorf("%s: %s sends, want %s; %d inline writes, token taken: %v", tt.what, got, tt.want, w.sender.inlineWrites, w.sender.sending)
		}
		w.ending = false
		w.mu.UnlockNotify()
	}
}

// What the reader has held back is sent at once, also of a stream, and nothing is held back then.
func TestUncorkSendsWhatWasHeldBack(t *testing.T) {
	w := newWired(t, nil)
	w.queue(t, verbs.Send, 8)
	w.mu.Lock()
	w.sender.streaming = true
	w.sender.cork(3 * corkShare)
	if !w.sender.corked || w.sender.held != 4 {
		t.Errorf("a long message: held back %v, counted as %d frames, want 4", w.sender.corked, w.sender.held)
	}
	if w.sender.cork(0); w.sender.held != 5 {
		t.Errorf("and a short one: counted as %d frames, want 5", w.sender.held)
	}
	if w.sender.kick(); w.sender.sqNext != 0 {
		t.Error("a request is sent although it is held back")
	}
	w.sender.uncork()
	if w.sender.corked || w.sender.held != 0 || w.sender.sqNext != 1 || w.sender.writing {
		t.Errorf("held back %v, %d frames; %d sent, writer started: %v", w.sender.corked, w.sender.held, w.sender.sqNext, w.sender.writing)
	}
	w.mu.UnlockNotify()
}

// A poster writes inlineRounds batches, as long as the socket takes them. The rest is left to the
// writer.
func TestPosterWritesAFewBatches(t *testing.T) {
	if !canTry {
		t.Skip("this system has no write that does not wait")
	}
	w := newWired(t, func(c *Config) { c.Framing.(*toy).most = 1 })
	const batches = inlineRounds + 1
	w.queue(t, verbs.RDMAWrite, batches*batchFrames)
	received := make(chan struct{})
	go func() {
		defer close(received)
		io.Copy(io.Discard, w.peer)
	}()
	w.mu.Lock()
	w.takeToken()
	for range 1000 { // until the socket has taken each batch as a whole
		r := w.sq.at(0)
		r.Sent, w.sender.sqSent, w.sender.begun = 0, 0, false
		if w.sender.pump(w.c) {
			t.Fatal("nothing is left to the writer")
		}
		if len(w.sender.out.bufs) == 0 {
			break
		}
		w.sender.out.reset()
	}
	if w.sender.sqSent != inlineRounds*batchFrames || !w.sender.sending {
		t.Errorf("%d bytes are sent, want %d; token kept %v", w.sender.sqSent, inlineRounds*batchFrames, w.sender.sending)
	}
	w.sender.releaseToken()
	w.mu.UnlockNotify()
	w.c.conn.Close()
	returns(t, "the peer", received)
}

// While the reader has further input at hand, notifications wait. At the end they do not.
func TestNotificationsAreHeldBack(t *testing.T) {
	for _, tt := range []struct {
		corked, ending bool
		want           int
	}{{false, false, 1}, {true, false, 0}, {true, true, 1}, {false, true, 1}} {
		w := newWired(t, nil)
		notified := 0
		w.mu.Lock()
		w.sender.corked, w.ending = tt.corked, tt.ending
		w.mu.Notify(func() { notified++ })
		w.sender.unlock()
		if notified != tt.want {
			t.Errorf("held back %v, ending %v: %d notifications, want %d", tt.corked, tt.ending, notified, tt.want)
		}
		w.mu.Lock()
		w.sender.corked, w.ending = false, false
		w.sender.unlock()
		if notified != 1 {
			t.Errorf("held back %v, ending %v: then %d notifications, want 1", tt.corked, tt.ending, notified)
		}
	}
}

// A caller is streaming if it has posted twice before the last arrival. An arrival without posts
// before it does not change the state.
func TestArrivalEndsStreaming(t *testing.T) {
	for _, tt := range []struct {
		posts     int
		was, want bool
	}{{0, false, false}, {0, true, true}, {1, true, false}, {1, false, false}, {2, false, true}, {3, true, true}} {
		s := sender{posts: tt.posts, streaming: tt.was, inlineWrites: 2}
		s.noteArrival()
		if s.streaming != tt.want || s.posts != 0 || s.inlineWrites != 0 || !s.heard {
			t.Errorf("%d posts, streaming before: %v: %v, %d posts, %d writes, heard %v", tt.posts, tt.was, s.streaming, s.posts, s.inlineWrites, s.heard)
		}
	}
}

// Every post counts once, whatever it contains, and one without a request does not.
func TestPostsAreCounted(t *testing.T) {
	w := newWired(t, nil)
	one := verbs.SendWR{Opcode: verbs.Send}
	for i, tt := range []struct {
		wrs  []verbs.SendWR
		want int
	}{{[]verbs.SendWR{one}, 1}, {[]verbs.SendWR{one, one}, 2}, {nil, 2}, {[]verbs.SendWR{{Opcode: 99}}, 2}} {
		w.PostSend(tt.wrs)
		if w.sender.posts != tt.want {
			t.Errorf("post %d: %d are counted, want %d", i, w.sender.posts, tt.want)
		}
	}
}

// There is something to send if there is a request, a response or a nudge, this side may send, and
// no pause is on.
func TestReadyToSend(t *testing.T) {
	for i := range 32 {
		q := new(queues)
		s := sender{q: q, mayWrite: i&1 != 0, paused: i&2 != 0, nudgeDue: i&4 != 0}
		if i&8 != 0 {
			q.sq.next()
			q.sq.push()
		}
		if i&16 != 0 {
			q.resp.next()
			q.resp.push()
		}
		if want := i&3 == 1 && i > 3; s.ready() != want {
			t.Errorf("may send %v, paused %v, nudge %v, requests %d, responses %d: ready is %v", s.mayWrite, s.paused, s.nudgeDue, q.sq.len(), q.resp.len(), !want)
		}
	}
}

// When a sender releases the token, it wakes the reader, which may wait for that, and returns the
// batch empty. At the end of the connection the reader needs the batch.
func TestTokenIsReleased(t *testing.T) {
	for _, ending := range []bool{false, true} {
		q := &queues{woken: make(chan struct{}, 1), ending: ending}
		s := sender{q: q, sending: true}
		b := batches.Get().(*batch)
		b.arena, b.frames, b.direct, b.requests = append(b.arena, 1), make([]part, 1), 1, 7
		s.out = b
		s.releaseToken()
		if s.sending || len(q.woken) != 1 {
			t.Errorf("ending %v: token taken %v, %d signals", ending, s.sending, len(q.woken))
		}
		if ending && (s.out != b || len(b.frames) != 1) {
			t.Error("the batch of a connection that ends is gone")
		}
		if !ending && (s.out != nil || len(b.frames) != 0 || b.direct != 0 || b.requests != 0) {
			t.Errorf("the batch given back has %d frames", len(b.frames))
		}
	}
}

// A write that fails breaks the connection and leaves nothing in progress, and no frame may follow:
// it may have been written in part.
func TestFailedWrite(t *testing.T) {
	for _, by := range []string{"the poster", "the writer"} {
		w := newWired(t, nil)
		w.queue(t, verbs.Send, 8)
		w.c.conn.Close()
		w.mu.Lock()
		if by == "the poster" {
			w.sender.push(true)
		} else {
			w.takeToken()
			if w.sender.write(w.c) {
				t.Error("a write that fails is continued")
			}
			w.sender.releaseToken()
		}
		if !w.ending || w.sender.sending || w.ioCount != 0 || w.State() != verbs.StateError || !w.c.truncated || w.c.sending.Load() {
			t.Errorf("%s: ending %v, token taken %v, %d in progress, state %v, truncated %v", by, w.ending, w.sender.sending, w.ioCount, w.State(), w.c.truncated)
		}
		w.mu.UnlockNotify()
		if err := w.Err(); !errors.Is(err, verbs.ErrConnectionBroken) || !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: %v", by, err)
		}
	}
}

// A socket that takes a part gets the rest from the writer, once, in the same bytes.
func TestRestOfABatch(t *testing.T) {
	if !canTry {
		t.Skip("this system has no write that does not wait")
	}
	w := newWired(t, nil)
	w.queue(t, verbs.Send, 900)
	w.mu.Lock()
	w.takeToken()
	w.sender.fill(w.c, true)
	w.sender.out.seal(toySum)
	want := bytes.Clone(w.sender.out.bufs[0])
	if n, err := w.c.try(w.sender.out.bufs[0][:100]); n != 100 || err != nil || keepsBytes(w.c) {
		t.Fatalf("%d bytes, %v, memory kept: %v", n, err, keepsBytes(w.c))
	}
	w.sender.out.advance(100)
	if !w.sender.write(w.c) || w.sender.sqNext != 1 || w.sq.len() != 0 || w.ioCount != 0 {
		t.Errorf("%d requests are not completed, %d in progress", w.sq.len(), w.ioCount)
	}
	if w.sender.write(w.c) || w.ending {
		t.Error("there is more to write")
	}
	w.sender.releaseToken()
	w.mu.UnlockNotify()
	w.c.conn.Close()
	if got, err := io.ReadAll(w.peer); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the peer has %d bytes, want %d; %v", len(got), len(want), err)
	}
}

// A full socket leaves the batch to the writer. A poster then has nothing in progress.
func TestFullSocket(t *testing.T) {
	w := newWired(t, nil)
	w.c.tcp.SetWriteBuffer(4 << 10)
	w.peer.(*net.TCPConn).SetReadBuffer(4 << 10)
	junk := make([]byte, 64<<10)
	fill := func() {
		for n := 1; n > 0; {
			var err error
			if n, err = w.c.try(junk); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill()
	w.queue(t, verbs.Send, 900)
	w.mu.Lock()
	w.takeToken()
	for rounds := 0; rounds < 1000 && w.sender.pump(w.c); rounds++ { // the system has found room
		w.mu.Unlock()
		fill()
		w.queue(t, verbs.Send, 900)
		w.mu.Lock()
		w.takeToken()
	}
	if w.ioCount != 0 || !w.sender.sending || w.ending || len(w.sender.out.bufs) == 0 {
		t.Errorf("token kept %v, %d in progress, ending %v", w.sender.sending, w.ioCount, w.ending)
	}
	w.sender.releaseToken()
	w.mu.Unlock()
}

// A batch that was written completes its Sends and Writes, in order; Reads wait for their
// responses. Responses that were written let Receives complete that had to wait, and wake the
// reader.
func TestWrittenBatchCompletesInOrder(t *testing.T) {
	w := newWired(t, nil)
	for _, op := range []verbs.Opcode{verbs.Send, verbs.RDMARead, verbs.RDMAWrite, verbs.Send} {
		w.queue(t, op, 8)
	}
	for range 3 {
		w.respond(t, 8)
	}
	w.receive(t, 8)
	w.mu.Lock()
	*w.messages.next() = message{done: true, barrier: 2}
	w.messages.push()
	for len(w.woken) > 0 {
		<-w.woken
	}
	w.sender.out = &batch{requests: 3, responses: 2, direct: 70, staged: 9}
	w.sender.sqNext, w.sender.rspNext = 3, 2
	w.sender.sent()
	var done []bool
	for i := w.sq.head; i < w.sq.tail; i++ {
		done = append(done, w.sq.at(i).done)
	}
	if !slices.Equal(done, []bool{false, true, false}) || w.sq.head != 1 {
		t.Errorf("requests done: %v, from number %d on", done, w.sq.head)
	}
	if w.resp.len() != 1 || w.messages.len() != 0 || w.rq.len() != 0 || len(w.woken) != 1 {
		t.Errorf("%d responses, %d messages, %d Receives, %d signals", w.resp.len(), w.messages.len(), w.rq.len(), len(w.woken))
	}
	w.sender.out, w.sq.head, w.sender.sqNext = nil, w.sq.tail, w.sq.tail
	w.SendUsed.Store(0)
	w.resp, w.sender.rspNext = ring[Response]{}, 0
	w.mu.UnlockNotify()
	if s := w.dev.Stats(); s.SentDirect != 70 || s.SentStaged != 9 {
		t.Errorf("%+v", s)
	}
}

// A peer that takes no data is said to be slow.
func TestWriteTooSlow(t *testing.T) {
	for err, want := range map[error]error{errSlow: verbs.StatusError{Status: verbs.StatusRetryExceeded}, io.ErrShortWrite: io.ErrShortWrite} {
		q, _ := loneQP(t)
		q.mu.Lock()
		q.sender.writeFailed(err)
		q.mu.UnlockNotify()
		if !errors.Is(q.Err(), want) || errors.Is(q.Err(), verbs.StatusError{Status: verbs.StatusRetryExceeded}) != (err == errSlow) {
			t.Errorf("%v: %v", err, q.Err())
		}
	}
}

// A Write or response with direct payload is the writer's. It says that it sends as long as it may
// hold memory, unpins all of it, and sends each byte once.
func TestDirectPayload(t *testing.T) {
	for _, responds := range []bool{false, true} {
		w := newWired(t, nil)
		if responds {
			w.respond(t, 4096)
		} else {
			w.queue(t, verbs.RDMAWrite, 4096)
		}
		w.mu.Lock()
		w.takeToken()
		if w.sender.pump(w.c) || !w.sender.sending {
			t.Error("a poster sends direct payload")
		}
		if !w.sender.write(w.c) || len(w.sender.out.pins) != 0 || w.c.sending.Load() || w.ioCount != 0 {
			t.Errorf("%d regions pinned, sends %v, %d in progress", len(w.sender.out.pins), w.c.sending.Load(), w.ioCount)
		}
		w.sender.releaseToken()
		w.mu.UnlockNotify()
		b := make([]byte, toyHeader+4096+trailerSize)
		if _, err := io.ReadFull(w.peer, b); err != nil || !bytes.Equal(b[toyHeader:toyHeader+4096], w.mr.Bytes()[:4096]) {
			t.Errorf("responds %v: other bytes, %v", responds, err)
		}
	}
}

// A write that waits for the peer does not keep a region from being invalidated: the rest is sent
// from a copy.
func TestInvalidateDuringWrite(t *testing.T) {
	w := newWired(t, nil)
	w.c.tcp.SetWriteBuffer(4 << 10) // a batch is longer than both buffers
	w.peer.(*net.TCPConn).SetReadBuffer(32 << 10)
	const requests, each = 16, 1 << 16
	for range requests {
		w.queue(t, verbs.RDMAWrite, each)
	}
	want := bytes.Clone(w.mr.Bytes())
	w.mu.Lock()
	w.takeToken()
	wrote := make(chan bool)
	go func() {
		w.mu.Lock()
		ok := w.sender.write(w.c)
		w.sender.releaseToken()
		w.mu.UnlockNotify()
		wrote <- ok
	}()
	for w.ioCount == 0 { // the batch is filled
		w.mu.Unlock()
		w.mu.Lock()
	}
	whole := w.sender.out.requests
	if !w.c.sending.Load() {
		t.Error("the writer does not say that it sends")
	}
	w.mu.Unlock()
	invalidated := make(chan struct{})
	go func() {
		if err := w.mr.Invalidate(); err != nil {
			t.Error(err)
		}
		close(invalidated)
	}()
	returns(t, "Invalidate", invalidated)
	clear(w.mr.Bytes())
	frames := int(batchBytes) / 4096
	for i := range frames {
		b := make([]byte, toyHeader+4096+trailerSize)
		if _, err := io.ReadFull(w.peer, b); err != nil {
			t.Fatal(err)
		}
		at := i * 4096 % each
		if !bytes.Equal(b[toyHeader:toyHeader+4096], want[at:at+4096]) {
			t.Fatalf("frame %d has other bytes", i)
		}
	}
	if !<-wrote || whole != uint64(batchBytes/each) {
		t.Errorf("the write has failed, or a batch has %d requests", whole)
	}
}
