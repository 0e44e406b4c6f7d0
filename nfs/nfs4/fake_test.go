package nfs4_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42/nfs42rpc"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// fake is a server of sessions in memory. REMOVE is its operation that must run once, OPEN with a
// former state its reclaim. All fields are guarded by mu, and hooks are called with it held.
type fake struct {
	back oncrpc.Carrier
	bind func(oncrpc.Conn) // makes a connection the one of back

	mu       sync.Mutex
	boot     uint64 // part of client and session IDs
	owners   map[string]*fakeClient
	sessions map[nfs42.SessionID]*fakeSession
	conns    map[oncrpc.Conn]bool
	slots    int
	lease    uint32
	grace    bool           // until RECLAIM_COMPLETE of the client
	flags    uint32         // of SEQUENCE
	target   nfs42.SlotID   // of SEQUENCE
	log      []string       // operations that were executed
	removed  map[string]int // executions of REMOVE, by name
	requests int

	// status returns the status of an operation, in place of executing it. If nil, all succeed.
	status func(op *nfs42.ArgOp) nfs42.Status
	// lie changes a reply. If it returns true, the connection is cut and the reply lost.
	lie func(args *nfs42.CompoundArgs, res *nfs42.CompoundRes) (cut bool)
	// wait is called without mu before a COMPOUND with SEQUENCE is executed.
	wait func(ctx context.Context, args *nfs42.CompoundArgs)
}

type fakeClient struct {
	id        nfs42.ClientID
	verifier  nfs42.Verifier
	seq       nfs42.SequenceID // of the next CREATE_SESSION
	confirmed bool
	complete  bool // RECLAIM_COMPLETE
	created   *nfs42.CreateSessionRes
}

type fakeSession struct {
	client *fakeClient
	slots  []fakeSlot
	back   *nfs42rpc.CallbackClient
	seq    nfs42.SequenceID // slot 0 in the backchannel
}

type fakeSlot struct {
	seq   nfs42.SequenceID
	busy  bool
	reply *nfs42.CompoundRes
}

func newFake() *fake {
	s := &fake{slots: 8, lease: 60, target: 1 << 20, conns: make(map[oncrpc.Conn]bool)}
	s.restart()
	return s
}

// restart forgets all clients.
func (s *fake) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boot++
	s.owners, s.sessions = make(map[string]*fakeClient), make(map[nfs42.SessionID]*fakeSession)
	if s.removed == nil {
		s.removed = make(map[string]int)
	}
}

// cut closes all connections.
func (s *fake) cut() {
	s.mu.Lock()
	conns := s.conns
	s.conns = make(map[oncrpc.Conn]bool)
	s.mu.Unlock()
	for c := range conns {
		go c.(interface{ Close() error }).Close()
	}
}

// Compound implements nfs42rpc.Server.
func (s *fake) Compound(r *rpc.Request, args *nfs42.CompoundArgs, res *nfs42.CompoundRes) error {
	s.mu.Lock()
	s.conns[r.Conn()] = true
	s.requests++
	wait := s.wait
	s.mu.Unlock()
	first := nfs42.OpIllegal
	if len(args.ArgArray) > 0 {
		first = args.ArgArray[0].Op
	}
	var slot *fakeSlot
	if first == nfs42.OpSequence {
		var done bool
		if slot, done = s.enter(args, res); done {
			return s.end(r, args, res)
		}
		if wait != nil {
			wait(r.Context(), args)
		}
	}
	s.mu.Lock()
	for i := range args.ArgArray {
		out := s.execute(r, &args.ArgArray[i], args)
		res.ResArray = append(res.ResArray, out.op)
		if res.Status = out.status; res.Status != nfs42.StatusOK {
			break
		}
	}
	if slot != nil {
		kept := *res
		slot.reply, slot.busy = &kept, false
	}
	s.mu.Unlock()
	return s.end(r, args, res)
}

