package memory

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

// eachLimited runs a test over memory with devices that have the memory of hardware, in both
// versions.
func eachLimited(t *testing.T, test func(t *testing.T, w *rdmaiotest.World, limited map[string]*rdmaiotest.Limited)) {
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprintf("version %d", version), func(t *testing.T) {
			limited := make(map[string]*rdmaiotest.Limited)
			w := rdmaiotest.NewWith(t, rdmaiotest.Options{Versions: []int{version}, Wrap: func(name string, d verbs.Device) verbs.Device {
				limited[name] = rdmaiotest.NewLimited(d)
				return fault.New(fault.Config{Manners: fault.Plain}).Device(limited[name])
			}})
			if version == 2 {
				w.Continue = -1
			}
			test(t, w, limited)
		})
	}
}

// replyWith answers a Call with a reply of n bytes.
func replyWith(r *rdmaio.Request, n int) {
	e := rpctest.ReplyHeader(rpctest.XID(r.Message))
	e.Buf = append(e.Buf, rdmaiotest.Pattern(n-len(e.Buf), 3)...)
	r.Reply(e.Message(), nil)
}

// gate passes Calls on that offer much memory, and answers others.
type gate struct {
	least int
	got   chan *rdmaio.Request
}

func (g gate) ServeRPC(r *rdmaio.Request) {
	if _, room := r.Room(); room >= g.least {
		g.got <- r
		return
	}
	replyWith(r, 24)
}

// longCalls makes n Calls with room for long replies, and returns the channel of their errors.
func longCalls(ctx context.Context, do rpctest.Form, c *rdmaio.Conn, proc uint32, n, most int) <-chan error {
	errs := make(chan error, n)
	for range n {
		go func() {
			call := &rdmaio.Call{Message: rpctest.CallHeader(c.XID(), proc).Message(), MaxReply: most}
			_, err := do(c, ctx, call)
			errs <- err
		}()
	}
	return errs
}

// Memory for long replies is limited where it must be in place: further Calls wait, while others go
// on. A Call that waits fails when its context is done or the connection is closed.
func TestReplyMemoryIsLimited(t *testing.T) {
	for form, do := range rpctest.Forms {
		t.Run(form, func(t *testing.T) { replyMemoryIsLimited(t, do) })
	}
}

