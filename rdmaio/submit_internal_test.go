package rdmaio

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// peerless is an engine that sends Calls to no peer. Only the runner uses it while that runs.
type peerless struct {
	script
	held    []*engine.Call // sent, the oldest first
	xids    []uint32       // of all Calls
	cancels int
	replies int // to come with the next EventEffects
	end     error
}

func (p *peerless) Step(_ time.Duration, events []engine.Event) *engine.Effects {
	f := new(engine.Effects)
	done := func(c *engine.Call, err error) {
		c.Err = err
		f.Done = append(f.Done, c)
	}
	for _, ev := range events {
		switch ev.Kind {
		case engine.EventCall:
			p.xids = append(p.xids, ev.Call.XID)
			if p.end != nil {
				done(ev.Call, p.end)
				continue
			}
			ev.Call.Sent = true
			p.held = append(p.held, ev.Call)
		case engine.EventCancel:
			p.cancels++
			if i := slices.Index(p.held, ev.Call); i >= 0 {
				p.held = slices.Delete(p.held, i, i+1)
				ev.Call.Abandoned = true
				done(ev.Call, nil)
			}
		case engine.EventEffects:
			for ; p.replies > 0; p.replies-- {
				c := p.held[0]
				p.held = p.held[1:]
				c.Reply = []byte{23: 0}
				done(c, nil)
			}
		case engine.EventClose:
			f.Fail, p.end = ev.Err, ev.Err
			for _, c := range p.held {
				done(c, ev.Err)
			}
			p.held = nil
		}
	}
	return f
}

// submits is a connection with two places, whose Calls a test answers.
type submits struct {
	t *testing.T
	c *Conn
	p *peerless

	mu   sync.Mutex
	ends map[uint32][]error // of Calls that were submitted, by XID
}

// over records the end of a Call.
func (b *submits) over(xid uint32, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ends[xid] = append(b.ends[xid], err)
}

// endsOf returns the ends of a Call.
func (b *submits) endsOf(xid uint32) []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ends[xid]
}

func newSubmits(t *testing.T) *submits {
	b := &submits{t: t, p: new(peerless), ends: map[uint32][]error{}}
	b.c = connWith(t, b.p, 1, nil)
	b.c.set.calls, b.c.set.NoCancel = 2, true
	b.c.set.Logger = slog.New(slog.DiscardHandler)
	b.c.set.faults = b.c.set.Logger
	b.c.remote.Store(new(string))
	terms := *b.c.agreed.Load()
	terms.Send, terms.Recv = 4096, 4096
	b.c.agreed.Store(&terms)
	b.c.caller.ready.Store(true)
	b.c.caller.submits.allow(2)
	return b
}

func callWith(xid uint32) *Call {
	b, err := oncrpc.NewCall(xid, 2, 3, 0, oncrpc.None()).AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	return &Call{Message: Message{Inline: b}}
}

// submit submits Calls.
func (b *submits) submit(ctx context.Context, limit time.Duration, xids ...uint32) {
	b.t.Helper()
	for _, xid := range xids {
		call := callWith(xid)
		if limit > 0 {
			call.Deadline = time.Now().Add(limit)
		}
		if err := b.c.Submit(ctx, call, func(_ *Reply, err error) { b.over(xid, err) }); err != nil {
			b.t.Fatal(err)
		}
	}
	synctest.Wait()
}

// answer answers the n oldest Calls.
func (b *submits) answer(n int) {
	synctest.Wait()
	b.p.replies = n
	b.c.driver.Post(engine.Event{Kind: engine.EventEffects})
	synctest.Wait()
}

// sent checks which Calls the engine has had.
func (b *submits) sent(xids ...uint32) {
	b.t.Helper()
	synctest.Wait()
	if !slices.Equal(b.p.xids, xids) {
		b.t.Errorf("Calls %d were sent, want %d", b.p.xids, xids)
	}
}

// ended checks that Calls ended with an error, each once.
func (b *submits) ended(want error, run bool, xids ...uint32) {
	b.t.Helper()
	synctest.Wait()
	for _, xid := range xids {
		ends := b.endsOf(xid)
		var ce *CallError
		if len(ends) != 1 || !errors.Is(ends[0], want) || want == nil && ends[0] != nil || errors.As(ends[0], &ce) && ce.MayHaveRun != run {
			b.t.Errorf("Call %d ended with %v, want %v once, may have run: %v", xid, ends, want, run)
		}
	}
}

