package rdmaio

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// chunkCalls is a connection with Calls that have chunks.
type chunkCalls struct {
	t *testing.T
	*Conn
	s     *script
	calls []*engine.Request
	hits  int // LimitMaxConnMemory
	short int // LimitMaxMemory

	bubble bool // of package synctest
}

func newChunkCalls(t *testing.T, attributes *verbs.DeviceAttributes, sizes ...int) *chunkCalls {
	t.Helper()
	c := &chunkCalls{t: t}
	c.Conn, c.s = scriptedConn(t, 1, attributes)
	c.set.MaxConnMemory = 100_000
	c.set.Events = func(e Event) {
		switch e.(*LimitHit).Limit {
		case LimitMaxConnMemory:
			c.hits++
		case LimitMaxMemory:
			c.short++
		}
	}
	for _, n := range sizes {
		c.calls = append(c.calls, &engine.Request{Chunks: &engine.Chunks{AssemblySize: n}})
	}
	return c
}

// fills reports all bytes of a Call's buffer as filled, and asks for more.
func (c *chunkCalls) fills(i int) {
	q := c.calls[i]
	for j := q.AssemblyFilled; j < len(q.Assembly.Bytes); j++ {
		q.Assembly.Bytes[j] = byte(j)
	}
	q.AssemblyFilled = q.Owner.(*request).assemblyBytes
	c.answerer.queueAssembly(q)
}

// ends releases the memory of a Call.
func (c *chunkCalls) ends(i int) {
	r := c.calls[i].Owner.(*request)
	if err := c.pool.Put(r.assembly); err != nil {
		c.t.Error(err)
	}
	c.calls[i].Owner = nil
	r.ticket.End()
	if c.bubble {
		synctest.Wait() // other connections of the source may run
	}
	c.answerer.reclaim(r.assemblyBytes)
}

// answers returns the answers to Calls since the last time.
func (c *chunkCalls) answers() []engine.Event {
	list := slices.DeleteFunc(c.s.take(), func(ev engine.Event) bool { return ev.Kind != engine.EventAssembly })
	c.driver.Stats() // takes the lock: what the runner does after this is later
	return list
}

// want checks which Calls had an answer since the last time, with how many bytes, 0 for an error.
func (c *chunkCalls) want(when string, answers ...[2]int) {
	c.t.Helper()
	got, promised := [][2]int{}, 0
	for _, ev := range c.answers() {
		a := [2]int{slices.Index(c.calls, ev.Request)}
		if r, _ := ev.Request.Owner.(*request); r != nil && ev.Err != nil && r.assembly == nil {
			r.ticket.End()
			ev.Request.Owner = nil
		} else if ev.Err == nil {
			a[1] = r.assemblyBytes
			if len(ev.Request.Assembly.Bytes) < a[1] {
				c.t.Errorf("%s: a buffer of %d bytes, want %d", when, len(ev.Request.Assembly.Bytes), a[1])
			}
		}
		got = append(got, a)
	}
	if !slices.Equal(got, append([][2]int{}, answers...)) {
		c.t.Errorf("%s: Calls and their bytes %v, want %v", when, got, answers)
	}
	for _, q := range c.calls {
		if q.Owner != nil {
			promised += q.AssemblySize
		}
	}
	if n := c.shared.memory.Used(); n != int64(promised) {
		c.t.Errorf("%s: Calls of %d bytes have memory, %d are used", when, promised, n)
	}
}