func replyMemoryIsLimited(t *testing.T, do rpctest.Form) {
	const most, callers = 3 << 20, 10
	eachLimited(t, func(t *testing.T, w *rdmaiotest.World, limited map[string]*rdmaiotest.Limited) {
		g := gate{most, make(chan *rdmaio.Request, callers)}
		w.Serve(g, rdmaiotest.NoRemote())
		waiting := make(chan struct{}, 2*callers)
		cfg := rdmaiotest.NoRemote()
		cfg.MaxReplyMemory = 2 * mrpool.Size(most)
		cfg.Events = func(e rdmaio.Event) {
			if hit, ok := e.(*rdmaio.LimitHit); ok && hit.Limit == rdmaio.LimitMaxReplyMemory {
				waiting <- struct{}{}
			}
		}
		c := w.Dial(cfg)
		rpctest.Again(t, c, rpctest.SmallCall(), 1<<20) // the first reply brings credits
		limited["client"].Limit(0)
		before, _ := limited["client"].Pinned()
		errs := longCalls(context.Background(), do, c, 7, callers, most)
		for range callers - 2 {
			<-waiting
		}
		rpctest.Again(t, c, rpctest.SmallCall(), 2<<20)
		ctx, cancel := context.WithCancel(context.Background())
		cancelled := longCalls(ctx, do, c, 7, 1, most)
		<-waiting
		cancel()
		if err := <-cancelled; !errors.Is(err, context.Canceled) {
			t.Errorf("a Call that waits: %v, want %v", err, context.Canceled)
		}
		for range callers {
			replyWith(<-g.got, 24)
		}
		for range callers {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if _, peak := limited["client"].Pinned(); peak-before > 2*mrpool.Size(most)+64<<10 {
			t.Errorf("%d bytes more were pinned, want at most 2 replies of %d", peak-before, mrpool.Size(most))
		}
		if n := len(waiting); n != 0 || c.Stats().DelayedCalls < callers-1 {
			t.Errorf("%d Calls more waited than were to, %d were delayed", n, c.Stats().DelayedCalls)
		}
		errs = longCalls(context.Background(), do, c, 8, 3, most)
		late := []*rdmaio.Request{<-g.got, <-g.got}
		<-waiting
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		for range 3 {
			if err := <-errs; !errors.Is(err, rdmaio.ErrClosed) {
				t.Errorf("%v, want %v", err, rdmaio.ErrClosed)
			}
		}
		for _, r := range late {
			replyWith(r, 24)
		}
	})
}

// Submit does not wait for memory, although the Call does.
func TestSubmitDoesNotWaitForReplyMemory(t *testing.T) {
	const most = 3 << 20
	eachLimited(t, func(t *testing.T, w *rdmaiotest.World, _ map[string]*rdmaiotest.Limited) {
		g := gate{most, make(chan *rdmaio.Request, 10)}
		w.Serve(g, rdmaiotest.NoRemote())
		cfg := rdmaiotest.NoRemote()
		cfg.MaxReplyMemory = most
		c := w.Dial(cfg)
		rpctest.Again(t, c, rpctest.SmallCall(), 1<<20) // the first reply brings credits
		errs := make(chan error, 2)
		for range 2 {
			call := &rdmaio.Call{Message: rpctest.CallHeader(c.XID(), 7).Message(), MaxReply: most}
			if err := c.Submit(context.Background(), call, func(_ *rdmaio.Reply, err error) { errs <- err }); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			replyWith(<-g.got, most)
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

// A cancelled Call takes no memory from others, because the memory that it leaves has its own
// limit.
func TestCancelledCallTakesNoReplyMemory(t *testing.T) {
	for form, do := range rpctest.Forms {
		t.Run(form, func(t *testing.T) { cancelledCallTakesNoReplyMemory(t, do) })
	}
}

func cancelledCallTakesNoReplyMemory(t *testing.T, do rpctest.Form) {
	const most = 3 << 20
	eachLimited(t, func(t *testing.T, w *rdmaiotest.World, _ map[string]*rdmaiotest.Limited) {
		g := gate{most, make(chan *rdmaio.Request, 10)}
		w.Serve(g, rdmaiotest.NoRemote())
		cfg := rdmaiotest.NoRemote()
		cfg.MaxReplyMemory = most
		c := w.Dial(cfg)
		rpctest.Again(t, c, rpctest.SmallCall(), 1<<20) // the first reply brings credits
		ctx, cancel := context.WithCancel(context.Background())
		errs := longCalls(ctx, do, c, 7, 1, most)
		first := <-g.got
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want %v", err, context.Canceled)
		}
		errs = longCalls(context.Background(), do, c, 7, 1, most)
		replyWith(<-g.got, most)
		if err := <-errs; err != nil {
			t.Error(err)
		}
		replyWith(first, most)
		rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.InFlight == 0 && st.Abandoned == 0 })
	})
}

// With memory in place a Call offers as much as the largest reply of its procedure had, where it
// can be repeated: then a longer reply comes with the second attempt.
func TestReplyChunkBeginsAtLargestReply(t *testing.T) {
	const most = 1 << 20
	eachLimited(t, func(t *testing.T, w *rdmaiotest.World, _ map[string]*rdmaiotest.Limited) {
		var size, runs, room atomic.Int64
		short := rdmaiotest.NoRemote()
		short.MaxContinued = 1 // long replies of version 2 need a chunk, too
		w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			_, n := r.Room()
			room.Store(int64(n))
			runs.Add(1)
			replyWith(r, int(size.Load()))
		}), short)
		c := w.Dial(short)
		version2 := c.Terms().Version == 2
		for i, tt := range []struct {
			proc       uint32
			idempotent bool
			reply      int
			room       int // 0: only the space of inline replies
			runs       int
		}{
			{7, true, 100, most, 1}, // nothing is known
			{7, true, 100, 0, 1},
			{7, true, 20_000, most, 2}, // the second attempt offers all
			{7, true, 20_000, mrpool.Size(20_000), 1},
			{7, true, 32, mrpool.Size(20_000), 1}, // the largest counts
			{8, true, 32, most, 1},                // another procedure
			{9, false, 32, most, 1},
			{9, false, 30_000, most, 1}, // cannot be repeated in version 1
			{9, false, 32, most, 1},
		} {
			name := fmt.Sprintf("Call %d, procedure %d, reply of %d bytes", i, tt.proc, tt.reply)
			if version2 {
				switch i { // each Call can be repeated: the peer keeps the reply
				case 2:
					tt.runs = 1
				case 8:
					tt.room = mrpool.Size(30_000)
				}
			}
			size.Store(int64(tt.reply))
			runs.Store(0)
			call := &rdmaio.Call{Message: rpctest.CallHeader(c.XID(), tt.proc).Message(), MaxReply: most, Idempotent: tt.idempotent}
			reply, err := c.Call(context.Background(), call)
			if err != nil || len(reply.Message) != tt.reply {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if n := runs.Load(); n != int64(tt.runs) {
				t.Errorf("%s: executed %d times, want %d", name, n, tt.runs)
			}
			kept := version2 && (i == 2 || i == 7) // the reply to the first attempt
			if n := int(room.Load()); !kept && n != tt.room && (tt.room != 0 || n > 8192) {
				t.Errorf("%s: room for %d bytes, want %d", name, n, tt.room)
			}
		}
		// The second Call offers nothing, and neither do first attempts that guess as little.
		if n := c.Stats().RemoteRegistrations; n != 8 {
			t.Errorf("%d registrations with a key, want 8", n)
		}
	})
}

