package v1_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
)

// outstanding are the XIDs of our Calls.
type outstanding map[uint32]bool

func (o outstanding) Outstanding(xid uint32) bool { return o[xid] }

// R267, T17: only a message that surely answers one of our Calls grants credits.
func TestOnlyAnswersToOurCallsGrantCredits(t *testing.T) {
	reply, call := []byte{0, 0, 0, 5, 0, 0, 0, 1}, []byte{0, 0, 0, 5, 0, 0, 0, 0}
	reads := header.Lists{Reads: []header.ReadSegment{{}}}
	fault := &header.Fault{Code: header.FaultXDR}
	for _, tt := range []struct {
		what   string
		m      header.Message
		f      *header.Fault
		p      protocol.Purpose
		long   bool // Replies may come by read chunk
		grants bool
	}{
		{"a Reply", header.Message{Kind: header.KindMsg, Payload: reply}, nil, protocol.Answer, false, true},
		{"a Call", header.Message{Kind: header.KindMsg, Payload: call}, nil, protocol.Call, false, false},
		{"a Call in the direction of Replies", header.Message{Kind: header.KindMsg, Payload: call}, nil, protocol.Answer, false, false},
		{"a Reply in the direction of Calls", header.Message{Kind: header.KindMsg, Payload: reply}, nil, protocol.Call, false, false},
		{"a short message", header.Message{Kind: header.KindMsg, Payload: reply[:7]}, nil, protocol.Answer, false, false},
		{"an ERROR", header.Message{Kind: header.KindError}, nil, protocol.Answer, false, true},
		{"an invalid Reply", header.Message{Kind: header.KindMsg, Payload: reply}, fault, protocol.Answer, false, false},
		{"a long Reply", header.Message{Kind: header.KindNomsg, XID: 5, Lists: header.Lists{HasReply: true}}, nil, protocol.Answer, false, true},
		{"one to no Call", header.Message{Kind: header.KindNomsg, XID: 6, Lists: header.Lists{HasReply: true}}, nil, protocol.Answer, false, false},
		{"one without a reply chunk", header.Message{Kind: header.KindNomsg, XID: 5}, nil, protocol.Answer, false, false},
		{"one by read chunk", header.Message{Kind: header.KindNomsg, XID: 5, Lists: reads}, nil, protocol.Answer, true, true},
		{"one by read chunk, which is not allowed", header.Message{Kind: header.KindNomsg, XID: 5, Lists: reads}, nil, protocol.Answer, false, false},
		{"RDMA_DONE", header.Message{Kind: header.KindDone}, nil, protocol.Answer, false, false},
	} {
		a := new(v1.Version).Account(protocol.AccountConfig{
			End: &protocol.End{LongReplies: tt.long, Calls: outstanding{5: true}}, Calls: 8,
		})
		tt.m.Credit = 4
		if f := a.Received(&tt.m, tt.f, tt.p); f != nil {
			t.Fatal(f)
		}
		if n := a.Counts().Granted; (n == 4) != tt.grants || n != 4 && n != 1 {
			t.Errorf("%s: %d credits", tt.what, n)
		}
	}
}

// R127, R129, R270: a Call takes a credit until it has ended. An answer grants what there are
// Receives for, besides those that Replies to our Calls need.
func TestCallTakesACreditUntilItEnds(t *testing.T) {
	a := new(v1.Version).Account(protocol.AccountConfig{End: &protocol.End{Calls: outstanding{}}, Calls: 2, Serves: 3, Receives: 5})
	a.Posted(5)
	if !a.Free(protocol.ClassCall) || a.Sent(protocol.ClassCall, 0) != 2 || a.Free(protocol.ClassCall) || !a.Free(protocol.ClassAnswer) {
		t.Error("one Call may go before the first grant, and any answer")
	}
	if c := a.Counts(); c.Calls != 1 || c.Free != 0 {
		t.Errorf("%+v after a Call", c)
	}
	if a.Ended(); !a.Free(protocol.ClassCall) || a.Counts().Free != 1 {
		t.Error("a Call that has ended keeps its credit")
	}
	call := &header.Message{Kind: header.KindMsg}
	for n := range 3 { // three Receives are gone, and not posted again
		if a.Received(call, nil, protocol.Drop); n == 0 && !a.Accept() {
			t.Error("the first Call is not accepted")
		}
	}
	a.Answered()
	// Both Receives are for Replies.
	if got := a.Sent(protocol.ClassAnswer, 32); got != 1 || a.Counts().Given != 1 {
		t.Errorf("grants %d credits, counts %d", got, a.Counts().Given)
	}
	a.Posted(2)
	if got := a.Sent(protocol.ClassError, 32); got != 2 {
		t.Errorf("grants %d credits, want 2 of 4 Receives", got)
	}
}

// R114, R117, R118, R134, R265: the refusals that version 1 has, and the key of a Reply.
func TestFaultsHaveTheErrorsOfVersion1(t *testing.T) {
	v := new(v1.Version)
	for code, want := range map[header.Code]header.Error{
		header.FaultVersion: {Code: header.ErrVers, Low: 1, High: 1}, header.FaultCredit: {}, header.FaultXDR: {Code: header.ErrChunk},
	} {
		if got := v.Refusal(&header.Fault{Code: code}); got != want {
			t.Errorf("fault %d: %+v, want %+v", code, got, want)
		}
	}
	for _, e := range []header.Error{{Code: header.ErrSystem}, {Code: header.ErrReadChunks, Max: 3}} {
		if got := v.Error(e); got != (header.Error{Code: header.ErrChunk}) {
			t.Errorf("%+v becomes %+v", e, got)
		}
	}
	if e := (header.Error{Code: header.ErrVers, Low: 1, High: 2}); v.Error(e) != e {
		t.Errorf("ERR_VERS becomes %+v", v.Error(e))
	}
	m := header.Message{Lists: header.Lists{Reply: []header.Segment{{Handle: 3}, {Handle: 4, Length: 1}}}}
	if a, b := v.InvalidateKey(&m, true), v.InvalidateKey(&m, false); a != 4 || b != 0 {
		t.Errorf("key %d, and %d if it was not agreed", a, b)
	}
}