// end lies, if asked to.
func (s *fake) end(r *rpc.Request, args *nfs42.CompoundArgs, res *nfs42.CompoundRes) error {
	s.mu.Lock()
	lie := s.lie
	cut := lie != nil && lie(args, res)
	s.mu.Unlock()
	if cut {
		go r.Conn().(interface{ Close() error }).Close()
		return rpc.ErrDrop
	}
	return nil
}

// enter checks SEQUENCE. done says that res has the reply.
func (s *fake) enter(args *nfs42.CompoundArgs, res *nfs42.CompoundRes) (_ *fakeSlot, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seq := args.ArgArray[0].Sequence
	refuse := func(status nfs42.Status) (*fakeSlot, bool) {
		res.Status = status
		res.ResArray = []nfs42.ResOp{{Op: nfs42.OpSequence, Sequence: &nfs42.SequenceRes{Status: status}}}
		return nil, true
	}
	if s.status != nil {
		if status := s.status(&args.ArgArray[0]); status != nfs42.StatusOK {
			return refuse(status)
		}
	}
	session := s.sessions[seq.SessionID]
	switch {
	case session == nil:
		return refuse(nfs42.StatusBadsession)
	case int(seq.SlotID) >= len(session.slots):
		return refuse(nfs42.StatusBadslot)
	}
	slot := &session.slots[seq.SlotID]
	switch {
	case seq.SequenceID == slot.seq && slot.busy:
		return refuse(nfs42.StatusDelay)
	case seq.SequenceID == slot.seq && slot.reply != nil:
		*res = *slot.reply
		return nil, true
	case seq.SequenceID != slot.seq+1:
		return refuse(nfs42.StatusSeqMisordered)
	}
	*slot = fakeSlot{seq: seq.SequenceID, busy: true}
	return slot, false
}

type fakeResult struct {
	op     nfs42.ResOp
	status nfs42.Status
}

// execute executes an operation. The caller holds s.mu.
func (s *fake) execute(r *rpc.Request, op *nfs42.ArgOp, args *nfs42.CompoundArgs) fakeResult {
	out, status := nfs42.ResOp{Op: op.Op}, nfs42.StatusOK
	if s.status != nil && op.Op != nfs42.OpSequence {
		status = s.status(op)
	}
	if status == nfs42.StatusOK {
		s.log = append(s.log, op.Op.String())
	}
	switch op.Op {
	case nfs42.OpExchangeID:
		out.ExchangeID = &nfs42.ExchangeIDRes{Status: status}
		if status == nfs42.StatusOK {
			out.ExchangeID.OK = s.exchange(op.ExchangeID)
		}
	case nfs42.OpCreateSession:
		out.CreateSession = &nfs42.CreateSessionRes{Status: status}
		if status == nfs42.StatusOK {
			out.CreateSession = s.create(r, op.CreateSession)
			status = out.CreateSession.Status
		}
	case nfs42.OpBindConnToSession:
		if status == nfs42.StatusOK && s.sessions[op.BindConnToSession.SessionID] == nil {
			status = nfs42.StatusBadsession
		}
		out.BindConnToSession = &nfs42.BindConnToSessionRes{Status: status}
		out.BindConnToSession.OK = nfs42.BindConnToSessionResOK{SessionID: op.BindConnToSession.SessionID, Dir: nfs42.ChannelDirFromServerBoth}
		if status == nfs42.StatusOK && s.bind != nil {
			s.bind(r.Conn())
		}
	case nfs42.OpSequence:
		q := op.Sequence
		out.Sequence = &nfs42.SequenceRes{OK: nfs42.SequenceResOK{
			SessionID: q.SessionID, SequenceID: q.SequenceID, SlotID: q.SlotID, HighestSlotID: nfs42.SlotID(s.slots - 1), TargetHighestSlotID: s.target, StatusFlags: s.flags,
		}}
	case nfs42.OpReclaimComplete:
		out.ReclaimComplete = &nfs42.ReclaimCompleteRes{Status: status}
		if status == nfs42.StatusOK {
			if c := s.sessions[args.ArgArray[0].Sequence.SessionID]; c != nil {
				c.client.complete = true
			}
			s.grace = false
		}
	case nfs42.OpDestroySession:
		if s.sessions[op.DestroySession.SessionID] == nil {
			status = nfs42.StatusBadsession
		}
		delete(s.sessions, op.DestroySession.SessionID)
		out.DestroySession = &nfs42.DestroySessionRes{Status: status}
	case nfs42.OpDestroyClientID:
		for owner, c := range s.owners {
			if c.id == op.DestroyClientID.ClientID {
				delete(s.owners, owner)
			}
		}
		out.DestroyClientID = &nfs42.DestroyClientIDRes{Status: status}
	case nfs42.OpPutRootFH:
		out.PutRootFH = &nfs42.PutRootFHRes{Status: status}
	case nfs42.OpGetFH:
		out.GetFH = &nfs42.GetFHRes{Status: status, OK: nfs42.GetFHResOK{Object: []byte("handle")}}
	case nfs42.OpGetAttr:
		out.GetAttr = &nfs42.GetAttrRes{Status: status}
		out.GetAttr.OK.ObjAttributes = nfs42.Fattr{AttrMask: nfs42.Bitmap{1 << nfs42.AttrLeaseTime}, AttrVals: binary.BigEndian.AppendUint32(nil, s.lease)}
	case nfs42.OpRemove:
		if status == nfs42.StatusOK && s.grace {
			status = nfs42.StatusGrace
		}
		if status == nfs42.StatusOK {
			s.removed[string(op.Remove.Target)]++
		}
		out.Remove = &nfs42.RemoveRes{Status: status}
	default:
		panic(fmt.Sprintf("the test server lacks %v", op.Op))
	}
	return fakeResult{out, status}
}

