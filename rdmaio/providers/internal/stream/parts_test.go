package stream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// blaming is a Framer whose peer reports that requests to a key have caused the end. Writes and
// Sends wait for every Read.
type blaming struct {
	toyFramer
	key uint32
}

func (b *blaming) Ended(*Frame) (*PeerReport, error) {
	return &PeerReport{Status: verbs.StatusRemoteAccess, What: "no", Caused: func(r *Request) bool { return r.RKey == b.key }}, nil
}

func (b *blaming) Waits(*Frame, *Response) bool { return true }

// statuses polls the completions of a queue pair and returns their statuses.
func statuses(t *testing.T, q *queuePair) (list []verbs.Status) {
	t.Helper()
	wcs := make([]verbs.WC, 8)
	n, err := q.SendCQ.Poll(wcs)
	if err != nil {
		t.Fatal(err)
	}
	for _, wc := range wcs[:n] {
		list = append(list, wc.Status)
	}
	return list
}

// The peer's report fails the first request that was sent, is not done, and has caused it: no
// LocalInvalidate, and no request that was not sent. All others are flushed, or have succeeded.
func TestReportBlamesOneRequest(t *testing.T) {
	const ok, flushed, access = verbs.StatusSuccess, verbs.StatusFlushed, verbs.StatusRemoteAccess
	type request struct {
		op   verbs.Opcode
		key  uint32
		done bool
	}
	for _, tt := range []struct {
		what     string
		requests []request
		sent     uint64
		want     []verbs.Status
	}{
		{"the second", []request{{verbs.RDMAWrite, 1, false}, {verbs.RDMAWrite, 7, false}, {verbs.RDMAWrite, 1, false}}, 3, []verbs.Status{flushed, access, flushed}},
		{"the first of two", []request{{verbs.RDMAWrite, 7, false}, {verbs.RDMAWrite, 7, false}}, 2, []verbs.Status{access, flushed}},
		{"not one that is done", []request{{verbs.RDMAWrite, 7, true}, {verbs.RDMAWrite, 7, false}}, 2, []verbs.Status{ok, access}},
		{"not one that was not sent", []request{{verbs.RDMARead, 1, false}, {verbs.RDMAWrite, 7, false}}, 1, []verbs.Status{flushed, flushed}},
		{"no LocalInvalidate", []request{{verbs.LocalInvalidate, 7, false}, {verbs.RDMAWrite, 7, false}}, 2, []verbs.Status{flushed, access}},
		{"none", []request{{verbs.RDMAWrite, 1, false}}, 1, []verbs.Status{flushed}},
	} {
		q, _ := loneQP(t)
		q.mu.Lock()
		for _, r := range tt.requests {
			*q.sq.next() = Request{Request: soft.Request{Opcode: r.op, RKey: r.key, Flags: verbs.SendSignaled}, done: r.done}
			q.sq.push()
		}
		q.sender.sqNext = tt.sent
		err := q.reader.reported(&Conn{framer: &blaming{key: 7}}, &Frame{Kind: KindReport, End: true})
		q.mu.UnlockNotify()
		if got := statuses(t, q); !slices.Equal(got, tt.want) || !errors.Is(err, verbs.ErrConnectionBroken) {
			t.Errorf("%s: %v, want %v; %v", tt.what, got, tt.want, err)
		}
	}
}

// A region is invalidated while it is the target of a message: the status of the Receive, or of
// the Read, says so. The peer gets another reason.
func TestTargetGone(t *testing.T) {
	q, _ := loneQP(t)
	q.mu.Lock()
	q.rq.next()
	q.rq.push()
	*q.messages.next() = message{}
	q.reader.in.recv = q.messages.push()
	q.RecvUsed.Add(1)
	err := q.reader.targetGone(&Frame{Kind: KindSend})
	why := q.last
	q.mu.UnlockNotify()
	if got := statuses(t, q); !slices.Equal(got, []verbs.Status{verbs.StatusLocalProtection}) || err == nil || why.Reason != ReasonFailed {
		t.Errorf("a Receive: %v, reason %d; %v", got, why.Reason, err)
	}

	q, _ = loneQP(t)
	q.mu.Lock()
	for range 2 {
		*q.sq.next() = Request{Request: soft.Request{Opcode: verbs.RDMARead, Flags: verbs.SendSignaled}}
		q.reads.next()
		*q.reads.at(q.reads.push()) = q.sq.push()
	}
	err = q.reader.targetGone(&Frame{Kind: KindReadResponse})
	q.mu.UnlockNotify()
	if got := statuses(t, q); !slices.Equal(got, []verbs.Status{verbs.StatusLocalProtection, verbs.StatusFlushed}) || err == nil {
		t.Errorf("a Read: %v; %v", got, err)
	}
}

