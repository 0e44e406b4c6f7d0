package engine_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// R119, R200 to R212: each ERROR makes its Call fail with the reason that it gives.
func TestErrorsEndCalls(t *testing.T) {
	for _, c := range []struct {
		m    peer2.Message
		want header.Error
	}{
		{peer2.Err(5, peer2.ErrBadXDR), header.Error{Code: header.ErrChunk}},
		{peer2.Err(5, peer2.ErrHeaderType), header.Error{Code: header.ErrHeaderType}},
		{peer2.Err(5, peer2.ErrFlag), header.Error{Code: header.ErrFlag}},
		{peer2.Err(5, peer2.ErrReadChunks, 3), header.Error{Code: header.ErrReadChunks, Max: 3}},
		{peer2.Err(5, peer2.ErrWriteChunks, 4), header.Error{Code: header.ErrWriteChunks, Max: 4}},
		{peer2.Err(5, peer2.ErrSegments, 5), header.Error{Code: header.ErrSegments, Max: 5}},
		{peer2.Err(5, peer2.ErrWriteResource, 1, 700), header.Error{Code: header.ErrWriteResource, Index: 1, Need: 700}},
		{peer2.Err(5, peer2.ErrReplyResource, 900), header.Error{Code: header.ErrReplyResource, Need: 900}},
		{peer2.Err(5, peer2.ErrSystem), header.Error{Code: header.ErrSystem}},
		{peer2.Err(5, 77), header.Error{Code: 77}}, // R211
		{peer2.Err(5, peer2.ErrReadChunks), header.Error{}},
	} {
		s := newTalking(t, 0, 2, 0, nil)
		k, other := s.call(5, nil), s.call(6, nil)
		s.settle()
		s.parsed()
		s.get(c.m)
		var got *engine.PeerError
		if !errors.As(k.Err, &got) || got.Version != 2 {
			t.Fatalf("code %d: %v", c.m.Code, k.Err)
		}
		if diff := cmp.Diff(c.want, got.Body); diff != "" {
			t.Errorf("code %d: %s", c.m.Code, diff)
		}
		if len(s.done) != 1 || other.Err != nil || s.e.Stats().InFlight != 1 || len(s.parsed()) != 0 {
			t.Errorf("code %d: %d ended, %+v", c.m.Code, len(s.done), s.e.Stats())
		}
		s.get(c.m) // T73: it answers no Call now
		if len(s.done) != 1 || s.fail != nil {
			t.Errorf("code %d again: %d ended, %v", c.m.Code, len(s.done), s.fail)
		}
	}
}

// R194, R206, R207: a handler's refusal goes out as it is, with the XID of the Call, and grants
// nothing (R177). It costs a credit (R169).
func TestRefusalGoesOutAsItIs(t *testing.T) {
	for _, c := range []struct {
		refuse header.Error
		want   peer2.Message
	}{
		{header.Error{Code: header.ErrWriteResource, Index: 2, Need: 99}, peer2.Err(5, peer2.ErrWriteResource, 2, 99)},
		{header.Error{Code: header.ErrReplyResource, Need: 98}, peer2.Err(5, peer2.ErrReplyResource, 98)},
		{header.Error{Code: header.ErrSystem}, peer2.Err(5, peer2.ErrSystem)},
	} {
		s := newTalking(t, 1, 0, 2, nil)
		s.get(peer2.Call(5, rpcCall2(5)))
		free := s.e.Stats().Reverse.Granted
		s.reqs[0].Answer.Refuse = c.refuse
		s.step(engine.Event{Kind: engine.EventReply, Request: s.reqs[0]})
		s.settle()
		got := s.only()
		if got.Credits() != 0 {
			t.Errorf("code %d grants %d credits", c.refuse.Code, got.Credits())
		}
		got.Credit, got.Vers = 0, 0
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("code %d: %s", c.refuse.Code, diff)
		}
		if len(s.out) != 1 || s.e.Stats().Granted == free && free != 0 {
			t.Errorf("code %d: %d released, %d credits", c.refuse.Code, len(s.out), free)
		}
	}
}

