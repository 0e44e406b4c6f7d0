package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// streams is a listener of streams whose results the test gives.
type streams struct {
	results chan any // a net.Conn or an error
	once    sync.Once
	done    chan struct{}

	mu sync.Mutex
	at []time.Time // calls of Accept
}

func newStreams() *streams { return &streams{results: make(chan any), done: make(chan struct{})} }

func (s *streams) Accept() (net.Conn, error) {
	s.mu.Lock()
	s.at = append(s.at, time.Now())
	s.mu.Unlock()
	select {
	case r := <-s.results:
		if err, ok := r.(error); ok {
			return nil, err
		}
		return r.(net.Conn), nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

func (s *streams) Close() error {
	s.once.Do(func() { close(s.done) })
	return nil
}

func (s *streams) Addr() net.Addr { return &net.TCPAddr{} }

// pauses is a log handler that collects the attribute next_try_in.
type pauses struct {
	slog.Handler
	list []time.Duration
}

func (p *pauses) Enabled(context.Context, slog.Level) bool { return true }

func (p *pauses) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "next_try_in" {
			p.list = append(p.list, a.Value.Duration())
		}
		return true
	})
	return nil
}

// listening is a listener of a device without a network. It runs in a bubble of synctest.
type listening struct {
	*streams
	*listener
	d *Device
}

func (l *listening) Close() error { return l.listener.Close() }

func listen(t *testing.T, set func(*Config)) *listening {
	t.Helper()
	cfg := toyConfig(100)
	if set != nil {
		set(&cfg)
	}
	d, tcp := openToy(t, cfg), newStreams()
	ln, err := d.listenOn(tcp)
	if err != nil {
		t.Fatal(err)
	}
	l := &listening{tcp, ln.(*listener), d}
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return l
}

// connect makes the listener accept a connection, and returns both ends.
func (l *listening) connect(t *testing.T, from string) (*recorded, net.Conn) {
	conn, there := recordedPipe(t)
	conn.from = from
	l.results <- conn
	synctest.Wait()
	return conn, there
}

// A listener that cannot accept pauses: a millisecond at first, twice as long after each further
// error, a second at most. After a connection it begins again.
func TestPausesOfAListenerGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &pauses{}
		l := listen(t, func(c *Config) { c.Logger, c.LogRate = slog.New(log), -1 })
		var want []time.Duration
		for pause := time.Millisecond; len(want) < 12; pause = min(2*pause, time.Second) {
			l.results <- syscall.EMFILE
			want = append(want, pause)
		}
		conn, there := l.connect(t, "192.0.2.1")
		there.Close()
		l.results <- syscall.EMFILE
		synctest.Wait()
		if want = append(want, time.Millisecond); !slices.Equal(log.list, want) {
			t.Errorf("pauses %v, want %v", log.list, want)
		}
		if !conn.isClosed() {
			t.Error("a connection whose handshake has failed is open")
		}
	})
}

// A listener accepts AcceptRate connections in a second. It closes in a pause as well.
func TestListenerKeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, func(c *Config) { c.AcceptRate = 2 })
		start := time.Now()
		for range 5 {
			_, there := l.connect(t, "192.0.2.1")
			there.Close()
			synctest.Wait()
		}
		time.Sleep(time.Second)
		var got []time.Duration
		l.streams.mu.Lock()
		for _, at := range l.at {
			got = append(got, at.Sub(start))
		}
		l.streams.mu.Unlock()
		const half = time.Second / 2
		if want := []time.Duration{0, 0, half, 2 * half, 3 * half, 4 * half}; !slices.Equal(got, want) {
			t.Errorf("connections are accepted at %v, want %v", got, want)
		}
		l.connect(t, "192.0.2.1")
		l.Close() // while it waits for its rate
	})
}

