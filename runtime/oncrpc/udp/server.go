package udp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Server serves the Calls that come to one address. Listen makes one. All methods are safe for
// concurrent use.
type Server struct {
	set      settings
	log      *slog.Logger
	sock     *net.UDPConn
	local    netip.AddrPort
	wildcard bool // the address that a Call came to is in the control data
	handler  oncrpc.Handler
	ctx      context.Context // ends when the server takes no more Calls
	stop     context.CancelCauseFunc
	run      context.Context // of the Requests; ends with Close
	cancel   context.CancelCauseFunc
	wg       sync.WaitGroup // the reader, and handlers

	memory admission.Budget
	blocks admission.Blockers
	inline admission.Inline // handlers on the goroutine that reads

	mu       sync.Mutex
	answered sync.Cond // requests has become smaller
	requests int       // not answered
	peers    map[peerKey]*peer
	sources  map[netip.Prefix]*source
	swept    time.Time // when sources were removed
	stats    ServerStats
}

// ServerStats holds the counts of a Server. They only grow.
type ServerStats struct {
	Calls    uint64 // that got to the handler
	Repeated uint64 // Calls that came again while the first was in progress
	Garbage  uint64 // datagrams that are not a Call, or came to many hosts
	Excess   uint64 // Calls ignored for Config.MaxRequests or MaxMemory, or of too many sources
	Withheld uint64 // replies not sent because of Config.ReplyRate
}

// Listen starts a server at an address of the form that net.ListenPacket has for "udp". ctx bounds
// the call of Listen, not the server. cfg may be nil. h must not be nil. The caller must Close the
// server.
func Listen(ctx context.Context, addr string, h oncrpc.Handler, cfg *Config) (*Server, error) {
	if h == nil {
		return nil, fmt.Errorf("udp: listen at %q: no Handler", addr)
	}
	var lc net.ListenConfig
	pc, err := lc.ListenPacket(ctx, "udp", addr)
	if err != nil {
		return nil, err
	}
	return serve(pc.(*net.UDPConn), h, cfg)
}

// Serve starts a server at a socket, which it closes. Nothing else may read from the socket. cfg
// may be nil. h must not be nil.
func Serve(sock *net.UDPConn, h oncrpc.Handler, cfg *Config) (*Server, error) {
	if h == nil {
		return nil, errors.Join(fmt.Errorf("udp: serve at %q: no Handler", sock.LocalAddr()), sock.Close())
	}
	return serve(sock, h, cfg)
}

func serve(sock *net.UDPConn, h oncrpc.Handler, cfg *Config) (*Server, error) {
	set := cfg.settle()
	s := &Server{
		set: set, log: set.Logger, sock: sock, handler: h, local: sock.LocalAddr().(*net.UDPAddr).AddrPort(),
		peers: make(map[peerKey]*peer), sources: make(map[netip.Prefix]*source),
	}
	s.answered.L = &s.mu
	s.watchInline()
	if set.MaxMemory != math.MaxInt {
		s.memory.Most, s.memory.Reply = set.MaxMemory/3*2, min(largestReply, set.MaxMemory/3)
	}
	if s.wildcard = s.local.Addr().IsUnspecified(); s.wildcard {
		if err := reportLocal(sock); err != nil {
			return nil, errors.Join(fmt.Errorf("udp: listen at %q: the address that a Call comes to is not known: name an address of this host: %w", sock.LocalAddr(), err), sock.Close())
		}
	}
	s.run, s.cancel = context.WithCancelCause(context.Background())
	s.ctx, s.stop = context.WithCancelCause(s.run)
	s.wg.Go(s.read)
	return s, nil
}

// Addr returns the address of the server.
func (s *Server) Addr() string { return s.local.String() }

// Stats returns the counts.
func (s *Server) Stats() ServerStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Close takes no more Calls, ends Request.Context, and waits for the handlers to answer the
// Requests that they have and to return. Their replies are sent. If that takes 10 s, it logs a
// warning and keeps waiting. Close must not be called from a handler or a done function, because it
// waits for them.
func (s *Server) Close() error {
	s.end()
	s.cancel(oncrpc.ErrClosed)
	defer time.AfterFunc(closeWarning, s.warnClose).Stop()
	s.mu.Lock()
	for s.requests > 0 {
		s.answered.Wait()
	}
	s.mu.Unlock()
	s.wg.Wait()
	s.inline.Forget()
	if err := s.sock.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Shutdown takes no more Calls, waits for the handlers to answer those that they have, and then
// closes the server as Close does. Calls that come during that time are ignored: their callers send
// them again. If ctx ends first, the error wraps its cause, and Close must be called. Shutdown must
// not be called from a handler or a done function, because it waits for them.
func (s *Server) Shutdown(ctx context.Context) error {
	s.end()
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock() // the wait has begun, or sees that ctx is done
		s.answered.Broadcast()
		s.mu.Unlock()
	})
	defer stop()
	s.mu.Lock()
	for s.requests > 0 && ctx.Err() == nil {
		s.answered.Wait()
	}
	n := s.requests
	s.mu.Unlock()
	if n > 0 {
		return fmt.Errorf("udp: shutdown of %q: handlers have not answered %d Calls; Close ends Request.Context and waits for the handlers: %w", s.Addr(), n, context.Cause(ctx))
	}
	return s.Close()
}

