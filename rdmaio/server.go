package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Server accepts connections and serves the Calls on them. Listen makes one.
type Server struct {
	dev     verbs.Device
	set     settings
	shared  *shared
	log     *slog.Logger // limited, for records that peers can cause
	ln      verbs.Listener
	handler Handler
	cancel  context.CancelFunc
	taking  context.Context // done when the server accepts no more connections
	stop    context.CancelCauseFunc
	wg      sync.WaitGroup // the accept loop and one for each connection

	limits   admission.Conns
	accepted atomic.Uint64
	rejected atomic.Uint64

	mu                    sync.Mutex
	conns                 map[*Conn]*place
	unused                admission.Unused[*Conn]
	watch                 *time.Timer // calls watchIdle; nil: there are no connections
	displaced, idleCloses uint64
	draining              bool
	errs                  []error // of connections' Close

	closing  sync.Once
	closeErr error
}

// Listen starts a server at an address in the form that the provider of dev defines. ctx bounds the
// call of Listen, not the server. cfg may be nil. h must not be nil. The caller must Close the
// server.
func Listen(ctx context.Context, dev verbs.Device, addr string, h Handler, cfg *Config) (*Server, error) {
	set, err := cfg.settle(dev, engine.Responder)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, fmt.Errorf("rdmaio: listen at %q: no Handler: %w", addr, verbs.ErrInvalidValue)
	}
	ln, err := dev.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{dev: dev, set: set, ln: ln, handler: h, cancel: cancel, conns: make(map[*Conn]*place), shared: newShared(&set)}
	s.log = s.shared.log
	s.limits.Most, s.limits.PerSource = set.MaxConns, set.MaxPerSource
	s.unused.Since = s.since
	s.taking, s.stop = context.WithCancelCause(run)
	s.shared.places.Most, s.shared.memory.Relief = set.MaxHandlers, s.relieve
	if set.MaxMemory > 0 {
		s.shared.memory.Most, s.shared.memory.Reply = max(1, set.MaxMemory/3*2), min(largestMessage, max(1, set.MaxMemory/3))
		s.shared.unused.Most = max(1, set.MaxMemory/8)
	}
	s.wg.Add(1)
	go s.accept(run)
	return s, nil
}

// Addr returns the address to pass to Dial.
func (s *Server) Addr() string { return s.ln.Addr() }

// accept accepts connection requests until the listener is closed.
func (s *Server) accept(ctx context.Context) {
	defer s.wg.Done()
	for {
		req, err := s.ln.Accept(s.taking)
		if err != nil {
			if s.taking.Err() == nil { // T129: the device is gone, for example
				err = fmt.Errorf("rdmaio: the server at %q accepts no more connections: %w", s.Addr(), err)
				s.log.Error(err.Error())
				s.stop(err)
			}
			return
		}
		s.wg.Add(1)
		go s.serve(ctx, req)
	}
}

// open makes a connection unless a limit is reached. The caller calls limits.Leave when it has
// closed the connection.
func (s *Server) open(from admission.Source) (*Conn, error) {
	verdict, n := s.limits.Enter(from)
	if verdict == admission.Full && s.makeRoom() {
		verdict, n = s.limits.Enter(from)
	}
	switch verdict {
	case admission.Full:
		s.limitHit(LimitMaxConns)
		return nil, fmt.Errorf("%w: it has %d connections, as many as Config.MaxConns allows, all in use", ErrServerFull, n)
	case admission.SourceFull:
		s.limitHit(LimitMaxPerSource)
		return nil, fmt.Errorf("%w: it has %d connections from %v, as many as Config.MaxPerSource allows", errSourceFull, n, from)
	}
	c, err := newConn(s.dev, &s.set, engine.Responder, s.handler, s.shared, from)
	if err != nil {
		s.limits.Leave(from)
		return nil, fmt.Errorf("%w: %w", errNoConn, err)
	}
	return c, nil
}

// limitHit emits the event of a rejected connection.
func (s *Server) limitHit(l Limit) {
	if s.set.Events != nil {
		s.set.Events(&LimitHit{Limit: l})
	}
}

// serve makes, serves and frees one connection.
func (s *Server) serve(ctx context.Context, req verbs.ConnRequest) {
	up := false
	defer func() {
		if !up {
			s.wg.Done()
		}
	}()
	peer := req.RemoteAddr()
	from := admission.SourceOf(s.Addr(), peer)
	log := s.log.With("peer", peer)
	c, err := s.open(from)
	if err != nil {
		s.rejected.Add(1)
		s.set.emitFailed(peer, true, err)
		log.Warn("rdmaio: a connection was rejected", "reason", err)
		s.reject(log, req, err)
		return
	}
	c.remote.Store(&peer)
	c.log, c.ends = log, s.shared.ends.With("peer", peer)
	c.negotiate(req.PrivateData())
	s.list(c, from)
	info, err := req.Accept(ctx, c.qp, s.set.params())
	if err != nil {
		s.rejected.Add(1)
		s.set.emitFailed(peer, true, err)
		log.Debug("rdmaio: a connection was not accepted", "reason", err)
		s.reject(log, req, err) // the peer may still wait for an answer
	} else {
		c.connected(info)
		up = s.attend(ctx, c)
	}
	if !up {
		s.finish(c)
	}
}

