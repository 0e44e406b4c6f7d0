package engine_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// R153, R161; T86, A26: a message that is cut anywhere, also into empty parts, is one message at
// either end.
func TestCutMessageIsOneMessage(t *testing.T) {
	rest := pattern(20)
	call, reply := rpcCall2(1, rest...), rpcReply2(1, rest...)
	for at := range len(call) + 1 {
		for _, cuts := range [][]int{{at}, {at, at}, {0, at, len(call)}} {
			s := newTalking(t, 1, 0, 2, nil)
			s.get(peer2.Call(1, call).Split(cuts...)...)
			if len(s.reqs) != 1 || !bytes.Equal(s.reqs[0].Message, call) {
				t.Errorf("cuts %v: %d Calls, %v", cuts, len(s.reqs), s.fail)
			}
			s = newTalking(t, 0, 2, 0, nil)
			c := s.call(1, nil)
			s.get(peer2.Reply(1, reply).Split(cuts...)...)
			if len(s.done) != 1 || c.Err != nil || !bytes.Equal(c.Reply, reply) {
				t.Errorf("cuts %v: Reply %x, %v", cuts, c.Reply, c.Err)
			}
			if s.reserved != 0 {
				t.Errorf("cuts %v: %d bytes are not given back", cuts, s.reserved)
			}
		}
	}
}

// The messages that end a continued Call: it is not delivered, the peer gets one ERROR, and the
// next Call is served (R155 to R158, R199; T88, T89, T91, T95).
func TestCallBreaksOff(t *testing.T) {
	part := peer2.Call(5, rpcCall2(5)).Split(8)[0]
	withChunk := part
	withChunk.Writes = [][]peertest.Segment{{{Key: 3, Length: 4}}}
	for name, c := range map[string]struct {
		m      peer2.Message
		code   uint32 // 0: none is sent
		passes bool   // the continued message stays valid
		about  uint32 // XID of the ERROR; 0: m's
	}{
		"T88: MORE with chunks":             {m: withChunk, code: peer2.ErrFlag},
		"T89: another XID":                  {m: peer2.Call(6, rpcCall2(6)), code: peer2.ErrFlag},
		"T95: a part of another Call":       {m: peer2.Call(6, rpcCall2(6)).Split(8)[0], code: peer2.ErrFlag},
		"T89: another type":                 {m: peer2.Message{XID: 5, Type: peer2.NoMsg, Reads: []peertest.Segment{{Key: 4, Length: 8}}}, code: peer2.ErrFlag},
		"T91: properties":                   {m: peer2.Props(5), code: peer2.ErrFlag},
		"a header type that is not known":   {m: peer2.Message{XID: 5, Type: 99}, code: peer2.ErrHeaderType},
		"a Reply of the same XID":           {m: peer2.Reply(5, rpcReply2(5)), code: peer2.ErrFlag},
		"R156: a Reply of another XID":      {m: peer2.Reply(6, rpcReply2(6)), code: peer2.ErrFlag, about: 5},
		"R156: a part of a Reply":           {m: peer2.Reply(6, rpcReply2(6)).Split(8)[0], code: peer2.ErrFlag, about: 5},
		"A5, T91: a grant":                  {m: peer2.Grant(), passes: true},
		"an ERROR":                          {m: peer2.Err(5, peer2.ErrSystem), passes: true},
		"a flag that is not known":          {m: peer2.Message{XID: 5, Flags: 4, Payload: rpcCall2(5)}, code: peer2.ErrFlag},
		"T87: MORE with RDMA2_NOMSG":        {m: peer2.Message{XID: 5, Type: peer2.NoMsg, Flags: peer2.More}, code: peer2.ErrFlag},
		"T87: MORE with an unknown type":    {m: peer2.Message{XID: 5, Type: 99, Flags: peer2.More}, code: peer2.ErrHeaderType},
		"R196: lists that are no valid XDR": {m: peer2.Message{XID: 5, Type: 5, Flags: 1, Payload: []byte{0, 0, 0}}, code: peer2.ErrFlag},
	} {
		s := newTalking(t, 1, 0, 3, nil)
		s.get(part, c.m)
		switch list := s.parsed(); {
		case c.code == 0 && len(list) != 0, c.code != 0 && (len(list) != 1 || list[0].Type != peer2.Error || list[0].Code != c.code):
			t.Errorf("%s: answers %+v, want code %d; %v", name, list, c.code, s.fail)
		case c.code != 0 && list[0].XID != cmp.Or(c.about, c.m.XID): // R194
			t.Errorf("%s: ERROR has XID %#x", name, list[0].XID)
		}
		if faults := s.e.Stats().FaultyMessages; len(s.reqs) != 0 || (faults == 0) != c.passes || !c.passes && s.reserved != 0 {
			t.Errorf("%s: %d delivered, %d faults, %d bytes", name, len(s.reqs), faults, s.reserved)
		}
		if c.passes {
			s.get(peer2.Call(5, nil))
		} else {
			s.get(peer2.Call(7, rpcCall2(7)))
		}
		if len(s.reqs) != 1 || s.fail != nil {
			t.Errorf("%s: afterwards %d delivered, %v", name, len(s.reqs), s.fail)
		}
	}
}