// R309: the memory of a connection's Calls follows the bytes that arrived. One Call at a time
// grows, the others wait in a queue, and released memory goes to them.
func TestCallsWithChunksGrowInTurn(t *testing.T) {
	c := newChunkCalls(t, nil, 40_000, 1000, 98_000, 2000, 1000)
	const first = freeMemory
	c.answerer.queueAssembly(c.calls[0])
	c.want("the first begins with the free memory", [2]int{0, first})
	c.answerer.queueAssembly(c.calls[1])
	c.want("the second waits for the first to grow")
	if c.hits != 0 {
		t.Errorf("%d events LimitHit, and no limit was met", c.hits)
	}
	c.answerer.queueAssembly(c.calls[2])
	c.answerer.queueAssembly(c.calls[3])
	if c.hits != 1 {
		t.Errorf("%d events LimitHit, want 1: the third Call does not fit beside the first", c.hits)
	}
	c.fills(0)
	c.want("without bytes delivered it does not grow")
	c.s.delivered = (40_000-first)/perDelivered - 1
	c.answerer.grantWaiting()
	c.want("too few were delivered")
	c.s.delivered += 2
	c.answerer.grantWaiting()
	if want := bytes.Clone(c.calls[0].Assembly.Bytes[:first]); want[1] != 1 || want[first-1] != byte((first-1)%256) {
		t.Error("what the Call has is not at the beginning of its longer buffer")
	}
	c.want("it has all that it needs", [2]int{0, 40_000})
	c.s.delivered += 1000
	c.answerer.grantWaiting()
	c.want("more was delivered for the second", [2]int{1, 1000})
	c.s.delivered = 1 << 20
	c.set.MaxConnMemory = 98_999
	c.ends(0)
	c.want("the third does not fit beside the second")
	c.answerer.queueAssembly(c.calls[4])
	c.want("a short one does not pass it")
	c.set.MaxConnMemory = 99_000
	c.answerer.reclaim(0)
	c.want("now it just fits", [2]int{2, 98_000})
	c.ends(1)
	c.want("the next one does not fit")
	c.set.MaxConnMemory = 101_000
	c.answerer.reclaim(0)
	c.want("all that wait go on, in their order", [2]int{3, 2000}, [2]int{4, 1000})
	for _, i := range []int{2, 3, 4} {
		c.ends(i)
	}
	if c.answerer.chunks.used != 0 || c.answerer.chunks.growing != nil || len(c.answerer.chunks.waiting) != 0 {
		t.Errorf("in the end there is %+v", c.answerer.chunks)
	}
}

// A connection alone uses at most half of the budget. A Call is refused if it needs more than that,
// or if the device refuses its buffer. Neither leaves memory in use.
func TestCallsWithChunksLeaveMemory(t *testing.T) { synctest.Test(t, callsWithChunksLeaveMemory) }

func callsWithChunksLeaveMemory(t *testing.T) {
	c := newChunkCalls(t, nil, 20_000, 10_000, 10_001, 30_000)
	c.bubble = true
	c.shared.memory.Most = 40_000
	c.s.delivered = 1 << 20
	c.answerer.queueAssembly(c.calls[0])
	c.want("the first", [2]int{0, 20_000})
	c.shared.memory.Most = 60_000
	c.answerer.queueAssembly(c.calls[1])
	c.want("it just leaves as much as it takes", [2]int{1, 10_000})
	c.answerer.queueAssembly(c.calls[2])
	c.want("this one would leave less")
	c.ends(0)
	c.want("now it fits", [2]int{2, 10_001})
	c.ends(1)
	c.ends(2)
	c.want("all was given back")
	c.shared.memory.Most = 59_999
	c.answerer.queueAssembly(c.calls[3])
	c.want("not enough for it alone", [2]int{3, 0})

	c = newChunkCalls(t, &verbs.DeviceAttributes{MaxMRSize: 20_000}, 50_000, 1000)
	c.answerer.queueAssembly(c.calls[0])
	c.want("no region is so long", [2]int{0, 0})
	if c.answerer.chunks.growing != nil {
		t.Error("a Call that was refused goes on growing")
	}
	c.answerer.queueAssembly(c.calls[1])
	c.want("the next one has memory", [2]int{1, 1000})
	c.ends(1)
}

// The connections of one source share what it may have, and another source has its own share.
// Memory of continued messages and kept replies counts, too.
func TestConnectionsOfASourceShareMemory(t *testing.T) {
	synctest.Test(t, connectionsOfASourceShareMemory)
}