func (s *fake) exchange(args *nfs42.ExchangeIDArgs) *nfs42.ExchangeIDResOK {
	c := s.owners[string(args.ClientOwner.OwnerID)]
	if c == nil || c.verifier != args.ClientOwner.Verifier {
		c = &fakeClient{id: nfs42.ClientID(s.boot<<32 | uint64(len(s.owners)+1)), verifier: args.ClientOwner.Verifier, seq: 1}
		s.owners[string(args.ClientOwner.OwnerID)] = c
	}
	ok := &nfs42.ExchangeIDResOK{ClientID: c.id, SequenceID: c.seq, ServerScope: []byte("scope")}
	if c.confirmed {
		ok.Flags = nfs42.ExchangeIDFlagConfirmedR
	}
	return ok
}

func (s *fake) create(r *rpc.Request, args *nfs42.CreateSessionArgs) *nfs42.CreateSessionRes {
	var c *fakeClient
	for _, o := range s.owners {
		if o.id == args.ClientID {
			c = o
		}
	}
	switch {
	case c == nil:
		return &nfs42.CreateSessionRes{Status: nfs42.StatusStaleClientid}
	case args.Sequence == c.seq-1 && c.created != nil:
		return c.created
	case args.Sequence != c.seq:
		return &nfs42.CreateSessionRes{Status: nfs42.StatusSeqMisordered}
	}
	var id nfs42.SessionID
	binary.BigEndian.PutUint64(id[:], uint64(c.id))
	binary.BigEndian.PutUint64(id[8:], uint64(c.seq))
	session := &fakeSession{client: c, slots: make([]fakeSlot, min(s.slots, int(args.ForeChanAttrs.MaxRequests)))}
	s.sessions[id] = session
	c.seq, c.confirmed = c.seq+1, true
	fore := args.ForeChanAttrs
	fore.MaxRequests = nfs42.Count(len(session.slots))
	c.created = &nfs42.CreateSessionRes{OK: nfs42.CreateSessionResOK{
		SessionID: id, Sequence: args.Sequence, Flags: args.Flags & nfs42.CreateSessionFlagConnBackChan, ForeChanAttrs: fore, BackChanAttrs: args.BackChanAttrs,
	}}
	if s.back != nil {
		session.back = nfs42rpc.NewCallbackClient(s.back, &rpc.ClientConfig{Program: args.CBProgram})
		s.bind(r.Conn())
	}
	return c.created
}

