package stream

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// extra is an addition to a request.
type extra struct{}

func (extra) Check() error { return nil }

// A completed request, Receive or message leaves nothing in its slot but memory for the next list.
func TestCompletedSlots(t *testing.T) {
	w := newWired(t, nil)
	w.queue(t, verbs.RDMAWrite, 8)
	w.receive(t, 8)
	w.mu.Lock()
	defer w.mu.UnlockNotify()
	r := w.sq.at(0)
	r.Extra, r.done = extra{}, true
	w.sender.sqNext = 1
	w.completeSends()
	if list := r.SGL[:cap(r.SGL)]; r.Extra != nil || len(r.SGL) != 0 || len(list) == 0 || list[0] != (soft.Element{}) {
		t.Errorf("a request leaves %+v, and %+v", list, r.Extra)
	}
	*w.messages.next() = message{done: true, solicited: true, wc: verbs.WC{ByteLen: 3, Loan: soft.Lend(4)}}
	w.messages.push()
	rq := w.rq.at(0)
	w.completeRecvs()
	if m := w.messages.slots[0]; m != (message{}) {
		t.Errorf("a message leaves %+v", m)
	}
	if rq.wrid != 0 || rq.total != 0 || rq.sgl == nil || (*rq.sgl)[0] != (soft.Element{}) {
		t.Errorf("a Receive leaves %+v", rq)
	}
}

// The end comes once, with its first reason. It stops the timer, cancels a Dial in progress, counts
// the connection as broken only if it is, and is complete when no read or write is in progress.
func TestEndComesOnce(t *testing.T) {
	for _, tt := range []struct {
		why    error
		io     int
		broken int64
	}{{verbs.ErrDisconnected, 0, 0}, {verbs.ErrConnectionBroken, 0, 1}, {verbs.ErrConnectionBroken, 2, 1}} {
		w := newWired(t, nil)
		w.receive(t, 8)
		w.mu.Lock()
		*w.messages.next() = message{}
		w.messages.push()
		timer := time.AfterFunc(time.Hour, func() {})
		var canceled error
		w.timer, w.cancel, w.ioCount = timer, func(err error) { canceled = err }, tt.io
		w.end(tt.why, Report{Reason: ReasonSlow})
		w.end(errors.New("a second reason"), Report{Reason: ReasonFormat})
		if timer.Stop() || canceled != tt.why || !w.c.closing.Load() || w.last.Reason != ReasonSlow {
			t.Errorf("%v: the timer runs, or the Dial ended with %v; closing %v, reason %d", tt.why, canceled, w.c.closing.Load(), w.last.Reason)
		}
		for i := range tt.io {
			if w.State() == verbs.StateError {
				t.Errorf("the end is complete with %d in progress", tt.io-i)
			}
			w.ioDone()
		}
		if w.State() != verbs.StateError {
			t.Errorf("state %v with nothing in progress", w.State())
		}
		if w.sq.slots != nil || w.rq.slots != nil || w.resp.slots != nil || w.reads.slots != nil || w.messages.slots != nil {
			t.Error("the queues keep memory")
		}
		w.mu.UnlockNotify()
		if s := w.dev.Stats(); s.Broken != tt.broken || w.Err() != tt.why {
			t.Errorf("%d broken, %v, want %d, %v", s.Broken, w.Err(), tt.broken, tt.why)
		}
	}
}