// An end that serves no Calls sends no ERROR for a continued Call that breaks off, as for any other
// Call (R281).
func TestCallThatIsNotServedBreaksOff(t *testing.T) {
	s := newTalking(t, 0, 2, 0, nil)
	s.get(peer2.Call(5, rpcCall2(5)).Split(8)[0], peer2.Reply(6, rpcReply2(6)))
	if list := s.parsed(); len(list) != 0 || s.fail != nil || s.reserved != 0 {
		t.Errorf("answers %+v, %d bytes are reserved, %v", list, s.reserved, s.fail)
	}
}

// The messages that end a continued Reply: its Call fails, as does the Call whose Reply came in
// between, and nothing is sent (R193; A8, T89, T95).
func TestReplyBreaksOff(t *testing.T) {
	part := peer2.Reply(1, rpcReply2(1)).Split(8)[0]
	withChunk := part
	withChunk.Reply = []peertest.Segment{{Key: 3, Length: 4}}
	short := peer2.Reply(2, rpcReply2(2)).Bytes()[:18]
	for name, c := range map[string]struct {
		b    []byte
		ends int // of three Calls
	}{
		"T88: MORE with chunks":       {answers(withChunk), 1},
		"T89: another Reply":          {answers(peer2.Reply(2, rpcReply2(2))), 2},
		"T95: a part of another":      {answers(peer2.Reply(2, rpcReply2(2)).Split(8)[0]), 2},
		"a Reply to no Call":          {answers(peer2.Reply(9, rpcReply2(9))), 1},
		"properties":                  {answers(peer2.Props(1)), 1},
		"a message that is too short": {short, 1},
		"a grant":                     {answers(peer2.Grant()), 0},
		"an ERROR for another Call":   {answers(peer2.Err(2, peer2.ErrSystem)), 1},
	} {
		s := newTalking(t, 0, 4, 4, nil)
		var calls [4]*engine.Call
		for xid := range uint32(3) {
			calls[xid+1] = s.call(xid+1, nil)
		}
		s.get(part)
		s.parsed()
		s.receive(c.b, 0)
		s.settle()
		if list := s.parsed(); len(list) != 0 || s.fail != nil {
			t.Errorf("%s: %d messages are sent, %v", name, len(list), s.fail)
		}
		if len(s.done) != c.ends {
			t.Errorf("%s: %d Calls end, want %d", name, len(s.done), c.ends)
		}
		for _, c := range s.done {
			if c.Err == nil {
				t.Errorf("%s: Call %d ends well", name, c.XID)
			}
		}
		if calls[3].Err != nil {
			t.Errorf("%s: the third Call: %v", name, calls[3].Err)
		}
		if name == "a grant" || name == "an ERROR for another Call" {
			s.get(peer2.Reply(1, nil))
			if calls[1].Err != nil || !bytes.Equal(calls[1].Reply, rpcReply2(1)) {
				t.Errorf("%s: the continued Reply: %v", name, calls[1].Err)
			}
		}
		if s.reserved != 0 {
			t.Errorf("%s: %d bytes are not given back", name, s.reserved)
		}
		if name == "T88: MORE with chunks" && s.e.Stats().DroppedMessages != 0 {
			t.Errorf("%s: %d messages are dropped: the Call has ended twice", name, s.e.Stats().DroppedMessages)
		}
	}
}

