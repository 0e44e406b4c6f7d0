package nfs4_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// A reply that breaks a rule is named, harms nothing, and the session stays up: with the same
// session ID if the reply to SEQUENCE was right.
func TestServerLies(t *testing.T) {
	getFH := nfs42.ResOp{Op: nfs42.OpGetFH, GetFH: &nfs42.GetFHRes{OK: nfs42.GetFHResOK{Object: []byte("other")}}}
	sequence := func(res *nfs42.CompoundRes, change func(ok *nfs42.SequenceResOK)) {
		seq := *res.ResArray[0].Sequence
		change(&seq.OK)
		res.ResArray[0].Sequence = &seq
	}
	for _, tt := range []struct {
		name string
		lie  func(res *nfs42.CompoundRes)
		want string
	}{
		{"long", func(res *nfs42.CompoundRes) { res.ResArray = append(res.ResArray, getFH) }, "4 results of 3 operations"},
		{"short", func(res *nfs42.CompoundRes) { res.ResArray = res.ResArray[:2] }, "2 results of 3 operations"},
		{"empty", func(res *nfs42.CompoundRes) { res.ResArray = nil }, "the status NFS4_OK with 0 results"},
		{"out of order", func(res *nfs42.CompoundRes) {
			res.ResArray[1], res.ResArray[2] = res.ResArray[2], res.ResArray[1]
		}, "the result of OP_GETFH, operation 0 is OP_PUTROOTFH"},
		{"another operation", func(res *nfs42.CompoundRes) {
			res.ResArray[2] = nfs42.ResOp{Op: nfs42.OpPutRootFH, PutRootFH: &nfs42.PutRootFHRes{}}
		}, "the result of OP_PUTROOTFH, operation 1 is OP_GETFH"},
		{"no SEQUENCE", func(res *nfs42.CompoundRes) { res.ResArray = res.ResArray[1:] }, "the result of OP_PUTROOTFH, operation -1 is OP_SEQUENCE"},
		{"an error in the middle", func(res *nfs42.CompoundRes) {
			res.ResArray[1].PutRootFH = &nfs42.PutRootFHRes{Status: nfs42.StatusPerm}
		}, "a result after one with NFS4ERR_PERM"},
		{"another status", func(res *nfs42.CompoundRes) { res.Status = nfs42.StatusPerm }, "the status NFS4ERR_PERM with 3 results, the last one with NFS4_OK"},
		{"a tag", func(res *nfs42.CompoundRes) { res.Tag = []byte("tag") }, "a tag of 3 bytes"},
		{"another session", func(res *nfs42.CompoundRes) {
			sequence(res, func(ok *nfs42.SequenceResOK) { ok.SessionID[15]++ })
		}, "SEQUENCE for session"},
		{"another slot", func(res *nfs42.CompoundRes) {
			sequence(res, func(ok *nfs42.SequenceResOK) { ok.SlotID++ })
		}, "SEQUENCE for slot 1, expected 0"},
		{"another sequence ID", func(res *nfs42.CompoundRes) {
			sequence(res, func(ok *nfs42.SequenceResOK) { ok.SequenceID-- })
		}, "of slot 0, expected"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newFake()
			got := s.session(t, nfs4.Config{})
			lies := 1
			s.set(func(s *fake) {
				s.lie = func(args *nfs42.CompoundArgs, res *nfs42.CompoundRes) bool {
					if len(args.ArgArray) == 3 && lies > 0 {
						lies--
						res.ResArray = append([]nfs42.ResOp(nil), res.ResArray...)
						tt.lie(res)
					}
					return false
				}
			})
			_, err := handle(t.Context(), got)
			var rule *nfs4.ProtocolError
			if !errors.As(err, &rule) || !strings.Contains(rule.Rule, tt.want) {
				t.Errorf("found %v, want %q", err, tt.want)
			}
			for range 10 { // on all slots
				if fh, err := handle(t.Context(), got); fh != "handle" || err != nil {
					t.Errorf("after that: %q, %v", fh, err)
				}
			}
			s.set(func(s *fake) {
				if len(s.sessions) != 1 || s.boot != 1 {
					t.Errorf("%d sessions", len(s.sessions))
				}
			})
		})
	}
}

