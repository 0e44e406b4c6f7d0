package rdmaio

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Server accepts connections and serves the Calls on them.
type Server struct {
	dev     verbs.Device
	set     settings
	shared  shared
	log     *slog.Logger // for what peers can cause
	ln      verbs.Listener
	handler Handler
	cancel  context.CancelFunc
	taking  context.Context // ends when no more connections are taken
	stop    context.CancelCauseFunc
	wg      sync.WaitGroup // the accept loop and one for each connection

	opened   atomic.Int64 // connections
	accepted atomic.Uint64
	rejected atomic.Uint64

	mu       sync.Mutex
	conns    map[*Conn]bool // whether each was set up; else it is being
	draining bool
	errs     []error // of connections' Close

	closing  sync.Once
	closeErr error
}

// Listen starts a server at an address as the provider of dev wants it. The
// context bounds the call, not the server. cfg may be nil.
func Listen(ctx context.Context, dev verbs.Device, addr string, h Handler, cfg *Config) (*Server, error) {
	attrs := dev.Attributes()
	set, err := cfg.settle(&attrs, engine.Responder)
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
	s := &Server{dev: dev, set: set, log: newLimited(set.Logger), ln: ln, handler: h, cancel: cancel, conns: make(map[*Conn]bool)}
	s.taking, s.stop = context.WithCancelCause(run)
	s.shared.log, s.shared.ends, s.shared.faults = s.log, newLimited(set.Logger), newLimited(set.faults)
	s.shared.memory.most = int64(set.MaxMemory)
	s.shared.places.most = set.MaxHandlers
	s.wg.Add(2)
	go s.accept(run)
	go s.trim(run)
	return s, nil
}

// Addr is the address to Dial.
func (s *Server) Addr() string { return s.ln.Addr() }

// accept takes connection requests until the listener is closed.
func (s *Server) accept(ctx context.Context) {
	defer s.wg.Done()
	for {
		req, err := s.ln.Accept(s.taking)
		if err != nil {
			if s.taking.Err() == nil { // not by Close: the device is gone, say (T129)
				err = fmt.Errorf("rdmaio: the server at %q takes no more connections: %w", s.Addr(), err)
				s.log.Error(err.Error())
				s.stop(err)
			}
			return
		}
		s.wg.Add(1)
		go s.serve(ctx, req)
	}
}

// idleCheck is how often a server looks for connections that have nothing to do.
const idleCheck = 30 * time.Second

// trim takes the memory that connections keep for Calls with chunks from those that were idle
// since it looked last: what a peer once needed is not his for good.
func (s *Server) trim(ctx context.Context) {
	defer s.wg.Done()
	tick := time.NewTicker(idleCheck)
	defer tick.Stop()
	seen := make(map[*Conn]uint64) // messages received by then
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		next := make(map[*Conn]uint64)
		for _, c := range s.Conns() {
			n := c.Stats().Received
			if last, ok := seen[c]; ok && last == n {
				if err := c.pool.Trim(); err != nil {
					s.log.Warn("rdmaio: memory of an idle connection", "reason", err)
				}
			}
			next[c] = n
		}
		seen = next
	}
}

// open makes a connection if there may be one more. Then opened is to be decremented when it is gone.
func (s *Server) open() (*Conn, error) {
	if n := s.opened.Add(1); n > int64(s.set.MaxConns) {
		s.opened.Add(-1)
		if s.set.Events != nil {
			s.set.Events(&LimitHit{Limit: LimitMaxConns})
		}
		return nil, fmt.Errorf("rdmaio: there are %d connections, Config.MaxConns allows no more", s.set.MaxConns)
	}
	c, err := newConn(s.dev, s.set, engine.Responder, s.handler, &s.shared)
	if err != nil {
		s.opened.Add(-1)
	}
	return c, err
}

// serve owns a connection from its request to its end.
func (s *Server) serve(ctx context.Context, req verbs.ConnRequest) {
	defer s.wg.Done()
	peer := req.RemoteAddr()
	log := s.log.With("peer", peer)
	c, err := s.open()
	if err != nil {
		s.rejected.Add(1)
		s.set.emitFailed(peer, true, err)
		log.Warn("rdmaio: no resources for a connection", "reason", err)
		reject(log, req)
		return
	}
	defer s.opened.Add(-1)
	c.remote.Store(&peer)
	c.log, c.ends = log, s.shared.ends.With("peer", peer)
	c.agree(req.PrivateData())
	s.list(c, false)
	info, err := req.Accept(ctx, c.qp, s.set.params())
	if err != nil {
		s.rejected.Add(1)
		s.set.emitFailed(peer, true, err)
		log.Debug("rdmaio: accept", "reason", err)
		reject(log, req) // it may stand unanswered, where the queue pair was lost before: the peer would wait
	} else {
		c.connected(info)
		c.emitUp()
		s.accepted.Add(1)
		s.list(c, true)
		select {
		case <-c.Done():
		case <-ctx.Done():
		}
	}
	err = c.Close()
	s.mu.Lock()
	delete(s.conns, c)
	if err != nil {
		s.errs = append(s.errs, err)
	}
	s.mu.Unlock()
}

// reject answers a request, if nobody did.
func reject(log *slog.Logger, req verbs.ConnRequest) {
	if err := req.Reject(nil); err != nil {
		log.Debug("rdmaio: reject", "reason", err)
	}
}

// Conns returns the connections there are now, in no order: those that were set up. The client of one may know that a moment before
// the server does; one on which a handler got a Call is there in any case.
func (s *Server) Conns() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Conn, 0, len(s.conns))
	for c, up := range s.conns {
		if up || c.used() {
			all = append(all, c)
		}
	}
	return all
}

// list lists a connection; up says that it was set up.
func (s *Server) list(c *Conn, up bool) {
	s.mu.Lock()
	s.conns[c] = up
	draining := s.draining
	s.mu.Unlock()
	if draining && c.startDrain() { // it came while Shutdown began
		c.postDrain()
	}
}

// Done is closed when the server takes no more connections: Close or Shutdown was called, or the listener
// failed, as when its device is removed. Connections that there are go on until one of the two is called.
func (s *Server) Done() <-chan struct{} { return s.taking.Done() }

// Err is why no more connections are taken: ErrClosed, or what became of the listener. nil before Done is closed.
func (s *Server) Err() error {
	if s.taking.Err() == nil {
		return nil
	}
	return context.Cause(s.taking)
}

// ServerStats counts what a Server did.
type ServerStats struct {
	Accepted uint64 // connections set up
	Rejected uint64 // connections asked for and not set up: Config.MaxConns, no resources, or the peer went away

	// State.
	Conns  int   // connections
	Memory int64 // bytes taken by Calls with chunks on all of them: see Config.MaxMemory
}

// Stats returns the counts. Those of a connection are its own.
func (s *Server) Stats() ServerStats {
	return ServerStats{Accepted: s.accepted.Load(), Rejected: s.rejected.Load(), Conns: len(s.Conns()), Memory: s.shared.memory.used.Load()}
}

// Close stops listening and closes all connections as Conn.Close does, whose
// rules hold. Idempotent.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.stop(ErrClosed)
		s.cancel()
		err := s.ln.Close()
		s.wg.Wait()
		s.closeErr = errors.Join(append(s.errs, err)...)
	})
	return s.closeErr
}