// unused checks that no Call is left.
func (b *submits) unused() {
	b.t.Helper()
	synctest.Wait()
	if l := &b.c.caller.slots; l.out != 0 || l.busy.Load() != 0 || l.line.first != nil {
		b.t.Errorf("%d slots in use, %d places, a line %v", l.out, l.busy.Load(), l.line.first != nil)
	}
}

// Calls of both forms wait for places in one line. Those whose contexts or deadlines end leave it
// unsent, and give no place away.
func TestSubmittedCallsWaitInOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSubmits(t)
		ctx, cancel := context.WithCancel(t.Context())
		b.submit(t.Context(), 0, 1, 2, 3)
		b.submit(ctx, 0, 4)
		b.submit(t.Context(), time.Second, 5)
		blocked := make(chan error, 2)
		go func() {
			_, err := b.c.Call(t.Context(), callWith(6))
			blocked <- err
		}()
		synctest.Wait()
		go func() {
			_, err := b.c.Call(ctx, callWith(7))
			blocked <- err
		}()
		synctest.Wait()
		b.submit(t.Context(), 0, 8)
		b.sent(1, 2)
		cancel()
		synctest.Wait()
		b.ended(context.Canceled, false, 4)
		if err := <-blocked; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		b.ended(context.DeadlineExceeded, false, 5)
		b.sent(1, 2)
		b.answer(1)
		b.sent(1, 2, 3)
		b.answer(1)
		b.sent(1, 2, 3, 6)
		b.answer(1)
		b.sent(1, 2, 3, 6, 8)
		b.answer(2)
		if err := <-blocked; err != nil {
			t.Error(err)
		}
		b.ended(nil, false, 1, 2, 3, 8)
		b.unused()
	})
}

// A Call that was sent is given up once, and keeps no place on this side. An earlier answer counts.
func TestSubmittedCallIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSubmits(t)
		ctx, cancel := context.WithCancel(t.Context())
		b.submit(ctx, time.Minute, 1)
		b.submit(t.Context(), time.Second, 2)
		b.submit(ctx, 0, 3)
		b.answer(1)
		time.Sleep(time.Second)
		synctest.Wait()
		cancel()
		time.Sleep(time.Hour)
		synctest.Wait()
		b.ended(nil, false, 1)
		b.ended(context.DeadlineExceeded, true, 2)
		b.ended(context.Canceled, true, 3)
		if b.p.cancels != 2 {
			t.Errorf("%d Calls were cancelled, want 2", b.p.cancels)
		}
		b.unused()
	})
}

// The provider handles the replies of submitted Calls by itself: no caller does.
func TestSubmittedCallIsNotLone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSubmits(t)
		p := new(progresser)
		b.c.caller.lone.qp = p
		b.submit(t.Context(), 0, 1)
		if !slices.Equal(p.calls, []string{"Resume"}) {
			t.Errorf("%q", p.calls)
		}
		blocked := make(chan error, 1)
		go func() {
			_, err := b.c.Call(t.Context(), callWith(2))
			blocked <- err
		}()
		synctest.Wait()
		if !slices.Equal(p.calls, []string{"Resume", "Resume"}) {
			t.Errorf("%q with a second Call", p.calls)
		}
		b.answer(2)
		if err := <-blocked; err != nil {
			t.Error(err)
		}
		if n := b.c.caller.lone.calls.Load(); n != 0 {
			t.Errorf("%d Calls count as in progress", n)
		}
	})
}

// A Call that is given up while a goroutine prepares it is not sent.
func TestSubmittedCallIsGivenUpWhileItIsPrepared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSubmits(t)
		u := &b.c.caller.submits
		u.slots.mu.Lock()
		s := u.slots.unusedSlot()
		s.rpc = callWith(1)
		s.submit = &submission{ctx: t.Context(), state: starting}
		s.submit.done = func(_ *Reply, err error) { b.over(1, err) }
		u.slots.watch(s)
		u.slots.place(s)
		u.abandon(s, context.Canceled)
		u.slots.mu.Unlock()
		u.begin(s)
		synctest.Wait()
		b.sent()
		b.ended(context.Canceled, false, 1)
		b.unused()
	})
}

