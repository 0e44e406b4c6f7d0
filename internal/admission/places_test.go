package admission_test

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// request is a Request whose handler runs until end gets the way in which it ends.
type request struct {
	name string
	end  chan bool // true: with its goroutine
}

// server runs requests, and records the names of those that run.
type server struct {
	admission.Places[request]
	t       *testing.T
	running map[string]*request
	started chan *request
	mu      sync.Mutex
	used    map[string]bool // names of the goroutines that ran requests
}

type queue = admission.Queue[request]

func newServer(t *testing.T, most int) *server {
	s := &server{t: t, running: make(map[string]*request), used: make(map[string]bool), started: make(chan *request, 100)}
	s.Most = most
	s.Run = func(r *request) {
		var stack [64]byte // "goroutine 7 [running]: ..."
		name, _, _ := strings.Cut(string(stack[:runtime.Stack(stack[:], false)]), " [")
		s.mu.Lock()
		s.used[name] = true
		s.mu.Unlock()
		s.started <- r
		if <-r.end {
			runtime.Goexit()
		}
	}
	return s
}

// start starts a request. It must wait if want is false.
func (s *server) start(q *queue, name string, want bool) {
	s.t.Helper()
	if got := s.Start(q, &request{name: name, end: make(chan bool, 1)}); got != want {
		s.t.Errorf("%s: started %t, want %t", name, got, want)
	}
	s.expect()
}

// end lets the handler of a request return. Then the requests named in want begin to run.
func (s *server) end(name string, want ...string) {
	s.t.Helper()
	s.running[name].end <- false
	delete(s.running, name)
	s.expect(want...)
}

// expect waits, and checks that the requests with the names, and no others, began to run.
func (s *server) expect(want ...string) {
	s.t.Helper()
	synctest.Wait()
	var got []string
	for len(s.started) > 0 {
		r := <-s.started
		s.running[r.name] = r
		got = append(got, r.name)
	}
	if want != nil && !slices.Equal(got, want) {
		s.t.Errorf("%q began to run, want %q", got, want)
	}
}

// finish lets all handlers return, and the connections leave.
func (s *server) finish(queues ...*queue) {
	s.t.Helper()
	for len(s.running) > 0 {
		for name := range s.running {
			s.end(name)
		}
	}
	for _, q := range queues {
		s.Leave(q)
	}
}

// Each connection has its own place; the shared ones go to the connections in turn.
func TestSharedPlacesGoToConnectionsInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 1)
		var a, b queue
		s.start(&a, "a1", true) // a's own place
		s.start(&a, "a2", true) // the shared place
		for _, name := range []string{"a3", "a4", "a5", "a6"} {
			s.start(&a, name, false)
		}
		s.start(&b, "b1", true)
		s.start(&b, "b2", false)
		s.end("a2", "a3")
		s.end("a3", "b2")
		s.end("a1", "a4")
		s.end("b1", []string{}...)
		s.start(&b, "b3", true)
		var left []string
		s.RemoveAll(&a, func(r *request) { left = append(left, r.name) })
		if !slices.Equal(left, []string{"a5", "a6"}) {
			t.Errorf("removed %q", left)
		}
		s.end("b2", []string{}...)
		s.end("a4", []string{}...)
		s.start(&a, "a7", true)
		s.start(&b, "b4", true)
		s.start(&b, "b5", false)
		s.finish(&a, &b)
	})
}

// Without a limit no Request waits.
func TestWithoutALimitNoRequestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 0)
		var q queue
		for i := range 100 {
			s.start(&q, string(rune('!'+i)), true)
		}
		s.finish(&q)
	})
}

// After RemoveAll nothing refers to the Queue, and so to its connection, although no shared place
// becomes free.
func TestRemoveAllForgetsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 1)
		var holder queue
		s.start(&holder, "1", true)
		s.start(&holder, "2", true)
		gone := func() weak.Pointer[queue] {
			q := new(queue)
			s.start(q, "3", true)
			s.start(q, "4", false)
			s.RemoveAll(q, func(*request) {})
			s.end("3")
			s.Leave(q)
			return weak.Make(q)
		}()
		runtime.GC()
		if gone.Value() != nil {
			t.Error("the Queue is still in use")
		}
		s.finish(&holder)
	})
}

// Leave waits for Requests that run and for those that wait.
func TestLeaveWaitsForRequestsThatRunOrWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 1)
		var a, b queue
		s.start(&b, "b1", true)
		s.start(&b, "b2", true)
		s.start(&a, "a1", true)
		s.start(&a, "a2", false)
		left := make(chan struct{})
		go func() {
			s.Leave(&a)
			s.Leave(&a) // does nothing
			close(left)
		}()
		for _, name := range []string{"a1", "a2"} {
			synctest.Wait()
			select {
			case <-left:
				t.Errorf("Leave returned before %s ended", name)
			default:
			}
			s.end(name)
		}
		synctest.Wait()
		<-left
		s.finish(&b)
	})
}

// The place of a handler that stops its goroutine goes to the next Request, on another goroutine.
func TestHandlerThatEndsItsGoroutineFreesThePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 1)
		var q queue
		for i, name := range []string{"1", "2", "3", "4"} {
			s.start(&q, name, i < 2)
		}
		for i, name := range []string{"1", "2", "3", "4"} {
			s.running[name].end <- true
			delete(s.running, name)
			want := [][]string{{"3"}, {"4"}, {}, {}}[i]
			s.expect(want...)
		}
		before := workers()
		s.start(&q, "5", true)
		if n := workers(); n != before+1 {
			t.Errorf("%d more goroutines for a handler, want 1: none is left of those before", n-before)
		}
		s.finish(&q)
	})
}

