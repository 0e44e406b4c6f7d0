package client4

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42/nfs42rpc"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// fake is a server with one file. Its sessions have no reply cache. mu guards all fields, and is
// held when status is called.
type fake struct {
	mu       sync.Mutex
	boot     uint64 // part of the verifier and all IDs
	session  uint64 // the last one
	sessions map[nfs42.SessionID]bool
	complete bool // RECLAIM_COMPLETE
	stateID  uint64
	opens    map[nfs42.StateID]nfs42.OpenArgs // arguments without their claims' names
	stored   []byte                           // what survives a restart
	cached   []byte                           // what WRITE has left
	log      []string                         // the operations that change state
	delegs   map[nfs42.StateID]*fakeDelegation
	current  string // handle

	give nfs42.OpenDelegationType // delegation that OPEN gives, if it is wanted

	// status returns the status of an operation, in place of executing it. If nil, all succeed.
	status func(op *nfs42.ArgOp) nfs42.Status
	// change changes a result.
	change func(res *nfs42.ResOp)
}

// fakeDelegation is a delegation that fake has given.
type fakeDelegation struct {
	handle  string
	revoked bool
}

// restart loses all state, and the data that were not committed.
func (s *fake) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boot++
	s.complete = false
	s.sessions, s.opens = map[nfs42.SessionID]bool{}, map[nfs42.StateID]nfs42.OpenArgs{}
	s.delegs = map[nfs42.StateID]*fakeDelegation{}
	s.cached = append([]byte(nil), s.stored...)
}

func (s *fake) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Compound implements nfs42rpc.Server.
func (s *fake) Compound(_ *rpc.Request, args *nfs42.CompoundArgs, res *nfs42.CompoundRes) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range args.ArgArray {
		op := &args.ArgArray[i]
		status := nfs42.StatusOK
		if s.status != nil {
			status = s.status(op)
		}
		out := s.execute(op, &status)
		if s.change != nil {
			s.change(&out)
		}
		res.ResArray, res.Status = append(res.ResArray, out), status
		if status != nfs42.StatusOK {
			break
		}
	}
	return nil
}

// known sets *status unless a state ID is of an open file.
func (s *fake) known(id nfs42.StateID, status *nfs42.Status) {
	id.SeqID = 1
	_, open := s.opens[id]
	given := s.delegs[id]
	switch {
	case *status != nfs42.StatusOK:
	case given != nil && given.revoked:
		*status = nfs42.StatusDelegRevoked
	case !open && given == nil:
		*status = nfs42.StatusBadStateid
	}
}

// next returns a further state ID.
func (s *fake) next() (id nfs42.StateID) {
	s.stateID++
	id.SeqID = 1
	binary.BigEndian.PutUint64(id.Other[:], s.boot<<32|s.stateID)
	return id
}

// delegate gives a delegation with an OPEN.
func (s *fake) delegate(args *nfs42.OpenArgs, ok *nfs42.OpenResOK) {
	kind := s.give
	switch {
	case args.Claim.Claim == nfs42.OpenClaimTypePrevious:
		kind = args.Claim.DelegateType
	case args.Claim.Claim != nfs42.OpenClaimTypeNull, args.ShareAccess&nfs42.OpenShareAccessWantDelegMask == nfs42.OpenShareAccessWantNoDeleg:
		kind = nfs42.OpenDelegationTypeNone
	}
	for _, d := range s.delegs {
		if d.handle == s.current {
			return // one for each file
		}
	}
	if kind != nfs42.OpenDelegationTypeNone {
		id := s.next()
		s.delegs[id] = &fakeDelegation{handle: s.current}
		ok.Delegation.DelegationType = kind
		if kind == nfs42.OpenDelegationTypeRead {
			ok.Delegation.Read.StateID = id
		} else {
			ok.Delegation.Write = &nfs42.OpenWriteDelegation{StateID: id, SpaceLimit: nfs42.SpaceLimit{LimitBy: nfs42.LimitBySize}}
		}
	}
}