// A Write that must not overtake Reads waits for the response to the last Read that overlaps it,
// and for no later response. It waits only if the framing has this rule.
func TestAwaitSources(t *testing.T) {
	for _, tt := range []struct {
		overlaps []bool // each Read
		sent     uint64 // responses
		waits    bool
	}{
		{[]bool{true, true}, 0, true},
		{[]bool{true, true}, 1, true},
		{[]bool{true, true}, 2, false},
		{[]bool{true, false}, 0, true},
		{[]bool{true, false}, 1, false},
		{[]bool{false, false}, 0, false},
	} {
		q, mr := loneQP(t)
		q.dev.cfg.SendTimeout = time.Millisecond
		element := func(at int) soft.Element {
			e, reason := q.PD.Remote(mr.RKey(), mr.RemoteAddr()+uint64(at), 8, verbs.AccessRemoteRead)
			if reason != "" {
				t.Fatal(reason)
			}
			return e
		}
		q.mu.Lock()
		for _, overlaps := range tt.overlaps {
			r := q.resp.next()
			*r = Response{Total: 8}
			if r.source[0] = element(32); overlaps {
				r.source[0] = element(4)
			}
			q.resp.push()
		}
		for range tt.sent {
			q.resp.pop()
		}
		e := element(0)
		if came := q.reader.awaitSources(&Conn{framer: &blaming{}}, &Frame{Kind: KindWrite}, &e); came == tt.waits {
			t.Errorf("Reads that overlap: %v, %d answered: it waits: %v", tt.overlaps, tt.sent, !came)
		}
		if !q.reader.awaitSources(&Conn{framer: &toyFramer{}}, &Frame{Kind: KindWrite}, &e) {
			t.Errorf("Reads that overlap: %v, %d answered: a framing without this rule waits, too", tt.overlaps, tt.sent)
		}
		q.resp = ring[Response]{}
		q.mu.UnlockNotify()
	}
}

// A batch is full before a frame might not fit: by the frames, the arena, or the direct payload.
func TestBatchIsFull(t *testing.T) {
	shape := &Shape{MaxHead: 36, StageSend: 1024}
	room := 36 + 1024 + padding + trailerSize
	for _, tt := range []struct {
		frames, arena, direct int
		full                  bool
	}{
		{batchFrames - 1, 0, 0, false}, {batchFrames, 0, 0, true},
		{0, batchArena - room, 0, false}, {0, batchArena - room + 1, 0, true},
		{0, 0, batchBytes - 1, false}, {0, 0, batchBytes, true},
	} {
		b := &batch{arena: make([]byte, tt.arena, batchArena), frames: make([]part, tt.frames), direct: tt.direct}
		if b.full(shape) != tt.full {
			t.Errorf("%d frames, %d bytes, %d direct: full %v", tt.frames, tt.arena, tt.direct, !tt.full)
		}
	}
}

