package rdmaio

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// extensions is the state of Config.Extensions on one connection.
type extensions struct {
	*host
	attached atomic.Pointer[[]ExtensionHandler] // in the order of extensionSet.list

	mu    sync.Mutex        // held while a method of a handler runs
	down  bool              // no handler is made any more
	props []header.Property // of the peer, for extensions, until there are handlers

	unsent atomic.Int64 // messages that wait to be sent

	sentMu sync.Mutex
	sent   []sentMessage // the last ones, oldest at next
	next   int

	over bool // Down was called; the runner's
}

// sentMessage is a message that the peer may answer with an ERROR.
type sentMessage struct {
	xid uint32
	of  *extension
}

const (
	maxUnsent = 256  // messages that may wait to be sent
	maxSent   = 1024 // messages whose sender is known
)

// begin counts a message to be sent. It returns false if there are too many: a peer that makes this
// side answer faster than it may send must not use unbounded memory (R310).
func (s *extensions) begin(m *ExtensionMessage, of *extension) bool {
	if s.unsent.Add(1) > maxUnsent {
		s.unsent.Add(-1)
		return false
	}
	if m.Response {
		return true
	}
	s.sentMu.Lock()
	defer s.sentMu.Unlock()
	if len(s.sent) < maxSent {
		s.sent = append(s.sent, sentMessage{m.XID, of})
		return true
	}
	s.sent[s.next] = sentMessage{m.XID, of}
	s.next = (s.next + 1) % maxSent
	return true
}

// sender returns the extension that sent the message with this XID, or nil.
func (s *extensions) sender(xid uint32) *extension {
	s.sentMu.Lock()
	defer s.sentMu.Unlock()
	for _, m := range s.sent {
		if m.xid == xid {
			return m.of
		}
	}
	return nil
}

// invoke calls f, which calls a method of a handler.
func (s *extensions) invoke(x *extension, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locked(x, f)
}

// locked does the work of invoke. The caller holds s.mu.
func (s *extensions) locked(x *extension, f func()) {
	defer func() {
		if v := recover(); v != nil {
			s.set.faults.Error("rdmaio: an extension panicked, its connection is closed",
				"queue_pair", s.qp.Num(), "extension", x.Name, "panic", v, "stack", string(debug.Stack()))
			s.close(fmt.Errorf("%w: extension %q: %v", ErrPanic, x.Name, v))
		}
	}()
	f()
}

// close closes the connection. The caller holds mu, which the engine needs to close the connection:
// so another goroutine runs the engine.
func (s *extensions) close(why error) {
	s.driver.Queue(engine.Event{Kind: engine.EventClose, Err: why})
}
