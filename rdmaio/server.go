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
	wg      sync.WaitGroup // the accept loop and one for each connection

	opened atomic.Int64 // connections

	mu    sync.Mutex
	conns map[*Conn]struct{}
	errs  []error // of connections' Close

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
	s := &Server{dev: dev, set: set, log: newLimited(set.Logger), ln: ln, handler: h, cancel: cancel, conns: make(map[*Conn]struct{})}
	s.shared.memory.most = int64(set.MaxMemory)
	if set.MaxHandlers > 0 {
		s.shared.handlers = make(chan struct{}, set.MaxHandlers)
	}
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
		req, err := s.ln.Accept(ctx)
		if err != nil {
			if ctx.Err() == nil { // not by Close: the device is gone, say (T129)
				s.log.Error("rdmaio: the server takes no more connections", "reason", err)
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
	log := s.log.With("peer", req.RemoteAddr())
	c, err := s.open()
	if err != nil {
		log.Warn("rdmaio: no resources for a connection", "reason", err)
		reject(log, req)
		return
	}
	defer s.opened.Add(-1)
	c.remote = req.RemoteAddr()
	c.agree(req.PrivateData())
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	if _, err = req.Accept(ctx, c.qp, s.set.params()); err != nil {
		log.Debug("rdmaio: accept", "reason", err)
		reject(log, req) // it may stand unanswered, where the queue pair was lost before: the peer would wait
	} else {
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

// Conns returns the connections there are now, in no order.
func (s *Server) Conns() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		all = append(all, c)
	}
	return all
}

// Close stops listening and closes all connections as Conn.Close does, whose
// rules hold. Idempotent.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.cancel()
		err := s.ln.Close()
		s.wg.Wait()
		s.closeErr = errors.Join(append(s.errs, err)...)
	})
	return s.closeErr
}