// finish frees a connection.
func (s *Server) finish(c *Conn) {
	err := c.finish()
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.conns[c]; !p.left {
		s.limits.Leave(p.from)
	}
	delete(s.conns, c)
	s.unused.Forget(c)
	if err != nil {
		s.errs = append(s.errs, err)
	}
}

// attend waits until host authentication lets a connection be up. Then it returns true. Afterwards
// the connection is freed when it is closed or ctx is done, without a goroutine that waits for
// that.
func (s *Server) attend(ctx context.Context, c *Conn) bool {
	if err := c.auth.await(ctx, c.ctx); err != nil {
		s.rejected.Add(1)
		s.set.emitFailed(c.RemoteAddr(), true, err)
		return false
	}
	c.emitUp()
	s.accepted.Add(1)
	s.up(c)
	stop := context.AfterFunc(ctx, c.end)
	context.AfterFunc(c.ctx, func() {
		stop()
		s.finish(c)
		s.wg.Done()
	})
	return true
}

// relieve closes connections whose peers are too slow with what they have asked for, because
// others wait for memory.
func (s *Server) relieve(waiting []any) {
	now := time.Now()
	admission.Relieve(waiting, s.Conns(), func(c *Conn) int { return c.answerer.unread.stuck(now) }, func(c *Conn, n int) {
		c.fail(fmt.Errorf("%w: it is too slow with %d bytes that it asked for or offered, and others wait (Config.MaxMemory)", ErrMemory, n))
	})
}

// Conns returns the connections that are up, in no order. A client may see its connection up a
// moment before it is listed here. A connection on which a handler got a Call is always listed.
func (s *Server) Conns() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Conn, 0, len(s.conns))
	for c, p := range s.conns {
		if p.up || c.driver.HadRequest() {
			all = append(all, c)
		}
	}
	return all
}

// list adds a connection in setup to conns.
func (s *Server) list(c *Conn, from admission.Source) {
	s.mu.Lock()
	s.conns[c] = &place{from: from}
	if s.watch == nil && s.set.IdleTimeout > 0 {
		s.watch = time.AfterFunc(s.set.IdleTimeout, s.watchIdle)
	}
	draining := s.draining
	s.mu.Unlock()
	s.drainIf(draining, c)
}

// up notes that a connection is up.
func (s *Server) up(c *Conn) {
	s.mu.Lock()
	s.conns[c].up = true
	draining := s.draining
	s.mu.Unlock()
	s.drainIf(draining, c)
}

// drainIf drains a connection that Shutdown did not see.
func (s *Server) drainIf(draining bool, c *Conn) {
	if draining && c.driver.StartDrain(ErrClosed) {
		c.driver.PostDrain()
	}
}

// Done returns a channel that is closed when the server accepts no more connections: Close or
// Shutdown was called, or the listener failed, for example because its device was removed. After a
// failure, existing connections stay up until Close or Shutdown.
func (s *Server) Done() <-chan struct{} { return s.taking.Done() }

// Err returns the reason why the server accepts no more connections: ErrClosed or the error of the
// listener. It returns nil before Done is closed.
func (s *Server) Err() error {
	if s.taking.Err() == nil {
		return nil
	}
	return context.Cause(s.taking)
}

// ServerStats holds the counts of a Server. Those above Conns only grow.
type ServerStats struct {
	// Accepted is the number of connections that came up.
	Accepted uint64

	// Rejected is the number of connection requests that failed, because of Config.MaxConns or
	// MaxPerSource, for lack of resources, because the peer went away, or because it did not
	// authenticate.
	Rejected uint64

	// IdleCloses is the number of connections closed after Config.IdleTimeout, and Displaced the
	// number of idle ones closed to make room for others (Config.MaxConns).
	IdleCloses, Displaced uint64

	// Conns is the number of connections that are up.
	Conns int

	// Memory is the number of bytes that Calls with chunks and replies take on all connections, and
	// in version 2 continued messages and kept replies (Config.MaxMemory).
	Memory int64
}

// Stats returns the counts. Conn.Stats returns a connection's counts.
func (s *Server) Stats() ServerStats {
	st := ServerStats{Accepted: s.accepted.Load(), Rejected: s.rejected.Load(), Conns: len(s.Conns()), Memory: s.shared.memory.Used()}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.IdleCloses, st.Displaced = s.idleCloses, s.displaced
	return st
}

// Close stops listening and closes all connections as Conn.Close does. The rules of Conn.Close
// apply. Further calls return the same error.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.stop(ErrClosed)
		s.cancel()
		err := s.ln.Close()
		defer time.AfterFunc(closeWarning, func() {
			n := 0
			for _, c := range s.Conns() {
				n += c.driver.Unanswered()
			}
			s.set.warnClose(n, s.Addr())
		}).Stop()
		s.wg.Wait()
		s.closeErr = errors.Join(append(s.errs, err)...)
	})
	return s.closeErr
}

// reject rejects a connection request, because of why. If it was answered already, that is an error
// of the provider.
func (s *Server) reject(log *slog.Logger, req verbs.ConnRequest, why error) {
	reason := rejectedOther
	switch {
	case errors.Is(why, errSourceFull):
		reason = rejectedSource
	case errors.Is(why, ErrServerFull):
		reason = rejectedFull
	case errors.Is(why, errNoConn):
		reason = rejectedNoRoom
	}
	if err := req.Reject(reason.privateData(s.dev.Attributes().MaxPrivateData)); err != nil {
		log.Debug("rdmaio: a connection request could not be rejected", "reason", err)
	}
}
