package nfs4_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// holder holds one delegation.
type holder struct {
	id nfs42.StateID

	mu       sync.Mutex
	recalled int
}

func (h *holder) Recall(_ context.Context, args *nfs42.CBRecallArgs) nfs42.Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	if args.StateID != h.id {
		return nfs42.StatusBadStateid
	}
	h.recalled++
	return nfs42.StatusOK
}

func (h *holder) GetAttr(context.Context, *nfs42.CBGetAttrArgs) (nfs42.Fattr, nfs42.Status) {
	return nfs42.Fattr{AttrMask: nfs42.Bitmap{1 << nfs42.AttrSize}, AttrVals: make([]byte, 8)}, nfs42.StatusOK
}

func (h *holder) RecallAny(context.Context, *nfs42.CBRecallAnyArgs) nfs42.Status {
	return nfs42.StatusOK
}

func recall(id nfs42.StateID) nfs42.CBArgOp {
	return nfs42.CBArgOp{Op: nfs42.CBOpRecall, Recall: nfs42.CBRecallArgs{StateID: id, FH: []byte("file")}}
}

// Callbacks come over TCP and over RDMA with one credit, while COMPOUNDs are in flight.
func TestServerRecallsADelegation(t *testing.T) {
	h := &holder{id: nfs42.StateID{SeqID: 1, Other: [12]byte{7}}}
	for name, connect := range map[string]func(s *fake, t *testing.T) *nfs4.Session{
		"TCP":    func(s *fake, t *testing.T) *nfs4.Session { return s.session(t, nfs4.Config{Callbacks: h}) },
		"RDMA 1": func(s *fake, t *testing.T) *nfs4.Session { return s.overRDMA(t, 1, nfs4.Config{Callbacks: h}) },
		"RDMA 2": func(s *fake, t *testing.T) *nfs4.Session { return s.overRDMA(t, 2, nfs4.Config{Callbacks: h}) },
	} {
		t.Run(name, func(t *testing.T) {
			h.mu.Lock()
			h.recalled = 0
			h.mu.Unlock()
			s := newFake()
			got := connect(s, t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range 50 {
						if _, err := handle(ctx, got); err != nil {
							t.Error(err)
						}
					}
				})
			}
			for range 20 {
				if res, err := s.callback(ctx, recall(h.id)); err != nil || res.Status != nfs42.StatusOK || len(res.ResArray) != 2 {
					t.Fatalf("%v, %v", res, err)
				}
			}
			wg.Wait()
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.recalled != 20 {
				t.Errorf("recalled %d times, want 20", h.recalled)
			}
		})
	}
}

// raw calls CB_COMPOUND as it is, on the session's backchannel.
func (s *fake) raw(t *testing.T, args *nfs42.CBCompoundArgs) *nfs42.CBCompoundRes {
	t.Helper()
	s.mu.Lock()
	var session *fakeSession
	for _, session = range s.sessions {
	}
	s.mu.Unlock()
	res, err := session.back.Compound(t.Context(), args)
	check(t, err)
	return res
}

// seq is CB_SEQUENCE in the fake's only session.
func (s *fake) seq(slot nfs42.SlotID, seq nfs42.SequenceID, refer ...nfs42.ReferringCall) nfs42.CBArgOp {
	s.mu.Lock()
	defer s.mu.Unlock()
	args := &nfs42.CBSequenceArgs{SequenceID: seq, SlotID: slot, HighestSlotID: slot}
	for id := range s.sessions {
		args.SessionID = id
	}
	if refer != nil {
		args.ReferringCallLists = []nfs42.ReferringCallList{{SessionID: args.SessionID, ReferringCalls: refer}}
	}
	return nfs42.CBArgOp{Op: nfs42.CBOpSequence, Sequence: args}
}

