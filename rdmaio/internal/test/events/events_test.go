package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// diary keeps the events of Config.Events, and checks their order.
type diary struct {
	t  *testing.T
	mu sync.Mutex

	list []string // kinds, as they came
	conn map[*rdmaio.Conn]string
	open map[rdmaio.RPC]string
	sum  rdmaio.PeerFaults
	ends []rdmaio.CallEnd
	done []rdmaio.ServeEnd
	why  []error // of Refusal, ConnFailed, ConnDown and Resent
	hits map[rdmaio.Limit]int
}

func newDiary(t *testing.T) *diary {
	return &diary{t: t, conn: map[*rdmaio.Conn]string{}, open: map[rdmaio.RPC]string{}, hits: map[rdmaio.Limit]int{}}
}

func (d *diary) add(e rdmaio.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	kind := strings.TrimPrefix(fmt.Sprintf("%T", e), "*rdmaio.")
	if e.String() == "" || strings.Contains(e.String(), "%!") {
		d.t.Errorf("%s says %q", kind, e)
	}
	d.list = append(d.list, kind)
	of := func(c *rdmaio.Conn) {
		if d.conn[c] == "" {
			d.t.Errorf("%v: of a connection that is not up", e)
		}
	}
	starts := func(r rdmaio.RPC, what string) {
		of(r.Conn)
		if d.open[r] != "" {
			d.t.Errorf("%v: it was begun before", e)
		}
		d.open[r] = what
	}
	ends := func(r rdmaio.RPC, what string) {
		if d.open[r] != what {
			d.t.Errorf("%v: it was not begun, but %q", e, d.open[r])
		}
		delete(d.open, r)
	}
	switch e := e.(type) {
	case *rdmaio.ConnUp:
		if d.conn[e.Conn] != "" || e.Terms != e.Conn.Terms() {
			d.t.Errorf("%v: it was %s", e, d.conn[e.Conn])
		}
		d.conn[e.Conn] = "up"
	case *rdmaio.ConnDown:
		if d.conn[e.Conn] != "up" || e.Reason == nil {
			d.t.Errorf("%v: it was %s", e, d.conn[e.Conn])
		}
		d.conn[e.Conn] = "down"
		d.why = append(d.why, e.Reason)
	case *rdmaio.ConnFailed:
		d.why = append(d.why, e.Reason)
	case *rdmaio.CallStart:
		starts(e.RPC, "call")
	case *rdmaio.CallEnd:
		ends(e.RPC, "call")
		d.ends = append(d.ends, *e)
	case *rdmaio.ServeStart:
		starts(e.RPC, "serve")
	case *rdmaio.ServeEnd:
		ends(e.RPC, "serve")
		d.done = append(d.done, *e)
	case *rdmaio.Refusal:
		of(e.Conn)
		d.why = append(d.why, e.Reason)
	case *rdmaio.Resent:
		of(e.Conn)
		d.why = append(d.why, e.Reason)
	case *rdmaio.LimitHit:
		d.hits[e.Limit]++
	case *rdmaio.PeerFaults:
		of(e.Conn)
		d.sum.DroppedMessages += e.DroppedMessages
		d.sum.CallsOverCredit += e.CallsOverCredit
		d.sum.FaultyMessages += e.FaultyMessages
		d.sum.ZeroGrants += e.ZeroGrants
		d.sum.OverGrants += e.OverGrants
	}
}

// unfinished reports whether something was begun and has not ended.
func (d *diary) unfinished() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.open) > 0
}

// count returns how many events of a kind there were.
func (d *diary) count(kind string) (n uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range d.list {
		if k == kind {
			n++
		}
	}
	return n
}

// Both sides report calls of all shapes, each with its shape, and the numbers are the same as in
// Stats.
func TestEventsTellOfCallsOfAllShapes(t *testing.T) {
	for form, do := range rpctest.Forms {
		t.Run(form, func(t *testing.T) { tellOfAllShapes(t, do) })
	}
}