// The frames of a batch are padded each by its own length, and summed with their padding. The bytes
// that are left are the same when they are copied, with no memory of the payload.
func TestBatchBytes(t *testing.T) {
	q, mr := loneQP(t)
	for i := range mr.Bytes() {
		mr.Bytes()[i] = byte(i + 1)
	}
	list, _, err := q.PD.Check(nil, []verbs.SGE{{MR: mr, Length: 5}, {MR: mr, Offset: 20, Length: 30}}, 2, 100, 0)
	if err != nil || !list.Pin() {
		t.Fatal(err)
	}
	defer list.Unpin()
	all := append(bytes.Clone(mr.Bytes()[:5]), mr.Bytes()[20:50]...)
	for _, limit := range []int{0, 9, 100} { // of staged payload
		b := &batch{arena: make([]byte, 0, batchArena)}
		var want []byte
		for _, f := range []struct{ head, off, n int }{{24, 0, 9}, {25, 3, 10}, {26, 0, 35}, {27, 35, 0}, {24, 34, 1}} {
			start := len(b.arena)
			head := bytes.Repeat([]byte{0xee}, f.head)
			b.arena = append(b.arena, head...)
			if holds := b.add(start, list, f.off, f.n, limit); holds != (f.n > limit) {
				t.Errorf("limit %d, %d bytes: direct %v", limit, f.n, holds)
			}
			frame := append(head, all[f.off:f.off+f.n]...)
			frame = append(frame, make([]byte, -len(frame)&3)...)
			want = append(want, frame...)
			sum := toySum(0, frame)
			want = append(want, byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24))
		}
		b.seal(toySum)
		if got := bytes.Join(b.bufs, nil); !bytes.Equal(got, want) {
			t.Errorf("limit %d: % x, want % x", limit, got, want)
		}
		b.copyRest()
		if got := bytes.Join(b.bufs, nil); !bytes.Equal(got, want) || len(b.pay) != 0 || b.direct != 0 || b.staged != 55 {
			t.Errorf("limit %d: a copy has %d bytes; %d pieces of payload, %d bytes direct, %d staged", limit, len(got), len(b.pay), b.direct, b.staged)
		}
		for n := len(want); n > 0; n -= 50 { // written in pieces
			if len(b.bufs) == 1 && b.advance(min(n, 50)) != (n <= 50) {
				t.Errorf("limit %d: %d bytes are left", limit, n)
			}
		}
	}
}

// RFC 5042 §6.4.3.1: an open message may be open for Config.MessageTimeout, and longer only for the
// bytes that arrive. A message after it begins from zero.
func TestNextLimit(t *testing.T) {
	const patience = 10 * time.Second
	var open openTime
	for _, tt := range []struct {
		since time.Duration // open; 0: not before
		bytes int64
		want  time.Duration // from now
	}{
		{0, 0, patience},
		{4 * time.Second, 0, 6 * time.Second},
		{15 * time.Second, 0, -5 * time.Second},
		{15 * time.Second, 10 << 10, 5 * time.Second},
		{15 * time.Second, 1 << 20, patience},
		{15 * time.Second, 1 << 60, patience},
		{0, 5 << 10, patience}, // the bytes belong to an earlier message
	} {
		if !open.nextLimit(false, patience).IsZero() {
			t.Error("there is a limit without an open message")
		}
		now := time.Now()
		if open.bytes = tt.bytes; tt.since > 0 {
			open.since = now.Add(-tt.since)
		}
		got := open.nextLimit(true, patience)
		const rounding = time.Millisecond
		if low, high := now.Add(tt.want-rounding), time.Now().Add(tt.want); got.Before(low) || got.After(high) {
			t.Errorf("open for %v with %d bytes: %v from now, want %v", tt.since, tt.bytes, got.Sub(now), tt.want)
		}
	}
}