// end takes no more Calls.
func (s *Server) end() {
	s.stop(oncrpc.ErrClosed)
	_ = s.sock.SetReadDeadline(time.Unix(1, 0)) // stops the reader
}

// Done returns a channel that is closed when the server takes no more Calls. Err then returns the
// reason.
func (s *Server) Done() <-chan struct{} { return s.ctx.Done() }

// Err returns the reason why the server takes no more Calls: oncrpc.ErrClosed or the error of the
// socket. It returns nil before Done is closed.
func (s *Server) Err() error { return context.Cause(s.ctx) }

// closeWarning is the time after which Close logs that it still waits.
const closeWarning = 10 * time.Second

// warnClose logs that Close still waits for handlers.
func (s *Server) warnClose() {
	s.mu.Lock()
	n := s.requests
	s.mu.Unlock()
	s.set.faults.Warn("udp: Close waits for handlers to answer and to return: Request.Context is done; a dump of all goroutines shows them",
		"at", s.Addr(), "unanswered", n)
}

// readPause is the pause after a failure to read.
const readPause = 50 * time.Millisecond

// read reads datagrams until the server is closed, or another goroutine does.
func (s *Server) read() {
	b, control := make([]byte, 1<<16), make([]byte, controlBytes)
	for {
		n, nc, _, from, err := s.sock.ReadMsgUDPAddrPort(b, control)
		switch {
		case s.ctx.Err() != nil:
			return
		case errors.Is(err, net.ErrClosed):
			s.stop(err)
			return
		case err != nil:
			s.log.Error("udp: a datagram could not be read", "reason", err)
			select {
			case <-s.ctx.Done():
			case <-time.After(readPause):
			}
		default:
			if !s.receive(b[:n], control[:nc], from) {
				return
			}
		}
	}
}

// minCall is the size of the shortest Call, one without credential, verifier and arguments (RFC
// 5531 §9).
const minCall = 40

// receive passes a Call to the handler. It returns false if another goroutine reads by now.
func (s *Server) receive(b, control []byte, from netip.AddrPort) bool {
	local, reply, ok := s.local, []byte(nil), true
	if s.wildcard {
		local, reply, ok = localOf(control, s.local.Port())
	}
	xid, typ, isMessage := oncrpc.Peek(b)
	if !ok || !isMessage || typ != oncrpc.MsgCall || len(b) < minCall || from.Port() == 0 {
		s.mu.Lock()
		s.stats.Garbage++
		s.mu.Unlock()
		return true
	}
	r := s.admit(xid, b, from, local, reply)
	if r == nil {
		return true
	}
	ran, reads := s.serveHere(r)
	if !ran {
		r.Serve(s.handler)
	}
	return reads
}

// admit returns the Request of a Call, or nil if a limit is reached, the server is closed or the
// Call is in progress already.
func (s *Server) admit(xid uint32, b []byte, from, local netip.AddrPort, control []byte) *request {
	r, limit := s.take(xid, b, from, local, control)
	if limit != "" {
		s.warnIgnored(limit, text(from))
	}
	return r
}

// warnIgnored logs that a Call was ignored.
func (s *Server) warnIgnored(limit, from string) {
	s.log.Warn("udp: a Call was ignored, and its client must send it again: a limit is reached", "limit", limit, "peer", from)
}

// take is admit, and names the limit.
func (s *Server) take(xid uint32, b []byte, from, local netip.AddrPort, control []byte) (r *request, limit string) {
	key := peerKey{from, local}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.peers[key]
	if p != nil && p.calls[xid] {
		s.stats.Repeated++
		return nil, ""
	}
	if s.ctx.Err() != nil {
		return nil, ""
	}
	src := s.source(from.Addr(), time.Now())
	memory := len(b)
	switch {
	case src == nil:
		limit = "the number of sources"
	case src.requests >= s.set.MaxRequests-s.requests:
		limit = "Config.MaxRequests"
	case !src.share.Take(memory, nil):
		limit = "Config.MaxMemory"
	}
	if limit != "" {
		s.stats.Excess++
		return nil, limit
	}
	if p == nil {
		p = newPeer(s.run, from, local, control)
		s.peers[key] = p
	}
	p.calls[xid] = true
	src.requests++
	s.requests++
	s.stats.Calls++
	r = &request{server: s, peer: p, source: src, ticket: src.share.Ticket(memory), key: key, xid: xid, size: len(b)}
	r.Responder, r.Message = r, append(make([]byte, 0, len(b)), b...)
	return r, ""
}

// release removes an answered Request.
func (s *Server) release(r *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(r.peer.calls, r.xid)
	if len(r.peer.calls) == 0 {
		s.peers[r.key].end(ErrIdle) // r.peer, or its successor after a panic: see abandon
		delete(s.peers, r.key)
	}
	r.source.requests--
	s.requests--
	s.answered.Broadcast()
}

// abandon closes the Conn of a handler that panicked. The client's next Call gets another Conn,
// unless it repeats a Call that is still in progress.
func (s *Server) abandon(r *request, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.peer.end(why)
	if s.peers[r.key] == r.peer {
		next := newPeer(s.run, r.key.remote, r.key.local, r.peer.control)
		next.calls = r.peer.calls
		s.peers[r.key] = next
	}
}