func tellOfAllShapes(t *testing.T, do rpctest.Form) {
	rdmaiotest.EachInRealTime(t, func(t *testing.T, w *rdmaiotest.World) {
		there, here := newDiary(t), newDiary(t)
		store, dropped := &rpctest.File{T: t, Data: rdmaiotest.Pattern(9000, 1)}, make(chan struct{})
		s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
			if r.Message[3] == 9 {
				r.Drop(nil)
				close(dropped)
				return
			}
			store.ServeRPC(r)
		}), &rdmaio.Config{Events: there.add, MaxChunks: 1})
		c := w.Dial(&rdmaio.Config{Events: here.add, NoCancel: true})
		call := func(call *rdmaio.Call) error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if call.Inline[3] == 9 {
				go func() { <-dropped; cancel() }()
			}
			_, err := do(c, ctx, call)
			// The server may be later; the order is checked below.
			for len(s.Conns()) > 0 && there.unfinished() {
				time.Sleep(time.Millisecond)
			}
			return err
		}
		two := rpctest.WriteCall(5, 0, rdmaiotest.Pattern(2000, 1))
		again := two.Items[0]
		again.Position, again.Inline = again.Position+2000, len(two.Inline)
		two.Items = append(two.Items, again) // more than the server takes
		for i, tt := range []struct {
			call     *rdmaio.Call
			fails    bool
			sent     int
			received int
			reads    int
			writes   int
			placed   int
		}{
			{call: rpctest.NullCall(1, 40), sent: 40, received: 24},
			{call: rpctest.WriteCall(2, 0, rdmaiotest.Pattern(5000, 2)), sent: 0, reads: 1, placed: 1},
			{call: rpctest.ReadCall(3, 0, make([]byte, 8000)), writes: 1},
			{call: two, reads: 2, fails: true},
			{call: rpctest.NullCall(9, 40), sent: 40, fails: true},
		} {
			err := call(tt.call)
			e := here.ends[i]
			if (err != nil) != tt.fails || e.Err != err || e.ReadChunks != tt.reads || e.WriteChunks != tt.writes || e.Took <= 0 || (e.Reply == nil) != tt.fails {
				t.Errorf("%d: %v; %+v", i, err, e)
			}
			if tt.sent != 0 && e.Sent != tt.sent || tt.received != 0 && e.Received != tt.received {
				t.Errorf("%d: %d bytes sent, %d received, want %d and %d", i, e.Sent, e.Received, tt.sent, tt.received)
			}
		}
		if err := c.SetTerms(c.Terms()); err != nil {
			t.Fatal(err)
		}
		rdmaiotest.AwaitStats(t, c, func(st *rdmaio.Stats) bool { return st.Calls == 5 && st.Replies == 3 && st.ErrorMessages == 1 })
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		conns := s.Conns() // it may be there for a moment yet
		var served rdmaio.Stats
		if len(conns) > 0 {
			served = conns[0].Stats()
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if len(there.done) == 4 {
			for i, e := range there.done[:3] {
				if e.Received != here.ends[i].Sent || e.Sent != here.ends[i].Received || e.Took <= 0 || e.Err != nil || e.Dropped || (i == 1) != (e.Placed == 1) {
					t.Errorf("%d: served as %+v, called as %+v", i, e, here.ends[i])
				}
			}
			if !there.done[3].Dropped {
				t.Errorf("dropped: %+v", there.done[3])
			}
		}
		want := strings.Fields("ConnUp CallStart CallEnd CallStart CallEnd CallStart CallEnd CallStart CallEnd CallStart CallEnd TermsSet ConnDown")
		if diff := cmp.Diff(want, here.list); diff != "" {
			t.Errorf("the client (-want +got)\n%s", diff)
		}
		got := slices.DeleteFunc(slices.Clone(there.list), func(s string) bool { return s == "PeerFaults" })
		want = strings.Fields("ConnUp ServeStart ServeEnd ServeStart ServeEnd ServeStart ServeEnd Refusal ServeStart ServeEnd ConnDown")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the server (-want +got)\n%s", diff)
		}
		var fault *rdmaio.Fault
		if !errors.As(there.why[0], &fault) || !errors.Is(here.why[0], rdmaio.ErrClosed) {
			t.Errorf("the refusal said %v, the client's end %v", there.why[0], here.why)
		}
		if there.sum.FaultyMessages != 1 || there.sum.DroppedMessages != 1 || len(conns) > 0 && served.FaultyMessages != 1 {
			t.Errorf("faults of the client: %+v", there.sum)
		}
	})
}