func connectionsOfASourceShareMemory(t *testing.T) {
	with := &shared{memory: admission.Budget{Most: 100_000}}
	from := func(addr string, sizes ...int) *chunkCalls {
		c := newChunkCalls(t, nil, sizes...)
		c.bubble = true
		c.share.Leave()
		c.shared = with
		c.join(admission.SourceOf("192.0.2.9:1", addr))
		c.s.delivered = 1 << 20
		return c
	}
	answer := func(c *chunkCalls) (i int, err error) {
		t.Helper()
		evs := c.answers()
		if len(evs) != 1 {
			t.Fatalf("%d events, want the answer to one Call", len(evs))
		}
		return slices.Index(c.calls, evs[0].Request), evs[0].Err
	}
	first, second := from("192.0.2.1:1", 30_000), from("192.0.2.1:2", 15_000, 20_001, 20_002)
	other := from("192.0.2.2:1", 8_000)
	first.answerer.queueAssembly(first.calls[0])
	if _, err := answer(first); err != nil {
		t.Fatal(err)
	}
	second.answerer.queueAssembly(second.calls[0])
	if _, err := answer(second); err != nil {
		t.Error("what half leaves to the source:", err)
	}
	if second.reserve(5_001) || !second.reserve(5_000) {
		t.Error("other memory of the source is not limited by its half")
	}
	if first.reserve(1) {
		t.Error("the source has more than its half")
	}
	other.answerer.queueAssembly(other.calls[0])
	if _, err := answer(other); err != nil {
		t.Error("another source:", err)
	}
	second.reserve(-5_000)
	other.ends(0)
	second.set.WorkTimeout = time.Second
	second.answerer.queueAssembly(second.calls[1])
	if synctest.Wait(); len(second.answers()) > 0 || second.short != 2 {
		t.Errorf("a Call for which the source has no memory does not wait, or without an event: %d", second.short)
	}
	first.ends(0)
	if i, err := answer(second); i != 1 || err != nil {
		t.Errorf("Call %d has memory, %v; want the one that waited", i, err)
	}
	second.answerer.queueAssembly(second.calls[2])
	time.Sleep(time.Second - 1)
	if synctest.Wait(); len(second.answers()) > 0 {
		t.Error("a Call waits for less than Config.WorkTimeout")
	}
	time.Sleep(1)
	synctest.Wait()
	if i, err := answer(second); i != 2 || !errors.Is(err, ErrMemory) || second.short != 4 {
		t.Errorf("Call %d ends with %v after Config.WorkTimeout, %d events", i, err, second.short)
	}
	second.ends(0)
	second.ends(1)
	if n := with.memory.Used(); n != 0 {
		t.Errorf("%d bytes are in use in the end", n)
	}
}

// The growing Call counts once for the budget when it moves to a longer buffer.
func TestGrowingCallCountsOnce(t *testing.T) {
	c := newChunkCalls(t, nil, 40_000)
	c.shared.memory.Most = 80_000
	c.answerer.queueAssembly(c.calls[0])
	c.want("it begins", [2]int{0, freeMemory})
	c.s.delivered = 1 << 20
	c.fills(0)
	c.want("it just fits", [2]int{0, 40_000})
	c.ends(0)
	if n := c.pool.Stats().Buffers; n > 1 {
		t.Errorf("%d buffers are left, want one at most: the short one goes", n)
	}
}

// When the connection is closed, each Call that waits for memory gets the reason once. A Call whose
// memory is being filled waits for nothing.
func TestCallsWithChunksEnd(t *testing.T) {
	why := errors.New("the end")
	for _, asks := range []bool{false, true} {
		c := newChunkCalls(t, nil, 80_000, 1000, 2000)
		c.answerer.queueAssembly(c.calls[0])
		c.answerer.queueAssembly(c.calls[1])
		c.answerer.queueAssembly(c.calls[2])
		want := [][2]int{{1, 0}, {2, 0}}
		if asks {
			c.fills(0)
			want = append(want, [2]int{0, 0})
		}
		c.s.take()
		c.answerer.end(why)
		for _, ev := range c.s.events {
			if ev.Err != why {
				t.Errorf("a Call ends with %v", ev.Err)
			}
		}
		c.want("the end", want...)
		if m := &c.answerer.chunks; m.asks || m.growing != nil || len(m.waiting) != 0 {
			t.Fatalf("after the end there is %+v", m)
		}
		c.answerer.end(why)
		c.ends(0)
		c.want("after the end")
	}
}