// If a continued message breaks off, a Call fails only if the message is the Reply to that Call:
// not a Call of the peer, nor properties, with the same XID.
func TestOthersBreakOff(t *testing.T) {
	props := peer2.Props(1, peer2.Property{ID: 500})
	props.Flags = peer2.Response | peer2.More
	for name, first := range map[string]peer2.Message{
		"a Call":                          peer2.Call(1, rpcCall2(1)).Split(8)[0],
		"properties with a RESPONSE flag": props,
	} {
		s := newTalking(t, 0, 4, 4, nil)
		mine := s.call(1, nil)
		s.get(first, peer2.Reply(9, rpcReply2(9)))
		if len(s.done) != 0 || s.fail != nil || s.reserved != 0 {
			t.Errorf("%s: %d Calls end, %v, %d bytes", name, len(s.done), s.fail, s.reserved)
		}
		s.get(peer2.Reply(1, rpcReply2(1)))
		if len(s.done) != 1 || mine.Err != nil {
			t.Errorf("%s: the Call: %v", name, mine.Err)
		}
	}
}

// R193, A8: the end that dialed answers no message of an extension, also if that breaks off a
// Reply. An ERROR never breaks off a message, also if it is invalid.
func TestBreaksOffWithoutAnswer(t *testing.T) {
	s := newTalking(t, 0, 4, 4, extended)
	mine := s.call(1, nil)
	s.parsed()
	s.get(peer2.Reply(1, rpcReply2(1)).Split(8)[0], peer2.Message{XID: 1, Type: 77})
	if list := s.parsed(); len(list) != 0 || len(s.done) != 1 || mine.Err == nil || len(s.others) != 0 {
		t.Errorf("sent %+v, the Call: %v, %d passed on", list, mine.Err, len(s.others))
	}

	for _, bad := range []peer2.Message{
		{XID: 7, Type: peer2.Error, Flags: peer2.Response | peer2.More, Code: peer2.ErrSystem},
		{XID: 7, Type: peer2.Error, Flags: peer2.Response | 8, Code: peer2.ErrSystem},
	} {
		s = newTalking(t, 1, 0, 4, nil)
		parts := peer2.Call(5, rpcCall2(5, pattern(20)...)).Split(8)
		s.get(parts[0], bad, parts[1])
		if len(s.reqs) != 1 || !bytes.Equal(s.reqs[0].Message, rpcCall2(5, pattern(20)...)) || s.e.Stats().FaultyMessages != 1 {
			t.Errorf("flags %#x: %d Calls, %d faults", bad.Flags, len(s.reqs), s.e.Stats().FaultyMessages)
		}
	}
}

// T20: a Call of the peer is not put together in the memory for the Reply to one of our Calls, even
// if both have one XID.
func TestReplyToIsForReplies(t *testing.T) {
	s := newTalking(t, 0, 4, 4, nil)
	c := s.replyTo(1000)
	memory := c.ReplyTo[:1000]
	s.get(peer2.Call(5, rpcCall2(5, pattern(100)...)).Split(50)...)
	if len(s.reqs) != 1 || !bytes.Equal(s.reqs[0].Message, rpcCall2(5, pattern(100)...)) || !bytes.Equal(memory, make([]byte, 1000)) {
		t.Errorf("%d Calls; the memory for the Reply begins % x", len(s.reqs), memory[:16])
	}
	s.answer(nil)
	s.get(peer2.Reply(5, rpcReply2(5)))
	if c.Err != nil || len(s.done) != 1 {
		t.Errorf("the Call: %v", c.Err)
	}
}

// R162: the memory of a message is at most Config.MaxContinued. When a part had no memory, later
// parts ask for none.
func TestContinuedMemoryIsBounded(t *testing.T) {
	for _, size := range []int{8192, 8193, 9000, 10000} {
		s := newTalking(t, 1, 0, 2, func(_ int, c *engine.Config) { c.MaxContinued = 10000 })
		s.get(peer2.Call(5, pattern(size)).Split(3000, 6000, size-1)[:3]...)
		if s.reserved > 10000 || s.reserved < size-1 {
			t.Errorf("%d bytes: %d are reserved, at most 10000 are to be", size, s.reserved)
		}
	}
	asks := 0
	s := newTalking(t, 1, 0, 2, func(_ int, c *engine.Config) {
		reserve := c.Reserve
		c.Reserve = func(n int) bool {
			asks++
			return asks > 1 && reserve(n)
		}
	})
	parts := peer2.Call(5, pattern(3000)).Split(1000, 2000)
	s.get(parts[0], parts[1])
	if asks != 1 {
		t.Errorf("memory is asked for %d times, for a message that is passed over", asks)
	}
	s.get(parts[2])
	if m := s.only(); m.Code != peer2.ErrSystem || s.reserved != 0 {
		t.Errorf("%+v, %d bytes are reserved", m, s.reserved)
	}
}