// An operation that ends without a connection in progress ends nothing.
func TestIODoneBeforeTheEnd(t *testing.T) {
	w := newWired(t, nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ioCount = 1; w.State() != verbs.StateConnected {
		t.Fatal(w.State())
	}
	if w.ioDone(); w.State() != verbs.StateConnected || w.ioCount != 0 {
		t.Errorf("state %v, %d in progress", w.State(), w.ioCount)
	}
}

// At the end, requests that are done have succeeded up to the first that is not. Messages that have
// come as a whole are received, though they waited; the other Receives are flushed.
func TestRequestsAndReceivesCompleteAtTheEnd(t *testing.T) {
	const ok, flushed, access = verbs.StatusSuccess, verbs.StatusFlushed, verbs.StatusRemoteAccess
	w := newWired(t, nil)
	for range 5 {
		w.queue(t, verbs.RDMAWrite, 8)
	}
	w.mu.Lock()
	for i, status := range map[uint64]verbs.Status{0: ok, 1: access, 2: ok, 4: ok} {
		r := w.sq.at(i)
		r.done, r.status = true, status
	}
	w.end(verbs.ErrConnectionBroken, Report{})
	w.mu.UnlockNotify()
	if got, want := statuses(t, w.queuePair), []verbs.Status{ok, access, flushed, flushed, flushed}; !slices.Equal(got, want) {
		t.Errorf("requests: %v, want %v", got, want)
	}

	w = newWired(t, nil)
	for range 3 {
		w.receive(t, 8)
	}
	w.mu.Lock()
	for i := range 2 {
		*w.messages.next() = message{done: i == 0, barrier: 9}
		w.messages.push()
	}
	w.end(verbs.ErrConnectionBroken, Report{})
	w.mu.UnlockNotify()
	if got, want := statuses(t, w.queuePair), []verbs.Status{ok, flushed, flushed}; !slices.Equal(got, want) {
		t.Errorf("Receives: %v, want %v", got, want)
	}
}

// Entries of a ring keep their order and their numbers when it grows, wherever it begins.
func TestRingGrows(t *testing.T) {
	for shift := range 6 {
		var r ring[int]
		push := func(v int) {
			*r.next() = v
			if r.push(); *r.at(r.tail - 1) != v {
				t.Fatal("another entry")
			}
		}
		for i := range shift {
			push(-i)
			r.pop()
		}
		for i := range 20 {
			push(i)
		}
		for i := range 20 {
			if got := *r.at(r.head); got != i || r.len() != 20-i {
				t.Fatalf("shifted by %d: entry %d is %d, of %d", shift, i, got, r.len())
			}
			r.pop()
		}
	}
}

// A nudge is due after the pause and the patience, if a frame was sent and the peer was silent.
func TestNudgeIsDueWhenThePeerIsSilent(t *testing.T) {
	const long = time.Hour
	for _, tt := range []struct {
		what            string
		heard           bool
		nudge           string
		patience        time.Duration
		sent            bool
		requests        uint64
		ending          bool
		due, timer, was bool
	}{
		{what: "the pause of a framing without nudges", patience: long},
		{what: "the patience begins", nudge: "n", patience: long, sent: true, timer: true},
		{what: "no patience, nothing was sent", nudge: "n"},
		{what: "no patience, the set-up has sent", nudge: "n", sent: true, due: true},
		{what: "no patience, a request was sent", nudge: "n", requests: 1, due: true},
		{what: "the peer was heard", nudge: "n", heard: true, sent: true},
		{what: "the peer was heard in the pause", nudge: "n", heard: true, sent: true, patience: long},
		{what: "the end", nudge: "n", sent: true, ending: true, was: true},
	} {
		w := newWired(t, nil)
		w.mu.Lock()
		w.sender.paused, w.sender.heard, w.sender.sqNext, w.ending, w.sender.corked = true, tt.heard, tt.requests, tt.ending, true
		if tt.nudge != "" {
			w.sender.nudge = []byte(tt.nudge)
		}
		w.mu.Unlock()
		w.sender.endPause(tt.patience, tt.sent)
		w.mu.Lock()
		if w.sender.paused != tt.was || w.sender.nudgeDue != tt.due || (w.timer != nil) != tt.timer {
			t.Errorf("%s: paused %v, due %v, a timer: %v", tt.what, w.sender.paused, w.sender.nudgeDue, w.timer != nil)
		}
		if w.timer != nil {
			w.timer.Stop()
		}
		w.sender.sqNext, w.ending, w.sender.nudgeDue = 0, false, false
		w.mu.Unlock()
	}
}

// Requests posted during a pause are sent when it ends.
func TestPauseEnds(t *testing.T) {
	w := newWired(t, nil)
	w.queue(t, verbs.Send, 8)
	w.mu.Lock()
	w.sender.paused = true
	if w.sender.kick(); w.sender.sqNext != 0 {
		t.Error("a request is sent during the pause")
	}
	w.mu.Unlock()
	w.sender.endPause(0, false)
	if w.mu.Lock(); w.sender.sqNext != 1 {
		t.Error("a request is not sent after the pause")
	}
	w.mu.Unlock()
}

// A connection begins with the negotiated numbers, its own input buffer, and a timer if there
// is a pause or a nudge.
func TestConnectionStartsWithNegotiatedNumbers(t *testing.T) {
	for _, tt := range []struct {
		pause         time.Duration
		nudge         string
		timer, paused bool
	}{{}, {pause: time.Hour, timer: true, paused: true}, {nudge: "n", timer: true}, {pause: time.Hour, nudge: "n", timer: true, paused: true}} {
		w := newWired(t, nil)
		c := newConn(w.dev, w.c.conn)
		c.input.w = copy(c.input.buf, "12") // read ahead: too few for the reader to go on
		w.cancel, w.depth, w.resources, w.maxSend, w.sender.mayWrite = func(error) {}, 0, 0, 0, false
		w.SetState(verbs.StateConnecting)
		s := &Session{Framer: w.f, InitiatorDepth: 3, ResponderResources: 5, MaxSend: 77, Pause: tt.pause, Patience: time.Hour, Nudge: []byte(tt.nudge)}
		w.mu.Lock()
		w.sender.corked = true
		w.mu.Unlock()
		if err := w.start(c, s); err != nil {
			t.Fatal(err)
		}
		w.mu.Lock()
		if w.depth != 3 || w.resources != 5 || w.maxSend != 77 || w.cancel != nil || !w.sender.mayWrite || w.State() != verbs.StateConnected {
			t.Errorf("%+v", w.queuePair)
		}
		// Without a pause the nudge's timer runs at once, and again after its patience.
		if paused, timer := w.sender.paused, w.timer != nil; paused != tt.paused || timer != tt.timer {
			t.Errorf("pause %v, nudge %q: paused %v, a timer %v", tt.pause, tt.nudge, paused, timer)
		}
		w.mu.Unlock()
		if n := w.dev.Stats().Connections; n != 1 {
			t.Errorf("%d connections are counted", n)
		}
		w.peer.Close() // the reader continues from here
		<-w.ended
	}
}

// A queue pair that fails during the set-up does not start, and start returns the reason.
func TestEndedQueuePairDoesNotStart(t *testing.T) {
	w := newWired(t, nil)
	c := newConn(w.dev, w.c.conn)
	w.SetState(verbs.StateConnecting)
	w.mu.Lock()
	w.ioCount = 1 // the end is not complete
	w.end(verbs.ErrDisconnected, Report{})
	w.mu.UnlockNotify()
	if err := w.start(c, &Session{Framer: w.f}); err != verbs.ErrDisconnected {
		t.Errorf("%v, want %v", err, verbs.ErrDisconnected)
	}
	if s := w.dev.Stats(); s.Connections != 0 || w.conn.Load() == c || w.State() != verbs.StateConnecting {
		t.Errorf("%d connections are counted, state %v", s.Connections, w.State())
	}
	c.input.giveBack()
	w.mu.Lock()
	w.ioDone()
	w.mu.UnlockNotify()
}

// A queue pair that is closed twice releases its completion queue once: another still uses it.
func TestSecondCloseReleasesNothing(t *testing.T) {
	q := newWired(t, nil)
	pd := &protectionDomain{Domain: q.PD, dev: q.dev}
	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: q.SendCQ, RecvCQ: q.RecvCQ, MaxSendWR: 2, MaxRecvWR: 2})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := qp.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.SendCQ.Close(); !errors.Is(err, verbs.ErrBusy) {
		t.Errorf("%v, want %v", err, verbs.ErrBusy)
	}
}