// A Call whose memory a limit of the process does not allow says so, and the next one that needs
// less is made.
func TestProcessLimitFailsTheCall(t *testing.T) {
	eachLimited(t, func(t *testing.T, w *rdmaiotest.World, limited map[string]*rdmaiotest.Limited) {
		const n = 1 << 20
		w.Serve(&rpctest.File{T: t, Data: rdmaiotest.Pattern(n, 3)}, rdmaiotest.NoRemote())
		cfg := rdmaiotest.NoRemote()
		cfg.MaxReplyMemory = n
		client, err := rdmaio.NewClient(w.Client, w.Addr, &rdmaio.ClientConfig{Conn: w.Config(cfg)})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		rpctest.Again(t, client, rpctest.SmallCall(), 1)
		now, _ := limited["client"].Pinned()
		limited["client"].Limit(now + n/2)
		long := rpctest.NullCall(4, 100)
		long.MaxReply = n
		for name, call := range map[string]*rdmaio.Call{
			"a READ": rpctest.ReadCall(2, 0, make([]byte, n)), "a WRITE": rpctest.WriteCall(3, 0, make([]byte, n)), "a long reply": long,
		} {
			_, err := client.Call(context.Background(), call)
			var ce *rdmaio.CallError
			if !errors.Is(err, verbs.ErrProcessLimit) || !errors.As(err, &ce) || ce.MayHaveRun {
				t.Errorf("%s: %v, want %v before it was sent", name, err, verbs.ErrProcessLimit)
			}
		}
		rpctest.Again(t, client, rpctest.SmallCall(), 5)
		limited["client"].Limit(0)
		rpctest.Again(t, client, rpctest.ReadCall(6, 0, make([]byte, n)), 6)
		rpctest.Again(t, client, long, 7)
		if st := client.Stats(); st.Connects != 1 {
			t.Errorf("%d connections, want 1", st.Connects)
		}
	})
}

