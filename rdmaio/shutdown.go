package rdmaio

import (
	"context"
	"fmt"
)

// Shutdown closes a server without losing Calls that handlers have. It stops listening, closes each
// connection when its handlers have answered, and then closes the server as Close does. Calls that
// arrive during that time are not delivered: their callers see the connection close, and a Client
// sends them again on another connection. Shutdown does not wait for reverse Calls of this side.
//
// If ctx is done first, the error wraps its cause, and Close must be called. Shutdown must not be
// called from a Handler or a done function, for which it would wait.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop(ErrClosed)
	err := s.ln.Close()
	s.mu.Lock()
	s.draining = true
	var conns, idle []*Conn
	for c := range s.conns { // in setup too: the client may be up already, and call
		conns = append(conns, c)
		if c.driver.StartDrain(ErrClosed) {
			idle = append(idle, c)
		}
	}
	s.mu.Unlock()
	for _, c := range idle {
		c.driver.PostDrain()
	}
	for i, c := range conns {
		select {
		case <-c.Done():
		case <-ctx.Done():
			return fmt.Errorf("rdmaio: shutdown of %q: handlers have not answered their Calls on up to %d connections; Close ends Request.Context, discards the answers and waits for the handlers: %w", s.Addr(), len(conns)-i, context.Cause(ctx))
		}
	}
	if closed := s.Close(); closed != nil {
		return closed
	}
	return err
}