// Of more than MaxHandshakes connections in the handshake the oldest is closed. Close closes all.
// They are counted as refused, and the device keeps none.
func TestHandshakesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, func(c *Config) { c.MaxHandshakes = 2 })
		var conns []*recorded
		closed := func() (list []bool) {
			synctest.Wait()
			for _, c := range conns {
				list = append(list, c.isClosed())
			}
			return list
		}
		for _, want := range [][]bool{{false}, {false, false}, {true, false, false}, {true, true, false, false}} {
			conn, _ := l.connect(t, "192.0.2.1")
			conns = append(conns, conn)
			if got := closed(); !slices.Equal(got, want) {
				t.Errorf("closed %v, want %v", got, want)
			}
		}
		l.Close()
		if got := closed(); slices.Contains(got, false) {
			t.Errorf("after Close: closed %v", got)
		}
		if open, sources := l.d.open(); open != 0 || sources != 0 {
			t.Errorf("%d connections of %d sources are left", open, sources)
		}
		if s := l.d.Stats(); s.RefusedHandshake != 4 || s.Refused != 4 {
			t.Errorf("%+v, want 4 failed handshakes", s)
		}
	})
}

// A connection that the listener has no room for is closed, or refused with the framing's answer,
// and counted by the reason.
func TestRefusalsAreCountedByTheirReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, func(c *Config) { c.MaxPerSource, c.MaxConnections, c.Backlog = 2, 3, 1 })
		ask := func(from string) (conn *recorded, answer []byte) {
			conn, there := l.connect(t, from)
			var end sync.WaitGroup
			end.Go(func() {
				there.Write(hello())
				there.SetReadDeadline(time.Now().Add(time.Millisecond))
				answer, _ = io.ReadAll(there)
			})
			end.Wait()
			synctest.Wait()
			return conn, answer
		}
		type counts struct{ full, source, handshake, backlog int64 }
		expect := func(what string, conn *recorded, closed bool, want counts) {
			t.Helper()
			s := l.d.Stats()
			if got := (counts{s.RefusedFull, s.RefusedSource, s.RefusedHandshake, s.RefusedBacklog}); got != want || conn.isClosed() != closed {
				t.Errorf("%s: %+v, want %+v; closed %v", what, got, want, conn.isClosed())
			}
		}
		conn, answer := ask("192.0.2.1")
		if expect("a request", conn, false, counts{}); len(answer) != 0 {
			t.Errorf("it is answered with % x", answer)
		}
		refused := (&toyOffer{toy: l.d.cfg.Framing.(*toy)}).Refuse()
		conn, answer = ask("192.0.2.1")
		if time.Sleep(lingerTime); !bytes.Equal(answer, refused) {
			t.Errorf("a request without room is answered with % x, want % x", answer, refused)
		}
		expect("a request without room", conn, true, counts{backlog: 1})
		silent, _ := l.connect(t, "192.0.2.1")
		conn, _ = l.connect(t, "192.0.2.1")
		expect("a third of its source", conn, true, counts{backlog: 1, source: 1})
		l.connect(t, "192.0.2.2")
		conn, _ = l.connect(t, "192.0.2.3")
		expect("a fourth of all", conn, true, counts{backlog: 1, source: 1, full: 1})
		time.Sleep(l.d.cfg.HandshakeTimeout)
		synctest.Wait()
		expect("silent ones", silent, true, counts{backlog: 1, source: 1, full: 1, handshake: 2})
		if open, sources := l.d.open(); open != 1 || sources != 1 {
			t.Errorf("%d connections of %d sources, want the request's", open, sources)
		}
		req, err := l.listener.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		req.Reject(nil)
	})
}

// A request that comes when the listener has closed is refused, not queued.
func TestRequestAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, nil)
		l.Close()
		conn, there := recordedPipe(t)
		go func() {
			there.Write(hello())
			io.Copy(io.Discard, there)
		}()
		l.handshake(conn)
		time.Sleep(lingerTime)
		synctest.Wait()
		if s := l.d.Stats(); len(l.queue) != 0 || s.RefusedBacklog != 1 || !conn.isClosed() {
			t.Errorf("%d requests are queued, closed %v, %+v", len(l.queue), conn.isClosed(), s)
		}
		if _, err := l.listener.Accept(t.Context()); !errors.Is(err, verbs.ErrClosed) {
			t.Errorf("%v, want %v", err, verbs.ErrClosed)
		}
	})
}
