package tcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/internal/deadpeer"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Server accepts connections and serves the Calls on them. Listen makes one.
type Server struct {
	set     settings
	log     *slog.Logger
	ln      net.Listener
	handler oncrpc.Handler
	shared  *shared
	rate    admission.Bucket
	limits  admission.Conns
	ctx     context.Context // ends when the server accepts no more connections
	stop    context.CancelCauseFunc
	wg      sync.WaitGroup // the accept loop and each connection

	mu     sync.Mutex
	conns  map[*Conn]*place
	unused admission.Unused[*Conn]
	late   admission.Late[net.Conn]
	watch  *time.Timer // calls watchIdle; nil: there are no connections
	stats  ServerStats
}

// ServerStats holds the counts of a Server. Those above Conns only grow.
type ServerStats struct {
	Accepted   uint64 // connections that were served
	Rejected   uint64 // not served, for Config.MaxConns, MaxPerSource, or as many peers had left
	IdleCloses uint64 // connections closed after Config.IdleTimeout
	Displaced  uint64 // idle connections closed to make room for others (Config.MaxConns)
	Conns      int    // connections that are up
	Memory     int    // bytes that Requests and replies take (Config.MaxMemory)
}

// Listen starts a server at an address of the form that net.Listen has for "tcp", or at a socket of
// this machine, such as "unix:/run/notes.sock" (see "Local sockets" in the documentation
// of the package). ctx bounds the call of Listen, not the server. cfg may be nil. h must not be
// nil. The caller must Close the server.
func Listen(ctx context.Context, addr string, h oncrpc.Handler, cfg *Config) (*Server, error) {
	set := cfg.settle()
	ln, err := listenStream(ctx, addr, set.SocketMode)
	if err != nil {
		return nil, err
	}
	return serve(ln, h, set)
}

// Serve starts a server that accepts the connections of a listener, which it closes. cfg may be
// nil.
func Serve(ln net.Listener, h oncrpc.Handler, cfg *Config) (*Server, error) {
	return serve(ln, h, cfg.settle())
}

func serve(ln net.Listener, h oncrpc.Handler, set settings) (*Server, error) {
	if h == nil {
		return nil, errors.Join(fmt.Errorf("tcp: listen at %q: no Handler", ln.Addr()), ln.Close())
	}
	if err := set.settleTLS(true); err != nil {
		return nil, errors.Join(fmt.Errorf("tcp: listen at %q: %w", ln.Addr(), err), ln.Close())
	}
	set.fit()
	s := &Server{
		set: set, log: set.Logger, ln: ln, handler: h, rate: admission.Bucket{Rate: set.AcceptRate},
		limits: admission.Conns{Most: set.MaxConns, PerSource: set.MaxPerSource}, conns: make(map[*Conn]*place),
	}
	s.unused.Since = s.since
	s.shared = newShared(set.MaxMemory, set.MaxReply, set.MaxHandlers)
	s.shared.budget.Relief, s.shared.ended = s.relieve, s.finish
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	s.wg.Add(1)
	go s.accept()
	return s, nil
}

// Addr returns the address of the listener, in the form that Dial takes.
func (s *Server) Addr() string { return addressOf(s.ln.Addr()) }

// acceptPause is the pause after a failure to accept, for want of file descriptors for example.
const acceptPause = 50 * time.Millisecond

// accept accepts connections until the listener is closed. It yields after each one: the
// connections that there are come first, and a busy scheduler runs 60 other goroutines before this
// one. It does not yield after a late one, whose peer has closed its direction already, and does
// not count it for AcceptRate, so that others do not wait for it in the system's queue.
func (s *Server) accept() {
	defer s.wg.Done()
	for passed := 0; ; {
		if s.set.AcceptRate > 0 {
			s.pause(s.rate.Reserve(time.Now()))
		}
		nc, err := s.ln.Accept()
		switch {
		case s.ctx.Err() != nil:
			if err == nil {
				_ = nc.Close()
			}
			return
		case errors.Is(err, net.ErrClosed):
			s.stop(err)
			return
		case err != nil:
			s.log.Error("tcp: a connection could not be accepted", "reason", err)
			s.pause(acceptPause)
		default:
			late := deadpeer.HasLeft(nc)
			s.open(nc, late)
			if late && s.set.AcceptRate > 0 {
				s.rate.Return()
			}
			if passed++; !late || passed == passLate {
				passed = 0
				runtime.Gosched()
			}
		}
	}
}

