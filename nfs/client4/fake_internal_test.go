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

	// status returns the status of an operation, in place of executing it. If nil, all succeed.
	status func(op *nfs42.ArgOp) nfs42.Status
	// change changes a result.
	change func(res *nfs42.ResOp)
}

// restart loses all state, and the data that were not committed.
func (s *fake) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boot++
	s.complete = false
	s.sessions, s.opens = map[nfs42.SessionID]bool{}, map[nfs42.StateID]nfs42.OpenArgs{}
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
	if _, ok := s.opens[id]; !ok && *status == nfs42.StatusOK {
		*status = nfs42.StatusBadStateid
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
	case nfs42.OpGetFH:
		out.GetFH = &nfs42.GetFHRes{Status: *status, OK: nfs42.GetFHResOK{Object: []byte("handle")}}
	case nfs42.OpGetAttr:
		out.GetAttr = &nfs42.GetAttrRes{Status: *status}
		out.GetAttr.OK.ObjAttributes = nfs42.Fattr{AttrMask: nfs42.Bitmap{1 << nfs42.AttrLeaseTime}, AttrVals: binary.BigEndian.AppendUint32(nil, 60)}
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
			s.stateID++
			id := nfs42.StateID{SeqID: 1}
			binary.BigEndian.PutUint64(id.Other[:], s.boot<<32|s.stateID)
			s.opens[id] = nfs42.OpenArgs{ShareAccess: op.Open.ShareAccess, Claim: nfs42.OpenClaim{Claim: op.Open.Claim.Claim}}
			s.log = append(s.log, fmt.Sprintf("open %v", op.Open.Claim.Claim))
			out.Open.OK = &nfs42.OpenResOK{StateID: id}
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