// R196 to R200, R205, R262; T22, T30, T78: the Calls that a server refuses itself, each with one
// ERROR, and with no key invalidated. An end that dialed sends none about a Reply (R193).
func TestBadCalls(t *testing.T) {
	item := []peertest.Segment{{Key: 3, Length: 8}}
	call := peer2.Call(5, rpcCall2(5))
	for name, c := range map[string]struct {
		change func(*peer2.Message)
		code   uint32
		args   []uint32
	}{
		"T22: a header type":             {func(m *peer2.Message) { m.Type = 50 }, peer2.ErrHeaderType, nil},
		"T30: a flag":                    {func(m *peer2.Message) { m.Flags = 8 }, peer2.ErrFlag, nil},
		"R262, T78: a key of no chunk":   {func(m *peer2.Message) { m.Key = 4; m.Writes = [][]peertest.Segment{item} }, peer2.ErrBadXDR, nil},
		"an RPC message of another type": {func(m *peer2.Message) { m.Payload = rpcReply2(5) }, peer2.ErrFlag, nil},
		"another XID in the RPC message": {func(m *peer2.Message) { m.Payload = rpcCall2(6) }, peer2.ErrBadXDR, nil},
		"R202: too many write chunks": {func(m *peer2.Message) {
			for range 5 {
				m.Writes = append(m.Writes, item)
			}
		}, peer2.ErrWriteChunks, []uint32{4}},
		"R205: too many segments": {func(m *peer2.Message) {
			for range 17 {
				m.Reply = append(m.Reply, item[0])
			}
		}, peer2.ErrSegments, []uint32{16}},
	} {
		s := newTalking(t, 1, 0, 3, nil)
		m := call
		c.change(&m)
		s.get(m)
		got := s.only()
		if diff := cmp.Diff(peer2.Err(5, c.code, c.args...), peer2.Message{XID: got.XID, Type: got.Type, Flags: got.Flags, Code: got.Code, Args: got.Args}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		s.get(peer2.Call(6, rpcCall2(6)))
		if len(s.reqs) != 1 || s.reqs[0].XID != 6 || s.fail != nil {
			t.Errorf("%s: afterwards %d Calls, %v", name, len(s.reqs), s.fail)
		}

		s = newTalking(t, 0, 2, 0, nil)
		k := s.call(5, nil)
		s.settle()
		s.parsed()
		m.Flags |= peer2.Response
		if string(m.Payload) == string(rpcReply2(5)) {
			m.Payload = rpcCall2(5)
		}
		s.get(m)
		if n := len(s.parsed()); n != 0 || len(s.done) != 1 && m.Type == 0 || k.Err == nil && len(s.done) > 0 {
			t.Errorf("%s, as a Reply: %d messages, %d ended, %v", name, n, len(s.done), k.Err)
		}
	}
}

// T102 to T105; R165, R222, R224: a set of properties is applied whole or not at all. The server
// answers the first set by its own, and each bad one by BAD_XDR.
func TestPropertySets(t *testing.T) {
	big, bad := peer2.Prop(peer2.ReceiveSize, 8192), peer2.Property{ID: peer2.SegmentCount, Data: []byte{1}}
	more := func(m peer2.Message) peer2.Message { m.Flags |= peer2.More; return m }
	for name, c := range map[string]struct {
		list []peer2.Message
		send int      // Terms.Send in the end
		want []uint32 // types of the messages sent
	}{
		"none":                    {[]peer2.Message{peer2.Props(1)}, 4096, []uint32{peer2.ConnProp}},
		"a larger Receive":        {[]peer2.Message{peer2.Props(1, big)}, 8192, []uint32{peer2.ConnProp}},
		"T103: one is bad":        {[]peer2.Message{peer2.Props(1, big, bad)}, 4096, []uint32{peer2.Error, peer2.ConnProp}},
		"T102: twice":             {[]peer2.Message{peer2.Props(1, big, big)}, 4096, []uint32{peer2.Error, peer2.ConnProp}},
		"R222: not known":         {[]peer2.Message{peer2.Props(1, peer2.Prop(99, 1), big)}, 8192, []uint32{peer2.ConnProp}},
		"T104: nothing fits":      {[]peer2.Message{peer2.Props(1, peer2.Prop(peer2.ReceiveSize, 0))}, 4096, []uint32{peer2.ConnProp}},
		"T105: again":             {[]peer2.Message{peer2.Props(1, big), peer2.Props(2)}, 8192, []uint32{peer2.ConnProp}},
		"R165: in two parts":      {[]peer2.Message{more(peer2.Props(1)), peer2.Props(1, big)}, 8192, []uint32{peer2.ConnProp}},
		"A33: bad in two parts":   {[]peer2.Message{more(peer2.Props(1, big)), peer2.Props(1, bad)}, 4096, []uint32{peer2.Error, peer2.ConnProp}},
		"twice in two parts":      {[]peer2.Message{more(peer2.Props(1, big)), peer2.Props(1, big)}, 4096, []uint32{peer2.Error, peer2.ConnProp}},
		"R156: the XID changes":   {[]peer2.Message{more(peer2.Props(1, big)), peer2.Props(2)}, 4096, []uint32{peer2.Error}},
		"R156: a Call between":    {[]peer2.Message{more(peer2.Props(1, big)), peer2.Call(1, rpcCall2(1)), peer2.Props(1)}, 4096, []uint32{peer2.Error, peer2.ConnProp}},
		"A5: a grant between":     {[]peer2.Message{more(peer2.Props(1, big)), peer2.Grant(), peer2.Props(1)}, 8192, []uint32{peer2.ConnProp}},
		"R197: longer than it is": {[]peer2.Message{{XID: 1, Type: peer2.ConnProp, Payload: []byte{1}}}, 4096, []uint32{peer2.Error}},
	} {
		s := newSolo(t, 1, 0, 4, func(_ int, c *engine.Config) { c.Versions = wide() })
		s.get(c.list...)
		var got []uint32
		for _, m := range s.parsed() {
			got = append(got, m.Type)
			if m.Type == peer2.Error && m.Code != peer2.ErrBadXDR && m.Code != peer2.ErrFlag {
				t.Errorf("%s: code %d", name, m.Code)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" || s.terms.Send != c.send || s.fail != nil || len(s.reqs) != 0 {
			t.Errorf("%s: sends %v, want %v; messages of %d bytes, want %d; %v", name, got, c.want, s.terms.Send, c.send, s.fail)
		}
		s.get(peer2.Call(8, rpcCall2(8)))
		if len(s.reqs) != 1 {
			t.Errorf("%s: the next Call is not served: %v", name, s.fail)
		}

		s = newTalking(t, 0, 2, 2, nil) // R193: the end that dialed answers none of them
		s.get(c.list...)
		for _, m := range s.parsed() {
			// A reverse Call is refused.
			if m.Type != peer2.Error || name != "R156: a Call between" {
				t.Errorf("%s: the client sends %+v", name, m)
			}
		}
	}
}

// R310; T106: a set of properties that is too large, in many messages, is passed over to its end.
// The server refuses it, whether it is large by its data or by the number of properties.
func TestEndlessProperties(t *testing.T) {
	small := make([]peer2.Property, 400)
	for i := range small {
		small[i].ID = 1000 + uint32(i)
	}
	for _, set := range [][]peer2.Property{{{ID: 99, Data: make([]byte, 3800)}}, small} {
		s := newSolo(t, 1, 0, 4, nil)
		m := peer2.Props(1, set...)
		m.Flags |= peer2.More
		for range 80 {
			s.get(m)
		}
		if n := len(s.parsed()); n != 0 {
			t.Fatalf("%d messages before the end", n)
		}
		s.get(peer2.Props(1))
		if got := s.parsed(); len(got) != 2 || got[0].Code != peer2.ErrSystem || got[1].Type != peer2.ConnProp || s.fail != nil {
			t.Errorf("%d properties: sends %+v, %v", len(set), got, s.fail)
		}
	}
}