// The reasons for an end that the reader finds, each with its reason for the owner and for the
// peer.
func TestReadFailed(t *testing.T) {
	for _, tt := range []struct {
		what string
		err  error
		open bool
		want []error
		last Reason
	}{
		{"the end between messages", io.EOF, false, []error{verbs.ErrPeerDisconnected}, ReasonNone},
		{"the end inside a message", io.EOF, true, []error{verbs.ErrConnectionBroken, io.ErrUnexpectedEOF}, ReasonNone},
		{"too slow", errSlow, true, []error{verbs.ErrConnectionBroken, verbs.StatusError{Status: verbs.StatusRetryExceeded}}, ReasonSlow},
		{"a rule of the framing", &breach{errToy}, false, []error{verbs.ErrConnectionBroken, errToy}, ReasonFormat},
		{"a reset", net.ErrClosed, false, []error{verbs.ErrConnectionBroken, net.ErrClosed}, ReasonNone},
	} {
		q, _ := loneQP(t)
		q.reader.in.frame.Open = tt.open
		q.mu.Lock()
		q.reader.readFailed(tt.err)
		last := q.last
		q.mu.UnlockNotify()
		for _, want := range tt.want {
			if !errors.Is(q.Err(), want) {
				t.Errorf("%s: %v, want %v", tt.what, q.Err(), want)
			}
		}
		if atHand := tt.last == ReasonFormat; last.Reason != tt.last || last.AtHand != atHand {
			t.Errorf("%s: the peer gets reason %d, of a message at hand: %v, want %d", tt.what, last.Reason, last.AtHand, tt.last)
		}
	}
}

// The end of a stream inside the bytes that are needed is unexpected, and before them it is not.
func TestNeedAtTheEnd(t *testing.T) {
	for _, n := range []int{0, 1, 3, 4} {
		here, there := net.Pipe()
		go func() {
			there.Write(make([]byte, n))
			there.Close()
		}()
		c := &Conn{dev: &Device{}, conn: here, input: inputBuffer{buf: make([]byte, HandshakeInput), readAhead: 1}}
		_, err := c.need(4)
		want := error(io.ErrUnexpectedEOF)
		if n == 0 {
			want = io.EOF
		} else if n == 4 {
			want = nil
		}
		if err != want {
			t.Errorf("%d bytes of 4: %v, want %v", n, err, want)
		}
		here.Close()
	}
}

// The reader offers its turn only when it is at rest: no input is at hand or expected, nothing is
// held back, and no message is open.
func TestMayOffer(t *testing.T) {
	for _, tt := range []struct {
		wanted, input, corked, noWait, open bool
		want                                bool
	}{
		{wanted: true, want: true}, {}, {wanted: true, input: true}, {wanted: true, corked: true},
		{wanted: true, noWait: true}, {wanted: true, open: true},
	} {
		q, c := newQueuePair(nil), &Conn{noWait: tt.noWait}
		q.reader.turn.wanted.Store(tt.wanted)
		if q.reader.in.frame.Open = tt.open; tt.input {
			c.input.w++
		}
		if tt.corked {
			q.sender.held++
		}
		if got := q.reader.mayOffer(c); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// Nothing can be posted when the end has begun.
func TestPostAtTheEnd(t *testing.T) {
	q, _ := loneQP(t)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.SetState(verbs.StateConnected)
	q.ending = true
	if n, err := q.postSend([]verbs.SendWR{{Opcode: verbs.Send}}, nil); n != 0 || !errors.Is(err, verbs.ErrInvalidState) {
		t.Errorf("%d requests, %v", n, err)
	}
	if n, err := q.postRecv([]verbs.RecvWR{{}}); n != 0 || !errors.Is(err, verbs.ErrInvalidState) {
		t.Errorf("%d Receives, %v", n, err)
	}
	q.ending = false
}

// The oldest handshake is given up first, each once.
func TestOldestHandshake(t *testing.T) {
	var g handshakes
	var conns []net.Conn
	for range 3 {
		a, b := net.Pipe()
		defer b.Close()
		conns = append(conns, a)
		g.add(a)
	}
	closed := func(c net.Conn) bool { return c.SetDeadline(time.Time{}) != nil }
	g.remove(conns[1])
	for _, want := range [][3]bool{{true, false, false}, {true, false, true}} {
		if ok := g.closeOldest(); !ok || [3]bool{closed(conns[0]), closed(conns[1]), closed(conns[2])} != want {
			t.Errorf("closed %v, want %v", [3]bool{closed(conns[0]), closed(conns[1]), closed(conns[2])}, want)
		}
	}
	if g.closeOldest() || len(g.at) != 0 {
		t.Errorf("%d handshakes are left", len(g.at))
	}
	conns[1].Close()
}
