package rdmaio

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
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

// attach makes the handlers, unless they exist. The version is agreed on by then, and host
// authentication is complete.
func (s *extensions) attach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.agreed.Load()
	if len(s.set.extensions.list) == 0 || s.down || s.attached.Load() != nil || !a.known || a.version.Number() != v2.Number {
		return
	}
	all := make([]ExtensionHandler, len(s.set.extensions.list))
	for i, x := range s.set.extensions.list {
		s.locked(x, func() { all[i] = x.use.Attach(&ExtensionConn{s.conn, x}) })
		if all[i] == nil {
			s.close(fmt.Errorf("rdmaio: extension %q: Attach returned no handler", x.Name))
			return
		}
	}
	s.attached.Store(&all)
	if s.props != nil {
		s.passProperties(all, s.props)
		s.props = nil
	}
}

// hear takes the peer's first set of properties. It comes before the version, so that
// the handlers have it when Dial returns.
func (s *extensions) hear(set []header.Property) {
	if len(s.set.extensions.list) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if all := s.attached.Load(); all != nil {
		s.passProperties(*all, set)
		return
	}
	s.props = s.ownProperties(set)
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

// extend carries out the effects of a step that are for extensions.
func (s *extensions) extend(f *engine.Effects) {
	if f.OthersSent > 0 {
		s.unsent.Add(-int64(f.OthersSent))
	}
	attached := s.attached.Load()
	if attached == nil && f.Fail != nil {
		s.mu.Lock()
		s.down = true
		s.mu.Unlock()
		attached = s.attached.Load()
	}
	if attached == nil {
		return
	}
	all := *attached
	for i := range f.Others {
		s.passOther(all, &f.Others[i])
	}
	if f.Resized > 0 {
		for i, x := range s.set.extensions.list {
			if r, ok := all[i].(ReceiveResizer); ok {
				s.invoke(x, func() { r.ReceivesReplaced(f.Resized) })
			}
		}
	}
	if f.Fail != nil && !s.over {
		s.over = true
		for i, x := range s.set.extensions.list {
			s.invoke(x, func() { all[i].Down(context.Cause(s.ctx)) })
		}
	}
}

// countOthers returns the number of the peer's messages in a list, without ERRORs.
func countOthers(list []engine.Other) (n int) {
	for i := range list {
		if o := &list[i]; o.Unsent == nil && o.Err.Code == 0 {
			n++
		}
	}
	return n
}

// ownProperties returns a copy of the peer's properties that are for extensions: properties
// without a use must not stay in memory (R222).
func (s *extensions) ownProperties(set []header.Property) []header.Property {
	own := []header.Property{}
	for _, p := range set {
		if s.set.extensions.find(xdr.Properties, p.ID).of != nil {
			own = append(own, header.Property{ID: p.ID, Data: bytes.Clone(p.Data)})
		}
	}
	return own
}

// passProperties passes on the peer's values of the extensions' properties. mu must be held.
func (s *extensions) passProperties(all []ExtensionHandler, received []header.Property) {
	sets := make([][]Property, len(all))
	for _, p := range received {
		k := s.set.extensions.find(xdr.Properties, p.ID)
		if k.of == nil {
			continue
		}
		if v, err := k.value(p.Data); err == nil && v != nil {
			sets[k.of.index] = append(sets[k.of.index], Property{ID: p.ID, Value: v})
		}
	}
	s.props = nil
	for i, x := range s.set.extensions.list {
		s.locked(x, func() { all[i].Properties(sets[i]) })
	}
}

// passOther passes on a message of an extension, or an ERROR about one.
func (s *extensions) passOther(all []ExtensionHandler, o *engine.Other) {
	set := s.set.extensions
	switch {
	case o.Unsent != nil:
		x := set.find(xdr.HeaderTypes, o.Type).of
		s.invoke(x, func() { all[x.index].Error(&ExtensionError{XID: o.XID, Err: translate(o.Unsent)}) })
	case o.Err.Code != 0:
		e := &ExtensionError{XID: o.XID, Code: PeerErrorCode(o.Err.Code)}
		k := set.find(xdr.ErrorCodes, uint32(o.Err.Code))
		x := k.of
		if x != nil {
			e.name = k.Name
			e.Data, _ = k.value(o.Payload) // R212: invalid data are ignored
		} else if x = s.sender(o.XID); x == nil {
			return
		}
		s.invoke(x, func() { all[x.index].Error(e) })
	default:
		x := set.find(xdr.HeaderTypes, o.Type).of
		m := &ExtensionMessage{Type: o.Type, XID: o.XID, Response: o.Answer, Flags: o.Flags, Payload: o.Payload}
		m.Body, _ = o.Body.(xdr.Value)
		s.invoke(x, func() { all[x.index].Receive(m) })
	}
}
