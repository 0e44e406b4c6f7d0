package rdmaio

import (
	"bytes"
	"context"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

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