// DisconnectFor reports the reason to the peer, or returns why it cannot.
func TestDisconnectFor(t *testing.T) {
	for _, tt := range []struct {
		why       verbs.DisconnectReason
		silent    bool // the peer must send first, and has not
		noReports string
		err       error
		want      Reason
	}{
		{verbs.ReasonRule, false, "", nil, ReasonFormat},
		{verbs.ReasonTime, false, "", nil, ReasonSlow},
		{0, false, "", nil, ReasonGoodbye},
		{0, true, "", nil, ReasonGoodbye},
		{verbs.ReasonRule, true, "", verbs.ErrNotSupported, ReasonNone},
		{verbs.ReasonRule, false, "no", verbs.ErrNotSupported, ReasonNone},
	} {
		w := newWired(t, nil)
		w.dev.cfg.NoReports, w.sender.mayWrite = tt.noReports, !tt.silent
		if err := w.DisconnectFor(tt.why); !errors.Is(err, tt.err) {
			t.Errorf("reason %v, silent %v: %v, want %v", tt.why, tt.silent, err, tt.err)
		}
		if w.last.Reason != tt.want || w.ending != (tt.err == nil) {
			t.Errorf("reason %v, silent %v: reports %d, want %d", tt.why, tt.silent, w.last.Reason, tt.want)
		}
	}
	w := newWired(t, nil)
	w.Disconnect()
	if w.sender.mayWrite = false; w.DisconnectFor(verbs.ReasonRule) != nil {
		t.Error("a connection that is closed cannot be closed again")
	}
}