// passLate is the number of late connections that are accepted in a row.
const passLate = 256

// pause waits for d, or until the server accepts no more connections.
func (s *Server) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
}

// open serves a connection, or lets it wait if it is late: see admission.Late.
func (s *Server) open(nc net.Conn, late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !late || s.ctx.Err() != nil {
		s.start(nc, false)
		return
	}
	serve, drop := s.late.Enter(nc)
	for _, nc := range drop {
		s.stats.Rejected++
		_ = nc.Close()
	}
	if serve {
		s.startLate(nc)
	}
}

// startLate serves a connection that admission.Late lets in, or else the next one. s.mu must be
// held.
func (s *Server) startLate(nc net.Conn) {
	for ok := true; ok && !s.start(nc, true); {
		nc, ok = s.late.Leave()
	}
}

// start serves a connection unless a limit is reached, and reports whether it does. s.mu must be
// held.
func (s *Server) start(nc net.Conn, late bool) bool {
	if s.ctx.Err() != nil { // the server is closing
		_ = nc.Close()
		return false
	}
	source := admission.SourceOf(nc.LocalAddr().String(), nc.RemoteAddr().String())
	if verdict, why := s.admit(source); why != nil {
		s.stats.Rejected++
		s.log.Warn("tcp: a connection was rejected", "peer", endsOf(nc, true).remote, "reason", why)
		s.reject(nc, verdict)
		return false
	}
	c := newConn(nc, &s.set, true, s.handler, s.shared)
	s.stats.Accepted++
	s.conns[c] = &place{source: source, late: late}
	s.wg.Add(1)
	if s.watch == nil && s.set.IdleTimeout > 0 {
		s.watch = time.AfterFunc(s.set.IdleTimeout, s.watchIdle)
	}
	return true
}

// reject sends a rejection and closes the connection. The write to a new socket does not block,
// because its buffer has room. A write to another kind of stream may block until the peer reads, so
// it has a goroutine, for a second.
func (s *Server) reject(nc net.Conn, why admission.Verdict) {
	say := func() {
		_ = nc.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = nc.Write(rejection(why))
		_ = nc.Close()
	}
	switch nc.(type) {
	case *net.TCPConn, *net.UnixConn:
		say()
	default:
		s.wg.Go(say)
	}
}

// admit counts a connection. It returns an error if the source has too many, or if the server has,
// and all are in use. s.mu must be held.
func (s *Server) admit(source admission.Source) (admission.Verdict, error) {
	verdict, n := s.limits.Enter(source)
	if verdict == admission.Full && s.makeRoom() {
		verdict, n = s.limits.Enter(source)
	}
	switch verdict {
	case admission.Full:
		return verdict, fmt.Errorf("tcp: the server has %d connections, as many as Config.MaxConns allows, all in use", n)
	case admission.SourceFull:
		return verdict, fmt.Errorf("tcp: the server has %d connections from %v, as many as Config.MaxPerSource allows", n, source)
	}
	return verdict, nil
}

// finish waits for a connection that is down, and stops counting it.
func (s *Server) finish(c *Conn) {
	s.mu.Lock() // until open has listed it
	p := s.conns[c]
	s.mu.Unlock()
	defer s.wg.Done()
	c.finish()
	c.reserved.share.Leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.left {
		s.limits.Leave(p.source)
	}
	delete(s.conns, c)
	s.unused.Forget(c)
	if !p.late {
		return
	}
	if nc, ok := s.late.Leave(); ok {
		s.startLate(nc)
	}
}

// relieve closes connections that keep memory, because others wait for it.
func (s *Server) relieve(waiting []any) {
	s.closeStuck(waiting)
	s.closeLargest(waiting)
	s.closeEnded(waiting)
}