// verifier is the write verifier of this boot.
func (s *fake) verifier() (v nfs42.Verifier) {
	binary.BigEndian.PutUint64(v[:], s.boot)
	return v
}

// execute executes an operation whose status is still OK.
func (s *fake) execute(op *nfs42.ArgOp, status *nfs42.Status) nfs42.ResOp {
	out := nfs42.ResOp{Op: op.Op}
	ok := *status == nfs42.StatusOK
	switch op.Op {
	case nfs42.OpExchangeID:
		out.ExchangeID = &nfs42.ExchangeIDRes{OK: &nfs42.ExchangeIDResOK{ClientID: nfs42.ClientID(s.boot), SequenceID: 1, ServerScope: []byte("scope")}}
	case nfs42.OpCreateSession:
		a := op.CreateSession
		s.session++
		var id nfs42.SessionID
		binary.BigEndian.PutUint64(id[:], s.session)
		s.sessions[id] = true
		out.CreateSession = &nfs42.CreateSessionRes{OK: nfs42.CreateSessionResOK{
			SessionID: id, Sequence: a.Sequence, Flags: a.Flags & nfs42.CreateSessionFlagConnBackChan, ForeChanAttrs: a.ForeChanAttrs, BackChanAttrs: a.BackChanAttrs,
		}}
	case nfs42.OpSequence:
		q := op.Sequence
		if ok && !s.sessions[q.SessionID] {
			*status = nfs42.StatusBadsession
		}
		out.Sequence = &nfs42.SequenceRes{Status: *status, OK: nfs42.SequenceResOK{SessionID: q.SessionID, SequenceID: q.SequenceID, SlotID: q.SlotID, HighestSlotID: 7, TargetHighestSlotID: 7}}
	case nfs42.OpReclaimComplete:
		s.log = append(s.log, "complete")
		s.complete = true
		out.ReclaimComplete = &nfs42.ReclaimCompleteRes{Status: *status}
	case nfs42.OpDestroySession:
		delete(s.sessions, op.DestroySession.SessionID)
		out.DestroySession = &nfs42.DestroySessionRes{Status: *status}
	case nfs42.OpDestroyClientID:
		out.DestroyClientID = &nfs42.DestroyClientIDRes{Status: *status}
	case nfs42.OpPutRootFH:
		out.PutRootFH = &nfs42.PutRootFHRes{Status: *status}
	case nfs42.OpPutFH:
		out.PutFH = &nfs42.PutFHRes{Status: *status}
		s.current = string(op.PutFH.Object)
	case nfs42.OpGetFH:
		out.GetFH = &nfs42.GetFHRes{Status: *status, OK: nfs42.GetFHResOK{Object: []byte(s.current)}}
	case nfs42.OpGetAttr:
		out.GetAttr = &nfs42.GetAttrRes{Status: *status}
		out.GetAttr.OK.ObjAttributes = nfs42.Fattr{AttrMask: nfs42.Bitmap{1 << nfs42.AttrLeaseTime}, AttrVals: binary.BigEndian.AppendUint32(nil, 60)}
		if mask := op.GetAttr.AttrRequest; mask[0]&(1<<nfs42.AttrSize) != 0 {
			a := nfs42ext.Attributes{Mask: unchanged(), Change: 7, Size: nfs42.FattrSize(len(s.cached))}
			_ = a.Encode(&out.GetAttr.OK.ObjAttributes)
		}
	case nfs42.OpSetAttr:
		s.known(op.SetAttr.StateID, status)
		if *status == nfs42.StatusOK {
			s.cached, s.stored = nil, nil // the tests only set the size 0
		}
		out.SetAttr = &nfs42.SetAttrRes{Status: *status}
	case nfs42.OpOpen:
		// RFC 8881 §18.51.3
		if ok && !s.complete && op.Open.Claim.Claim != nfs42.OpenClaimTypePrevious {
			ok, *status = false, nfs42.StatusGrace
		}
		out.Open = &nfs42.OpenRes{Status: *status}
		if ok {
			if op.Open.Claim.Claim == nfs42.OpenClaimTypeNull {
				s.current = "handle of " + string(op.Open.Claim.File)
			}
			id := s.next()
			s.opens[id] = nfs42.OpenArgs{ShareAccess: op.Open.ShareAccess, Claim: nfs42.OpenClaim{Claim: op.Open.Claim.Claim, DelegateType: op.Open.Claim.DelegateType}}
			s.log = append(s.log, fmt.Sprintf("open %v", op.Open.Claim.Claim))
			out.Open.OK = &nfs42.OpenResOK{StateID: id}
			s.delegate(op.Open, out.Open.OK)
		}
	case nfs42.OpLookup:
		s.current = "handle of " + string(op.Lookup.ObjName)
		out.Lookup = &nfs42.LookupRes{Status: *status}
	case nfs42.OpDelegReturn:
		s.known(op.DelegReturn.DelegStateID, status)
		id := op.DelegReturn.DelegStateID
		id.SeqID = 1
		delete(s.delegs, id)
		s.log = append(s.log, "return")
		out.DelegReturn = nfs42.DelegReturnRes{Status: *status}
	case nfs42.OpTestStateID:
		out.TestStateID = &nfs42.TestStateIDRes{Status: *status}
		for _, id := range op.TestStateID.StateIDs {
			one := nfs42.StatusOK
			s.known(id, &one)
			out.TestStateID.OK.StatusCodes = append(out.TestStateID.OK.StatusCodes, one)
		}
	case nfs42.OpFreeStateID:
		id := op.FreeStateID.StateID
		id.SeqID = 1
		delete(s.delegs, id)
		s.log = append(s.log, "free")
		out.FreeStateID = &nfs42.FreeStateIDRes{Status: *status}
	case nfs42.OpRead:
		a := op.Read
		s.known(a.StateID, status)
		out.Read = &nfs42.ReadRes{Status: *status}
		if *status == nfs42.StatusOK {
			rest := s.cached[min(int(a.Offset), len(s.cached)):]
			out.Read.OK.Data = append([]byte(nil), rest[:min(int(a.Count), len(rest))]...)
			out.Read.OK.EOF = len(rest) <= int(a.Count)
		}
	case nfs42.OpClose:
		s.known(op.Close.OpenStateID, status)
		id := op.Close.OpenStateID
		id.SeqID = 1
		delete(s.opens, id)
		out.Close = nfs42.CloseRes{Status: *status}
	case nfs42.OpWrite:
		a := op.Write
		s.known(a.StateID, status)
		out.Write = &nfs42.WriteRes{Status: *status}
		if *status == nfs42.StatusOK {
			end := int(a.Offset) + len(a.Data)
			s.cached = append(s.cached, make([]byte, max(end-len(s.cached), 0))...)
			copy(s.cached[a.Offset:], a.Data)
			out.Write.OK = nfs42.WriteResOK{Count: nfs42.Count(len(a.Data)), WriteVerf: s.verifier()}
		}
	case nfs42.OpCommit:
		if ok {
			s.stored = append([]byte(nil), s.cached...)
		}
		out.Commit = nfs42.CommitRes{Status: *status, OK: nfs42.CommitResOK{WriteVerf: s.verifier()}}
	default:
		panic(fmt.Sprintf("the test server lacks %v", op.Op))
	}
	return out
}

// client returns a client of s over TCP.
func (s *fake) client(t *testing.T, cfg Config) *Client {
	t.Helper()
	s.restart()
	ln, err := tcp.Listen(context.Background(), "127.0.0.1:0", rpc.NewHandler(nil, nfs42rpc.NewService(s)), nil)
	check(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	c := newClient(&cfg)
	c.cfg.Session = &nfs4.Config{RetryPause: time.Millisecond, MaxWait: 10 * time.Second}
	c.s, err = nfs4.DialTCP(t.Context(), ln.Addr(), c.session(), nil)
	check(t, err)
	t.Cleanup(func() { check(t, c.Close()) })
	return c
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