// Goroutines that ran handlers run later ones. Those that the load does not need for two sweeps,
// one to two seconds, end; so do all with the last connection.
func TestIdleGoroutinesRunLaterHandlersAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 0)
		var a, b queue
		none := workers()
		goroutines := func(want int, when string) {
			t.Helper()
			synctest.Wait()
			if got := workers() - none; got != want {
				t.Errorf("%s: %d goroutines, want %d", when, got, want)
			}
		}
		load := func(n int) {
			t.Helper()
			for i := range n {
				s.start(&a, string(rune('a'+i)), true)
			}
			for len(s.running) > 0 {
				for name := range s.running {
					s.end(name)
				}
			}
		}
		load(10)
		goroutines(10, "after 10 handlers at a time")
		for range 30 {
			load(4)
			goroutines(10, "after 4 at a time, at once")
		}
		clear(s.used)
		for range 8 {
			time.Sleep(300 * time.Millisecond)
			load(4)
		}
		goroutines(4, "after 2.4 s of 4 at a time")
		if len(s.used) != 4 {
			t.Errorf("%d goroutines ran the handlers of these 2.4 s, want 4", len(s.used))
		}
		load(10)
		goroutines(10, "after 10 again")
		time.Sleep(2100 * time.Millisecond)
		goroutines(0, "after a pause")
		load(3)
		s.start(&b, "other", true)
		s.Leave(&a)
		goroutines(3, "with another connection")
		s.end("other")
		s.Leave(&b)
		goroutines(0, "without a connection")
		time.Sleep(time.Minute) // no sweep is left that finds anything
		load(2)
		s.finish(&a)
		goroutines(0, "at the end")
	})
}

// A Queue reports whether Requests wait in it, until they run or are removed.
func TestQueueReportsWaitingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := newServer(t, 1), new(queue)
		wants := func(when string, want bool) {
			t.Helper()
			if q.Waiting() != want {
				t.Errorf("%s: found %t, want %t", when, !want, want)
			}
		}
		wants("at first", false)
		s.start(q, "own", true)
		s.start(q, "shared", true)
		wants("none waits", false)
		s.start(q, "waits", false)
		s.start(q, "waits too", false)
		wants("two wait", true)
		s.end("own", "waits")
		wants("one waits", true)
		s.end("shared", "waits too")
		wants("all run", false)
		s.start(q, "removed", false)
		wants("one waits again", true)
		s.RemoveAll(q, func(*request) {})
		wants("it was removed", false)
		s.end("waits")
		s.end("waits too")
		s.Leave(q)
	})
}

// Sources take turns, however many connections they have. A connection from this machine has its
// own turn.
func TestSourcesTakeTurnsAtTheSharedPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 1)
		queues := make(map[string]*queue)
		var all []*queue
		for _, name := range []string{"a1", "a2", "a3", "b1", "l1", "l2"} {
			q := new(queue)
			source := admission.Source{Local: true}
			if name[0] != 'l' {
				source = at(int(name[0]))
			}
			s.Join(q, source)
			queues[name], all = q, append(all, q)
			s.start(q, name+" own", true)
		}
		s.start(queues["a1"], "a1 1", true)
		for _, name := range []string{"a1 2", "a1 3", "a2 1", "a2 2", "a3 1", "b1 1", "b1 2", "l1 1", "l1 2", "l2 1"} {
			s.start(queues[name[:2]], name, false)
		}
		last := "a1 1"
		for _, next := range []string{"a1 2", "b1 1", "l1 1", "l2 1", "a2 1", "b1 2", "l1 2", "a3 1", "a1 3", "a2 2"} {
			s.end(last, next)
			last = next
		}
		s.finish(all...)
		// The source of connections that have left is forgotten.
		late := new(queue)
		s.Join(late, at('a'))
		s.start(late, "late", true)
		s.finish(late)
	})
}

// Requests of a connection whose peer may have gone get shared places when no other waits, and
// still the connection's own one.
func TestRecededConnectionsComeLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, 1)
		gone, other := new(queue), new(queue)
		s.Join(gone, at(1))
		s.Join(other, at(2))
		s.start(gone, "own", true)
		s.start(gone, "shared", true)
		for _, name := range []string{"g1", "g2", "g3"} {
			s.start(gone, name, false)
		}
		s.Recede(gone)
		s.start(gone, "g4", false)
		s.start(other, "o", true)
		for _, name := range []string{"o1", "o2"} {
			s.start(other, name, false)
		}
		s.end("shared", "o1")
		s.end("own", "g1")
		s.end("o1", "o2")
		s.end("o2", "g2")
		s.end("g2", "g3")
		s.RemoveAll(gone, func(*request) {})
		s.Recede(gone)
		s.end("g3", []string{}...)
		s.finish(gone, other)
	})
}

// workers counts the goroutines that run handlers or wait for some.
func workers() int {
	b := make([]byte, 1<<20)
	return strings.Count(string(b[:runtime.Stack(b, true)]), "]).work(")
}