// executed returns the operations that were executed, without those that n first ones were.
func (s *fake) executed(n int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log[n:])
}

// set changes the server.
func (s *fake) set(f func(s *fake)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// serveTCP serves s over TCP, and returns its address.
func (s *fake) serveTCP(t *testing.T) string {
	t.Helper()
	back := tcp.NewBackchannel(nil)
	t.Cleanup(back.Close)
	s.back, s.bind = back, func(c oncrpc.Conn) { back.Bind(c.(*tcp.Conn)) }
	ln, err := tcp.Listen(context.Background(), "127.0.0.1:0", rpc.NewHandler(nil, nfs42rpc.NewService(s)), nil)
	check(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	return ln.Addr()
}

// session returns a session with s over TCP.
func (s *fake) session(t *testing.T, cfg nfs4.Config) *nfs4.Session {
	t.Helper()
	if cfg.RetryPause == 0 {
		cfg.RetryPause = time.Millisecond
	}
	got, err := nfs4.DialTCP(t.Context(), s.serveTCP(t), &cfg, &tcp.ClientConfig{MinBackoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond})
	check(t, err)
	t.Cleanup(func() { check(t, got.Close()) })
	return got
}

// overRDMA returns a session with s over RDMA, whose server has one credit for callbacks.
func (s *fake) overRDMA(t *testing.T, version int, cfg nfs4.Config) *nfs4.Session {
	t.Helper()
	cfg.RetryPause = time.Millisecond
	net := mem.New(nil)
	server, err := net.Open("server", nil)
	check(t, err)
	t.Cleanup(func() { _ = server.Close() })
	client, err := net.Open("client", nil)
	check(t, err)
	t.Cleanup(func() { _ = client.Close() })
	back := rdmaio.NewBackchannel(nil)
	t.Cleanup(back.Close)
	s.back, s.bind = back, func(c oncrpc.Conn) { back.Bind(c.(*rdmaio.Conn)) }
	ln, err := rdmaio.Listen(context.Background(), server, "nfs", rpc.NewHandler(nil, nfs42rpc.NewService(s)), &rdmaio.Config{
		Versions: []int{version}, ReverseCredits: 1,
	})
	check(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	got, err := nfs4.DialRDMA(t.Context(), client, "nfs", &cfg, &rdmaio.ClientConfig{
		Conn: &rdmaio.Config{Versions: []int{version}, ReverseCredits: 1}, MinBackoff: time.Millisecond,
	})
	check(t, err)
	t.Cleanup(func() { check(t, got.Close()) })
	return got
}

// callback calls CB_COMPOUND on slot 0 of the client's backchannel.
func (s *fake) callback(ctx context.Context, ops ...nfs42.CBArgOp) (*nfs42.CBCompoundRes, error) {
	s.mu.Lock()
	var id nfs42.SessionID
	var session *fakeSession
	for id, session = range s.sessions {
	}
	if session == nil {
		s.mu.Unlock()
		return nil, errors.New("the test server has no session")
	}
	session.seq++
	seq := nfs42.CBArgOp{Op: nfs42.CBOpSequence, Sequence: &nfs42.CBSequenceArgs{SessionID: id, SequenceID: session.seq}}
	back := session.back
	s.mu.Unlock()
	return back.Compound(ctx, &nfs42.CBCompoundArgs{MinorVersion: 2, ArgArray: append([]nfs42.CBArgOp{seq}, ops...)})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