// The events of a submitted Call say how long it has waited, for its place or in vain, and come
// before its function runs.
func TestEventsOfASubmittedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSubmits(t)
		b.c.start = time.Now()
		waits, begun := map[uint32]time.Duration{}, map[uint32]bool{}
		b.c.set.Events = func(e Event) {
			switch e := e.(type) {
			case *CallStart:
				begun[e.XID] = true
			case *CallEnd:
				if !begun[e.XID] || len(b.endsOf(e.XID)) > 0 || (e.Reply == nil) != (e.Err != nil) {
					t.Errorf("%+v", e)
				}
				waits[e.XID] = e.Waited
			}
		}
		b.submit(t.Context(), 0, 1, 2, 3)
		b.submit(t.Context(), 3*time.Second, 4)
		time.Sleep(2 * time.Second)
		b.answer(1)
		time.Sleep(2 * time.Second)
		b.answer(2)
		b.ended(nil, false, 1, 2, 3)
		b.ended(context.DeadlineExceeded, false, 4)
		for xid, want := range []time.Duration{1: 0, 2: 0, 3: 2 * time.Second, 4: 3 * time.Second} {
			if waits[uint32(xid)] != want {
				t.Errorf("Call %d has waited %v, want %v", xid, waits[uint32(xid)], want)
			}
		}
	})
}

// When the connection is lost, Calls that were sent and those that wait fail, each once, and no
// further one begins. Close waits for their functions.
func TestSubmittedCallsEndWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSubmits(t)
		b.submit(t.Context(), 0, 1, 2, 3)
		blocked := make(chan error, 1)
		go func() {
			_, err := b.c.Call(t.Context(), callWith(4))
			blocked <- err
		}()
		synctest.Wait()
		gate := make(chan struct{})
		if err := b.c.Submit(t.Context(), callWith(5), func(_ *Reply, err error) {
			<-gate
			b.over(5, err)
			b.over(6, b.c.Submit(t.Context(), callWith(6), nil))
			b.over(7, b.c.Submit(t.Context(), callWith(7), func(*Reply, error) { t.Error("it was refused") }))
		}); err != nil {
			t.Fatal(err)
		}
		b.c.fail(ErrClosed)
		closed := make(chan struct{})
		go func() { b.c.caller.slots.close(); close(closed) }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("a connection was closed before a function had run")
		default:
		}
		close(gate)
		<-closed
		if err := <-blocked; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		b.sent(1, 2)
		b.ended(ErrClosed, true, 1, 2)
		b.ended(ErrClosed, false, 3, 5, 7)
		b.ended(oncrpc.ErrNoDone, false, 6)
		if _, err := b.c.Call(t.Context(), callWith(8)); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		b.unused()
	})
}

// A function that exits its goroutine closes the connection. The functions of other Calls run, each
// once.
func TestFunctionOfASubmittedCallExits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSubmits(t)
		ran := 0
		if err := b.c.Submit(t.Context(), callWith(1), func(*Reply, error) {
			ran++
			runtime.Goexit()
		}); err != nil {
			t.Fatal(err)
		}
		b.submit(t.Context(), 0, 2, 3)
		b.answer(2)
		b.ended(nil, false, 2)
		b.ended(oncrpc.ErrPanic, true, 3)
		if ran != 1 {
			t.Errorf("a function ran %d times", ran)
		}
		b.unused()
	})
}

// A Call waits for the version of an accepted connection, and is given up at its deadline or with
// its context.
func TestSubmittedCallWaitsForTheVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSubmits(t)
		b.c.agreed.settled = make(chan struct{})
		known := b.c.agreed.Load()
		unknown := *known
		unknown.known = false
		b.c.agreed.Store(&unknown)
		b.submit(t.Context(), time.Second, 1)
		ctx, cancel := context.WithCancel(t.Context())
		b.submit(ctx, 0, 2)
		time.Sleep(2 * time.Second)
		cancel()
		synctest.Wait()
		b.ended(context.DeadlineExceeded, false, 1)
		b.ended(context.Canceled, false, 2)
		b.submit(t.Context(), 0, 3)
		b.sent()
		b.c.agreed.Store(known)
		close(b.c.agreed.settled)
		synctest.Wait()
		b.sent(3)
		b.answer(1)
		b.ended(nil, false, 3)
		b.unused()
	})
}

// A Call that blocks and was given a place, but gives up, gives the place on.
func TestPlaceOfACallThatGivesUp(t *testing.T) {
	var l slots
	l.allow(1)
	first, _ := l.take()
	second, waits := l.take()
	third, both := l.take()
	if !waits || !both {
		t.Fatal("Calls have a place that is taken")
	}
	l.put(first, false)
	if l.put(second, true); len(second.done) != 0 || len(third.done) != 1 || l.busy.Load() != 1 {
		t.Errorf("tokens %d and %d, %d places in use", len(second.done), len(third.done), l.busy.Load())
	}
	<-third.done
	l.put(third, false)
	if _, waits = l.take(); waits || l.busy.Load() != 1 {
		t.Errorf("a Call waits %v, %d places in use", waits, l.busy.Load())
	}
}