// R162, R324; T90: a message that never ends uses at most about twice the memory of the bytes that
// have come and has a limited number of parts. The connection is closed after
// Config.ContinueTimeout.
func TestEndlessMessageIsLimited(t *testing.T) {
	s := newTalking(t, 1, 0, 2, nil)
	part := peer2.Call(5, pattern(1000))
	part.Flags = peer2.More
	for n := range 65 {
		s.get(part)
		if got := (n + 1) * 1000; s.most > 2*got+8<<10 || s.reserved > s.cfg.MaxContinued {
			t.Fatalf("%d bytes for %d, now %d", s.most, got, s.reserved)
		}
	}
	if s.asks > 5 {
		t.Errorf("memory grew %d times", s.asks)
	}
	s.get(part)
	if s.reserved != 0 {
		t.Errorf("%d bytes for a message that is passed over", s.reserved)
	}
	if s.want != time.Second {
		t.Errorf("deadline %v, want that of the first part", s.want)
	}
	s.p.now = time.Second
	s.step(engine.Event{Kind: engine.EventTimer})
	if !errors.Is(s.fail, engine.ErrTimeout) {
		t.Errorf("ended with %v", s.fail)
	}

	s = newTalking(t, 1, 0, 2, nil)
	part.Payload = nil
	for range 1<<16 - 1 {
		s.get(part)
	}
	s.get(peer2.Call(5, rpcCall2(5))) // the last that it may have
	if len(s.reqs) != 1 || s.e.Stats().FaultyMessages != 0 {
		t.Errorf("a message of as many parts as are allowed: %d Calls, %+v", len(s.reqs), s.parsed())
	}
	s = newTalking(t, 1, 0, 2, nil)
	for range 1 << 16 {
		s.get(part)
	}
	s.get(peer2.Call(5, rpcCall2(5)))
	if m := s.only(); m.Code != peer2.ErrSystem || len(s.reqs) != 0 {
		t.Errorf("a message of too many parts: %+v", m)
	}
	s.p.now = time.Hour
	s.step(engine.Event{Kind: engine.EventTimer})
	if s.fail != nil {
		t.Errorf("a message that has ended: %v", s.fail)
	}
}

// An answer to a Call whose parts are not all sent: an ERROR makes the Call fail after its last
// part, and so does a Reply, which must not come so early. A further answer is dropped (R119,
// R284).
func TestEarlyAnswers(t *testing.T) {
	for name, list := range map[string][]peer2.Message{
		"ERROR": {peer2.Err(5, peer2.ErrSystem), peer2.Err(5, peer2.ErrBadXDR)},
		"Reply": {peer2.Reply(5, rpcReply2(5)), peer2.Reply(5, rpcReply2(5))},
		"fault": {peer2.Message{XID: 5, Flags: peer2.Response | 4}, peer2.Err(5, peer2.ErrSystem)},
		"a Reply that breaks off": {
			peer2.Reply(5, rpcReply2(5)).Split(4)[0], peer2.Reply(6, rpcReply2(6)), peer2.Err(5, peer2.ErrSystem),
		},
	} {
		for _, cancelled := range []bool{false, true} {
			s := newSolo(t, 0, 2, 0, nil)
			one := peer2.Props(1)
			one.Credit = peer2.Word(2, 1)
			s.get(one)
			k := s.call(5, pattern(12000)) // three parts; there is a credit for the first
			if cancelled {
				s.step(engine.Event{Kind: engine.EventCancel, XID: 5, Call: k})
			}
			for _, m := range list {
				m.Credit = peer2.Word(2, 0)
				s.get(m)
			}
			if ended := len(s.done); ended == 1 != cancelled || s.e.Stats().PartsSent != 1 {
				t.Fatalf("%s: %d ended, %d parts", name, ended, s.e.Stats().PartsSent)
			}
			for range 2 {
				m := peer2.Grant()
				m.Credit = peer2.Word(2, 1)
				s.get(m)
			}
			if len(s.done) != 1 || s.e.Stats().InFlight != 0 || s.e.Stats().PartsSent != 3 || s.reserved != 0 {
				t.Fatalf("%s: %d ended, %+v; %v", name, len(s.done), s.e.Stats(), s.fail)
			}
			if cancelled {
				continue
			}
			var refused *engine.PeerError
			var f *header.Fault
			ok := errors.Is(s.done[0].Err, engine.ErrEarlyReply)
			switch name {
			case "ERROR":
				ok = errors.As(s.done[0].Err, &refused) && refused.Body.Code == header.ErrSystem
			case "fault", "a Reply that breaks off":
				ok = errors.As(s.done[0].Err, &f)
			}
			if !ok {
				t.Errorf("%s: ended with %v", name, s.done[0].Err)
			}
		}
	}
}