// The rules for callbacks, one after the other on a session (RFC 8881 §2.10.6, §20).
func TestCallbackRules(t *testing.T) {
	h := &holder{id: nfs42.StateID{SeqID: 1, Other: [12]byte{7}}}
	s := newFake()
	s.session(t, nfs4.Config{Callbacks: h})
	other := s.seq(0, 1)
	other.Sequence.SessionID[0] ^= 1
	high := s.seq(0, 1)
	high.Sequence.HighestSlotID = 16
	op := func(op nfs42.CBOp) nfs42.CBArgOp { return nfs42.CBArgOp{Op: op} }
	many := []nfs42.CBArgOp{s.seq(0, 5)}
	for range 8 {
		many = append(many, recall(h.id))
	}
	for i, tt := range []struct {
		ops  []nfs42.CBArgOp
		want []nfs42.Status
	}{
		{nil, nil},
		{[]nfs42.CBArgOp{recall(h.id)}, []nfs42.Status{nfs42.StatusOpNotInSession}},
		{[]nfs42.CBArgOp{other}, []nfs42.Status{nfs42.StatusBadsession}},
		{[]nfs42.CBArgOp{s.seq(16, 1)}, []nfs42.Status{nfs42.StatusBadslot}},
		{[]nfs42.CBArgOp{high}, []nfs42.Status{nfs42.StatusBadHighSlot}},
		{[]nfs42.CBArgOp{s.seq(0, 0)}, []nfs42.Status{nfs42.StatusSeqMisordered}},
		{[]nfs42.CBArgOp{s.seq(0, 2)}, []nfs42.Status{nfs42.StatusSeqMisordered}},
		{[]nfs42.CBArgOp{s.seq(0, 1), recall(h.id)}, []nfs42.Status{0, 0}},
		{[]nfs42.CBArgOp{s.seq(0, 1), recall(h.id)}, []nfs42.Status{0, 0}}, // from the cache
		{[]nfs42.CBArgOp{s.seq(0, 1), recall(nfs42.StateID{})}, []nfs42.Status{nfs42.StatusSeqFalseRetry}},
		{[]nfs42.CBArgOp{s.seq(0, 2), recall(nfs42.StateID{})}, []nfs42.Status{0, nfs42.StatusBadStateid}},
		{[]nfs42.CBArgOp{s.seq(0, 3), s.seq(0, 4)}, []nfs42.Status{0, nfs42.StatusSequencePos}},
		{[]nfs42.CBArgOp{s.seq(0, 4), {Op: nfs42.CBOpGetAttr}, {Op: nfs42.CBOpRecallAny}}, []nfs42.Status{0, 0, 0}},
		{many, []nfs42.Status{nfs42.StatusTooManyOps}},
		{[]nfs42.CBArgOp{s.seq(0, 5), {Op: nfs42.CBOpLayoutRecall, LayoutRecall: &nfs42.CBLayoutRecallArgs{Type: 1, Recall: nfs42.LayoutRecall{RecallType: 3}, IOMode: 1}}},
			[]nfs42.Status{0, nfs42.StatusNomatchingLayout}},
		{[]nfs42.CBArgOp{s.seq(0, 6), {Op: nfs42.CBOpRecallSlot, RecallSlot: &nfs42.CBRecallSlotArgs{TargetHighestSlotID: 8}}}, []nfs42.Status{0, nfs42.StatusBadHighSlot}},
		{[]nfs42.CBArgOp{s.seq(0, 7), {Op: nfs42.CBOpRecallSlot, RecallSlot: &nfs42.CBRecallSlotArgs{TargetHighestSlotID: 1}}}, []nfs42.Status{0, 0}},
		{[]nfs42.CBArgOp{s.seq(0, 8), {Op: nfs42.CBOpNotify, Notify: &nfs42.CBNotifyArgs{}}}, []nfs42.Status{0, nfs42.StatusNotsupp}},
		{[]nfs42.CBArgOp{s.seq(0, 9), {Op: nfs42.CBOpNotifyLock, NotifyLock: &nfs42.CBNotifyLockArgs{}}}, []nfs42.Status{0, nfs42.StatusNotsupp}},
		{[]nfs42.CBArgOp{s.seq(1, 1), op(nfs42.CBOpIllegal)}, []nfs42.Status{0, nfs42.StatusOpIllegal}},
	} {
		res := s.raw(t, &nfs42.CBCompoundArgs{Tag: []byte("tag"), MinorVersion: 2, ArgArray: tt.ops})
		var got []nfs42.Status
		for j := range res.ResArray {
			got = append(got, statusOf(&res.ResArray[j]))
		}
		if !slices.Equal(got, tt.want) || string(res.Tag) != "tag" || len(got) > 0 && res.Status != got[len(got)-1] {
			t.Errorf("%d: found %v %v, want %v", i, got, res, tt.want)
		}
	}
	if res := s.raw(t, &nfs42.CBCompoundArgs{MinorVersion: 1, ArgArray: []nfs42.CBArgOp{s.seq(2, 1)}}); res.Status != nfs42.StatusMinorVersMismatch || len(res.ResArray) != 0 {
		t.Errorf("another minor version: %v", res)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.recalled != 1 {
		t.Errorf("recalled %d times, want 1", h.recalled)
	}
}

// statusOf returns the status of a result.
func statusOf(op *nfs42.CBResOp) nfs42.Status {
	switch op.Op {
	case nfs42.CBOpSequence:
		return op.Sequence.Status
	case nfs42.CBOpRecall:
		return op.Recall.Status
	case nfs42.CBOpGetAttr:
		return op.GetAttr.Status
	case nfs42.CBOpRecallAny:
		return op.RecallAny.Status
	case nfs42.CBOpLayoutRecall:
		return op.LayoutRecall.Status
	case nfs42.CBOpRecallSlot:
		return op.RecallSlot.Status
	case nfs42.CBOpNotify:
		return op.Notify.Status
	case nfs42.CBOpNotifyLock:
		return op.NotifyLock.Status
	case nfs42.CBOpIllegal:
		return op.Illegal.Status
	}
	panic(fmt.Sprint(op.Op))
}

// A client without Callbacks holds nothing.
func TestNothingIsHeld(t *testing.T) {
	s := newFake()
	s.session(t, nfs4.Config{})
	for i, want := range []nfs42.Status{nfs42.StatusBadStateid, nfs42.StatusBadhandle, nfs42.StatusOK} {
		op := []nfs42.CBArgOp{recall(nfs42.StateID{}), {Op: nfs42.CBOpGetAttr}, {Op: nfs42.CBOpRecallAny}}[i]
		if res, err := s.callback(t.Context(), op); err != nil || res.Status != want {
			t.Errorf("%v: %v, %v", op.Op, res, err)
		}
	}
}

// A callback about a COMPOUND waits for its reply (RFC 8881 §2.10.6.3).
func TestReferringCall(t *testing.T) {
	h := &holder{}
	s := newFake()
	got := s.session(t, nfs4.Config{Callbacks: h})
	arrived, goOn := make(chan nfs42.ReferringCall, 1), make(chan struct{})
	s.set(func(s *fake) {
		s.wait = func(ctx context.Context, args *nfs42.CompoundArgs) {
			if seq := args.ArgArray[0].Sequence; len(args.ArgArray) == 3 {
				arrived <- nfs42.ReferringCall{SlotID: seq.SlotID, SequenceID: seq.SequenceID}
				<-goOn
			}
		}
	})
	over := make(chan error, 1)
	go func() { over <- remove(t.Context(), got, "x") }()
	call := <-arrived
	refers := s.seq(0, 1, call)
	answered := make(chan *nfs42.CBCompoundRes, 1)
	go func() {
		res, err := s.callback(t.Context()) // uses the slot with refers below
		_ = err
		answered <- res
	}()
	if res := <-answered; res.Status != nfs42.StatusOK {
		t.Errorf("a callback that refers to nothing: %v", res)
	}
	refers.Sequence.SequenceID = 2
	go func() {
		s.mu.Lock()
		var back *fakeSession
		for _, back = range s.sessions {
		}
		s.mu.Unlock()
		res, err := back.back.Compound(t.Context(), &nfs42.CBCompoundArgs{MinorVersion: 2, ArgArray: []nfs42.CBArgOp{refers, recall(h.id)}})
		if err != nil {
			t.Error(err)
		}
		answered <- res
	}()
	select {
	case res := <-answered:
		t.Errorf("answered before the reply: %v", res)
	case <-time.After(20 * time.Millisecond):
	}
	close(goOn)
	check(t, <-over)
	if res := <-answered; res == nil || res.Status != nfs42.StatusOK {
		t.Errorf("found %v", res)
	}
}