// The texts of events name the procedures of Config.Programs in words, and others by number.
func TestEventsNameProcedures(t *testing.T) {
	w := rdmaiotest.New(t)
	var mu sync.Mutex
	var texts []string
	note := func(e rdmaio.Event) {
		switch e.(type) {
		case *rdmaio.CallStart, *rdmaio.CallEnd, *rdmaio.ServeStart, *rdmaio.ServeEnd:
			mu.Lock()
			defer mu.Unlock()
			texts = append(texts, e.String())
		}
	}
	nfs := oncrpc.Program{Number: 100003, Version: 3, Name: "NFS3", Procedures: map[uint32]string{0: "NULL"}}
	other := oncrpc.Program{Number: 100003, Version: 4, Name: "NFS4"}
	w.Serve(rpctest.Echo{}, &rdmaio.Config{Events: note, Programs: []oncrpc.Program{other, nfs}})
	c := w.Dial(&rdmaio.Config{Events: note, Programs: []oncrpc.Program{other}})
	if _, err := c.Call(context.Background(), rpctest.NullCall(7, 40)); err != nil {
		t.Fatal(err)
	}
	for { // the server may finish after the Reply is here
		mu.Lock()
		n := len(texts)
		mu.Unlock()
		if n == 4 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for _, text := range texts {
		want := "program 100003 (0x186a3) version 3 procedure 0,"
		if strings.HasPrefix(text, "serve") {
			want = "NFS3 NULL (100003 v3 proc 0),"
		}
		if !strings.Contains(text, want) {
			t.Errorf("%q does not have %q", text, want)
		}
	}
}

// With one credit all Calls but one wait. The numbers agree with Stats for any number of concurrent
// Calls.
func TestEventsTellOfWaiting(t *testing.T) {
	w := rdmaiotest.New(t)
	there, here := newDiary(t), newDiary(t)
	store := &rpctest.File{T: t, Data: rdmaiotest.Pattern(9000, 1)}
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		time.Sleep(100 * time.Microsecond) // so that others arrive in that time
		store.ServeRPC(r)
	}), &rdmaio.Config{Credits: 1, Events: there.add})
	c := w.Dial(&rdmaio.Config{Credits: 2, Events: here.add})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 20 {
				if _, err := c.Call(context.Background(), rpctest.WriteCall(uint32(100*i+k), 0, rdmaiotest.Pattern(3000, 1))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for c.Stats().Replies < 160 || there.count("ServeEnd") < 160 { // they may be a moment later
		time.Sleep(time.Millisecond)
	}
	waited := uint64(0)
	for _, e := range here.ends {
		if e.Waited > 0 {
			waited++
		}
		if e.Waited > e.Took {
			t.Errorf("it waited %v of %v", e.Waited, e.Took)
		}
	}
	s := c.Stats()
	if waited == 0 || s.DelayedCalls < waited || here.hits[rdmaio.LimitCredits] == 0 {
		t.Errorf("%d Calls waited, Stats has %d, LimitHit %v", waited, s.DelayedCalls, here.hits)
	}
	if n := here.count("CallEnd"); n != 160 || s.Replies != n || there.count("ServeEnd") != n {
		t.Errorf("%d Calls ended, %d were served, Stats has %d", n, there.count("ServeEnd"), s.Replies)
	}
}

// Failures have events, too.
func TestEventsTellOfFailures(t *testing.T) {
	w := rdmaiotest.New(t)
	there, here := newDiary(t), newDiary(t)
	cfg := &rdmaio.Config{Events: here.add}
	if _, err := rdmaio.Dial(context.Background(), w.Client, "nowhere", cfg); err == nil || !errors.Is(err, here.why[0]) {
		t.Errorf("the error was %v, the event %v", err, here.why)
	}
	entered := make(chan *rdmaio.Request, 1)
	s := w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) { entered <- r }), &rdmaio.Config{MaxConns: 1, Events: there.add, MaxMemory: 1})
	client, err := rdmaio.NewClient(w.Client, w.Addr, &rdmaio.ClientConfig{Conn: w.Config(cfg), MinBackoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	result := make(chan error, 1)
	go func() { _, err := client.Call(context.Background(), rpctest.NullCall(1, 40)); result <- err }()
	first := <-entered
	if _, err := rdmaio.Dial(context.Background(), w.Client, w.Addr, nil); err == nil {
		t.Error("a second connection was made")
	}
	if there.hits[rdmaio.LimitMaxConns] != 1 || there.count("ConnFailed") != 1 {
		t.Errorf("LimitHit %v, %v", there.hits, there.list)
	}
	go s.Conns()[0].Close() // the Call is lost, and made again
	first.Drop(nil)
	again := <-entered
	again.Reply(rdmaio.Message{Inline: rpctest.ReplyTo(again.Message)}, nil)
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	if n := here.count("Resent"); n != 1 || client.Stats().Retransmissions != n {
		t.Errorf("%d Calls sent again, Stats has %d", n, client.Stats().Retransmissions)
	}
	var peer *rdmaio.PeerError
	if _, err := client.Call(context.Background(), rpctest.WriteCall(2, 0, rdmaiotest.Pattern(5000, 1))); !errors.As(err, &peer) {
		t.Errorf("a Call beyond MaxMemory: %v", err)
	}
	if there.hits[rdmaio.LimitMaxMemory] != 1 || !errors.Is(there.why[len(there.why)-1], rdmaio.ErrMemory) {
		t.Errorf("LimitHit %v, %v", there.hits, there.why)
	}
}