// R264, T77: the keys that a peer must not invalidate: any but the one that the Call named, and
// every key with a part that is not the last or with a message that is not a Reply. The connection
// is closed.
func TestNamedKeys(t *testing.T) {
	for _, c := range []struct {
		name string
		m    peer2.Message
		key  uint32
		ok   bool
	}{
		{"the named key", peer2.Reply(1, rpcReply2(1)), 8, true},
		{"none", peer2.Reply(1, rpcReply2(1)), 0, true},
		{"another key of the Call", peer2.Reply(1, rpcReply2(1)), 9, false},
		{"a key of another Call", peer2.Reply(1, rpcReply2(1)), 18, false},
		{"the key of the other Call, with its Reply", peer2.Reply(2, rpcReply2(2)), 18, true},
		{"a key with a Call that names none", peer2.Reply(3, rpcReply2(3)), 28, false},
		{"a part that is not the last", peer2.Reply(1, rpcReply2(1)).Split(4)[0], 8, false},
		{"a grant", peer2.Grant(), 8, false},
		{"properties", peer2.Props(1), 8, false},
		{"a reverse Call", peer2.Call(1, rpcCall2(1)), 8, false},
	} {
		for _, cancelled := range []bool{false, true} {
			s := newTalking(t, 0, 3, 3, nil)
			calls := make([]*engine.Call, 4)
			for xid := uint32(1); xid <= 3; xid++ {
				k := &engine.Call{XID: xid, Payload: [][]byte{rpcCall2(xid)}}
				for i := range uint32(2) {
					copy(k.WithOffer().Lists.AddWrite(1), []header.Segment{{Handle: 10*xid - 2 + i, Length: 4}})
				}
				if xid < 3 {
					k.NamedKey = 10*xid - 2
				}
				calls[xid] = k
				s.step(engine.Event{Kind: engine.EventCall, Call: k})
			}
			s.settle()
			if sent := s.parsed(); len(sent) != 3 || sent[0].Key != 8 || sent[1].Key != 18 || sent[2].Key != 0 { // R259
				t.Fatalf("%+v", sent)
			}
			m := c.m
			if cancelled {
				s.step(engine.Event{Kind: engine.EventCancel, XID: 1, Call: calls[1]})
				calls[1].Lists.Reset()
				calls[1].NamedKey = 0
			}
			for range 2 {
				if m.IsReply() {
					m.Writes = append(m.Writes, []peertest.Segment{{Key: 10*m.XID - 2 + uint32(len(m.Writes))}})
				}
			}
			if m.Flags&peer2.More != 0 {
				m.Writes = nil
			}
			m.Credit = plenty
			s.receive(m.Bytes(), c.key)
			what := fmt.Sprintf("%s, cancelled %v", c.name, cancelled)
			if c.ok != (s.fail == nil) || !c.ok && !errors.Is(s.fail, engine.ErrInvalidated) {
				t.Errorf("%s: ended with %v", what, s.fail)
			}
			if k := calls[m.XID&3]; c.ok && !(cancelled && m.XID == 1) && (k.Err != nil || k.InvalidatedKey != c.key) {
				t.Errorf("%s: %v, key %d", what, k.Err, k.InvalidatedKey)
			}
			if s.reserved != 0 {
				t.Errorf("%s: %d bytes are not given back", what, s.reserved)
			}
		}
	}
}

// A wrong key with a message's last part closes the connection, and the memory in which the message
// was assembled is released (R264).
func TestWrongKeyWithLastPartGivesMemoryBack(t *testing.T) {
	for name, m := range map[string]peer2.Message{"Reply": peer2.Reply(1, rpcReply2(1)), "reverse Call": peer2.Call(1, rpcCall2(1))} {
		s := newTalking(t, 0, 3, 3, nil)
		s.step(engine.Event{Kind: engine.EventCall, Call: &engine.Call{XID: 1, Payload: [][]byte{rpcCall2(1)}}})
		s.settle()
		parts := m.Split(4)
		s.get(parts[0])
		if s.reserved == 0 {
			t.Fatalf("%s: no memory for a continued message", name)
		}
		parts[1].Credit = plenty
		s.receive(parts[1].Bytes(), 9)
		if !errors.Is(s.fail, engine.ErrInvalidated) || s.reserved != 0 {
			t.Errorf("%s: ended with %v, %d bytes are not given back", name, s.fail, s.reserved)
		}
	}
}