// closeEnded closes the connections of clients that have closed their direction, where a Request
// and another connection wait: most such clients have gone, and each keeps 64 Requests or more.
func (s *Server) closeEnded(waiting []any) {
	now := time.Now()
	for _, o := range waiting {
		c := o.(*Conn)
		if c.half.late(now) && slices.ContainsFunc(waiting, func(o any) bool { return o != any(c) }) {
			c.fail(fmt.Errorf("%w: it closed its direction, no reply went in %v, and others wait for memory (Config.MaxMemory)", ErrLimit, resetTime))
		}
	}
}

// closeLargest closes the connection with the largest record that makes no progress, if its source
// has more than an even part of the memory, and others wait.
func (s *Server) closeLargest(waiting []any) {
	now := time.Now()
	var largest *Conn
	most := int64(0)
	for _, c := range s.Conns() {
		if n := c.trickles(now); n > most && c.reserved.share.Excessive() {
			largest, most = c, n
		}
	}
	if largest != nil && slices.ContainsFunc(waiting, func(o any) bool { return o != any(largest) }) {
		largest.fail(fmt.Errorf("%w: less than 64 KiB of its record came in %v, the record has %d bytes of memory, and others wait for memory (Config.MaxMemory)", ErrLimit, slowTime, most))
	}
}

// closeStuck closes the connections whose peers read too little of their replies.
func (s *Server) closeStuck(waiting []any) {
	now := time.Now()
	admission.Relieve(waiting, s.Conns(), func(c *Conn) int { return c.stuck(now) }, func(c *Conn, n int) {
		c.fail(fmt.Errorf("%w: it reads too little of %d bytes of replies, and others wait for memory (Config.MaxMemory)", ErrLimit, n))
	})
}

// Conns returns the connections that are up, in no particular order.
func (s *Server) Conns() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		all = append(all, c)
	}
	return all
}

// Stats returns the counts.
func (s *Server) Stats() ServerStats {
	s.mu.Lock()
	st := s.stats
	st.Conns = len(s.conns)
	s.mu.Unlock()
	st.Memory = int(s.shared.budget.Used())
	return st
}

// Done returns a channel that is closed when the server accepts no more connections. Err then
// returns the reason.
func (s *Server) Done() <-chan struct{} { return s.ctx.Done() }

// Err returns the reason why the server accepts no more connections: oncrpc.ErrClosed or the error
// of the listener. It returns nil before Done is closed.
func (s *Server) Err() error { return context.Cause(s.ctx) }

// Close stops listening and closes all connections as Conn.Close does. The rules of Conn.Close
// apply.
func (s *Server) Close() error {
	err := s.end()
	for _, c := range s.Conns() {
		c.fail(oncrpc.ErrClosed)
	}
	defer time.AfterFunc(closeWarning, func() {
		n := 0
		for _, c := range s.Conns() {
			n += c.unanswered()
		}
		s.set.warnClose(n, s.Addr())
	}).Stop()
	s.wg.Wait()
	return err
}

// Shutdown closes a server without losing Calls that handlers have. It stops listening, closes each
// connection when its handlers have answered and the answers are written, and waits for that. Calls
// that come during that time are dropped: their callers see the connection close, and a Client
// sends them again. If ctx ends first, the error wraps its cause, and Close must be called.
// Shutdown must not be called from a handler or a done function, because it waits for them.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.end()
	done := make(chan struct{})
	go func() {
		var drains sync.WaitGroup
		for _, c := range s.Conns() {
			drains.Go(c.drain)
		}
		drains.Wait()
		s.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("tcp: shutdown of %q: handlers have not answered their Calls on up to %d connections; Close ends Request.Context, discards the answers and waits for the handlers: %w", s.Addr(), len(s.Conns()), context.Cause(ctx))
	}
}

// end stops listening.
func (s *Server) end() error {
	s.mu.Lock() // open adds no connection afterwards
	s.stop(oncrpc.ErrClosed)
	for _, nc := range s.late.RemoveAll() {
		_ = nc.Close()
	}
	s.mu.Unlock()
	if err := s.ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