// A server refuses a Call whose memory a limit of the process does not allow, and stays up.
func TestProcessLimitRefusesTheCall(t *testing.T) {
	eachLimited(t, func(t *testing.T, w *rdmaiotest.World, limited map[string]*rdmaiotest.Limited) {
		const n = 1 << 20
		f := &rpctest.File{T: t, Data: rdmaiotest.Pattern(n, 3)}
		w.Serve(f, rdmaiotest.NoRemote())
		c := w.Dial(rdmaiotest.NoRemote())
		rpctest.Again(t, c, rpctest.SmallCall(), 1)
		now, _ := limited["server"].Pinned()
		limited["server"].Limit(now + n/2)
		for name, call := range map[string]*rdmaio.Call{"a READ": rpctest.ReadCall(2, 0, make([]byte, n)), "a WRITE": rpctest.WriteCall(3, 0, make([]byte, n))} {
			_, err := c.Call(context.Background(), call)
			var refused *rdmaio.PeerError
			if !errors.As(err, &refused) {
				t.Errorf("%s: %v, want the server's refusal", name, err)
			}
		}
		rpctest.Again(t, c, rpctest.SmallCall(), 4)
		limited["server"].Limit(0)
		buf := make([]byte, n)
		rpctest.Again(t, c, rpctest.ReadCall(5, 0, buf), 5)
		if c.Err() != nil || binary.BigEndian.Uint32(buf) != binary.BigEndian.Uint32(f.Data) {
			t.Errorf("%v, or other bytes came", c.Err())
		}
	})
}

// A server whose device is gone closes the connection for that reason: it refuses no Call, although
// an ERROR might still arrive.
func TestRemovedDeviceClosesTheConnectionAndRefusesNoCall(t *testing.T) {
	const n = 1 << 20
	for name, call := range map[string]*rdmaio.Call{"a READ": rpctest.ReadCall(2, 0, make([]byte, n)), "a WRITE": rpctest.WriteCall(3, 0, make([]byte, n))} {
		eachLimited(t, func(t *testing.T, w *rdmaiotest.World, limited map[string]*rdmaiotest.Limited) {
			w.Serve(&rpctest.File{T: t, Data: rdmaiotest.Pattern(n, 3)}, rdmaiotest.NoRemote())
			c := w.Dial(rdmaiotest.NoRemote())
			rpctest.Again(t, c, rpctest.SmallCall(), 1)
			limited["server"].Remove()
			_, err := c.Call(context.Background(), call)
			var refused *rdmaio.PeerError
			if err == nil || errors.As(err, &refused) {
				t.Fatalf("%s: %v, want the end of the connection", name, err)
			}
			<-c.Done()
		})
	}
}

// If a limit of the process does not allow a connection, a Client stops its attempts at once, even
// if Calls wait for a server that restarts.
func TestProcessLimitEndsAttempts(t *testing.T) {
	eachLimited(t, func(t *testing.T, w *rdmaiotest.World, limited map[string]*rdmaiotest.Limited) {
		w.Serve(rpctest.Quick(nil), nil)
		limited["client"].Limit(1000)
		client, err := rdmaio.NewClient(w.Client, w.Addr, &rdmaio.ClientConfig{Conn: w.Config(nil), WaitForServer: true, DialFailures: 1000})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if _, err := client.Call(context.Background(), rpctest.SmallCall()); !errors.Is(err, verbs.ErrProcessLimit) {
			t.Errorf("%v, want %v", err, verbs.ErrProcessLimit)
		}
		if st := client.Stats(); st.DialFailures != 1 {
			t.Errorf("%d attempts, want 1", st.DialFailures)
		}
		limited["client"].Limit(0)
		rpctest.Again(t, client, rpctest.SmallCall(), 2)
	})
}