// A slot's cache that answers with other bytes is named, and the COMPOUND is not made twice.
func TestReplayOfAnotherCompound(t *testing.T) {
	s := newFake()
	got := s.session(t, nfs4.Config{})
	cut := true
	s.set(func(s *fake) {
		s.lie = func(args *nfs42.CompoundArgs, res *nfs42.CompoundRes) bool {
			if last := args.ArgArray[len(args.ArgArray)-1].Op; last != nfs42.OpRemove {
				return false
			}
			if cut {
				cut = false
				return true
			}
			res.ResArray = append(res.ResArray[:2:2], nfs42.ResOp{Op: nfs42.OpGetFH, GetFH: &nfs42.GetFHRes{}})
			s.lie = nil
			return false
		}
	})
	err := remove(t.Context(), got, "x")
	var rule *nfs4.ProtocolError
	if !errors.As(err, &rule) || !strings.Contains(rule.Rule, "the result of OP_GETFH, operation 1 is OP_REMOVE") {
		t.Errorf("found %v", err)
	}
	check(t, remove(t.Context(), got, "y"))
	s.set(func(s *fake) {
		if s.removed["x"] != 1 || s.removed["y"] != 1 {
			t.Errorf("removed %v", s.removed)
		}
	})
}

// A reply that is not kept is lost: what may have changed something is not made again.
func TestUncachedReply(t *testing.T) {
	s := newFake()
	got := s.session(t, nfs4.Config{})
	s.set(func(s *fake) {
		left := 1
		s.status = func(op *nfs42.ArgOp) nfs42.Status {
			if op.Op == nfs42.OpPutRootFH && left > 0 {
				left--
				return nfs42.StatusRetryUncachedRep
			}
			if op.Op == nfs42.OpRemove && string(op.Remove.Target) == "lost" {
				return nfs42.StatusRetryUncachedRep
			}
			return nfs42.StatusOK
		}
	})
	if fh, err := handle(t.Context(), got); fh != "handle" || err != nil {
		t.Errorf("%q, %v", fh, err)
	}
	if err := remove(t.Context(), got, "lost"); !errors.Is(err, nfs4.ErrReplyLost) {
		t.Errorf("found %v", err)
	}
	check(t, remove(t.Context(), got, "x"))
}

// Answers to EXCHANGE_ID and CREATE_SESSION that no session can have are refused.
func TestNoSessionByLies(t *testing.T) {
	for _, tt := range []struct {
		name string
		lie  func(op *nfs42.ResOp)
		want string
	}{
		{"state protection", func(op *nfs42.ResOp) {
			if op.Op == nfs42.OpExchangeID {
				ok := *op.ExchangeID.OK
				ok.StateProtect.How = nfs42.StateProtectHowMachCred
				op.ExchangeID.OK = &ok
			}
		}, "state protection"},
		{"sequence", func(op *nfs42.ResOp) {
			if op.Op == nfs42.OpCreateSession {
				op.CreateSession.OK.Sequence++
			}
		}, "CREATE_SESSION 2, expected 1"},
		{"no slots", func(op *nfs42.ResOp) {
			if op.Op == nfs42.OpCreateSession {
				op.CreateSession.OK.ForeChanAttrs.MaxRequests = 0
			}
		}, "a session of 0 slots"},
		{"one operation", func(op *nfs42.ResOp) {
			if op.Op == nfs42.OpCreateSession {
				op.CreateSession.OK.ForeChanAttrs.MaxOperations = 1
			}
		}, "1 operations"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newFake()
			s.lie = func(_ *nfs42.CompoundArgs, res *nfs42.CompoundRes) bool {
				tt.lie(&res.ResArray[0])
				return false
			}
			_, err := nfs4.DialTCP(t.Context(), s.serveTCP(t), &nfs4.Config{RetryPause: time.Millisecond}, nil)
			var rule *nfs4.ProtocolError
			if !errors.As(err, &rule) || !strings.Contains(rule.Rule, tt.want) {
				t.Errorf("found %v, want %q", err, tt.want)
			}
		})
	}
}

// A server with more slots and operations than the client asked for gets no more than that.
func TestServerOffersTooMuch(t *testing.T) {
	s := newFake()
	s.lie = func(_ *nfs42.CompoundArgs, res *nfs42.CompoundRes) bool {
		if op := &res.ResArray[0]; op.Op == nfs42.OpCreateSession {
			op.CreateSession.OK.ForeChanAttrs = nfs42.ChannelAttrs{
				MaxRequestSize: 1 << 31, MaxResponseSize: 1 << 31, MaxOperations: 1 << 31, MaxRequests: 1 << 31,
			}
		}
		return false
	}
	got := s.session(t, nfs4.Config{Slots: 4, MaxIO: 1 << 16})
	if l := got.Limits(); l != (nfs4.Limits{MaxRequest: 1<<16 + 4096, MaxResponse: 1<<16 + 4096, MaxOperations: 64, Slots: 4}) {
		t.Errorf("%+v", l)
	}
}
