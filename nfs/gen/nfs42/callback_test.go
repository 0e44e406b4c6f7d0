package nfs42_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42/nfs42rpc"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// The two ends of a session of NFS version 4.1 with a backchannel: a server that calls CB_COMPOUND
// on the connection of its client, over every carrier. carriers_test.go has the connections.

// callbackProgram is the number that the client chooses for its callback program.
const callbackProgram = 0x40000f42

var sessionID = nfs42.SessionID([]byte("session of tests"))

// delegated is the handle of a file that the client has delegations for.
var delegated = nfs42.Handle("a delegated file")

// server is the server's end. It implements nfs42rpc.Server.
type server struct {
	back  oncrpc.Carrier    // to the client
	bind  func(oncrpc.Conn) // makes a connection the one of back
	slots chan *slot        // of the backchannel, those that are free

	mu        sync.Mutex
	callbacks *nfs42rpc.CallbackClient // after CREATE_SESSION
}

// slot is a slot of the backchannel (RFC 8881 §2.10.6.1): it has one callback at a time.
type slot struct {
	id  nfs42.SlotID
	seq nfs42.SequenceID
}

func newServer(back oncrpc.Carrier, bind func(oncrpc.Conn)) *server {
	s := &server{back: back, bind: bind, slots: make(chan *slot, 4)}
	for i := range cap(s.slots) {
		s.slots <- &slot{id: nfs42.SlotID(i)}
	}
	return s
}

// Compound answers operations up to the first that fails.
func (s *server) Compound(r *rpc.Request, args *nfs42.CompoundArgs, res *nfs42.CompoundRes) error {
	for i := range args.ArgArray {
		op := &args.ArgArray[i]
		out := nfs42.ResOp{Op: op.Op}
		switch op.Op {
		case nfs42.OpCreateSession:
			s.bind(r.Conn())
			s.mu.Lock()
			s.callbacks = nfs42rpc.NewCallbackClient(s.back, &rpc.ClientConfig{Program: op.CreateSession.CBProgram})
			s.mu.Unlock()
			out.CreateSession = &nfs42.CreateSessionRes{OK: nfs42.CreateSessionResOK{SessionID: sessionID, Flags: op.CreateSession.Flags}}
		case nfs42.OpSequence:
			out.Sequence = &nfs42.SequenceRes{OK: nfs42.SequenceResOK{
				SessionID: op.Sequence.SessionID, SequenceID: op.Sequence.SequenceID, SlotID: op.Sequence.SlotID,
			}}
		case nfs42.OpPutRootFH:
			out.PutRootFH = &nfs42.PutRootFHRes{}
		case nfs42.OpGetAttr: // the client has written to its file: it knows the size
			out.GetAttr = &nfs42.GetAttrRes{}
			attrs, err := s.getAttr(r.Context(), op.GetAttr.AttrRequest)
			if err != nil {
				out.GetAttr.Status = nfs42.StatusServerfault
			} else {
				out.GetAttr.OK.ObjAttributes = *attrs
			}
			res.Status = out.GetAttr.Status
		default:
			return rpc.Unimplemented
		}
		if res.ResArray = append(res.ResArray, out); res.Status != nfs42.StatusOK {
			break
		}
	}
	return nil
}

// callback calls CB_COMPOUND with CB_SEQUENCE and one more operation, whose result it returns.
func (s *server) callback(ctx context.Context, op nfs42.CBArgOp) (*nfs42.CBResOp, error) {
	free := <-s.slots
	defer func() { s.slots <- free }()
	free.seq++
	s.mu.Lock()
	client := s.callbacks
	s.mu.Unlock()
	res, err := client.Compound(ctx, &nfs42.CBCompoundArgs{MinorVersion: 1, ArgArray: []nfs42.CBArgOp{
		{Op: nfs42.CBOpSequence, Sequence: &nfs42.CBSequenceArgs{SessionID: sessionID, SequenceID: free.seq, SlotID: free.id}}, op,
	}})
	switch {
	case err != nil:
		free.seq-- // no callback of these tests runs without a reply
		return nil, err
	case res.Status != nfs42.StatusOK:
		return nil, errors.New(res.Status.String())
	case len(res.ResArray) != 2 || res.ResArray[1].Op != op.Op:
		return nil, fmt.Errorf("results of other operations: %v", res)
	}
	return &res.ResArray[1], nil
}

// recall asks the client to return a delegation.
func (s *server) recall(ctx context.Context, id nfs42.StateID) error {
	_, err := s.callback(ctx, nfs42.CBArgOp{Op: nfs42.CBOpRecall, Recall: nfs42.CBRecallArgs{StateID: id, FH: delegated}})
	return err
}

// getAttr asks the client for attributes of a file that it may have changed.
func (s *server) getAttr(ctx context.Context, attrs nfs42.Bitmap) (*nfs42.Fattr, error) {
	res, err := s.callback(ctx, nfs42.CBArgOp{Op: nfs42.CBOpGetAttr, GetAttr: nfs42.CBGetAttrArgs{FH: delegated, AttrRequest: attrs}})
	if err != nil {
		return nil, err
	}
	return &res.GetAttr.OK.ObjAttributes, nil
}

// client is the client's end of the backchannel. It implements nfs42rpc.CallbackServer.
type client struct {
	mu       sync.Mutex
	last     map[nfs42.SlotID]nfs42.SequenceID
	recalled map[nfs42.StateID]bool
	devices  int // deleted
}

// callbacks returns the handler of the client's connections.
func (c *client) callbacks() oncrpc.Handler {
	c.last, c.recalled = make(map[nfs42.SlotID]nfs42.SequenceID), make(map[nfs42.StateID]bool)
	service := nfs42rpc.NewCallbackService(c)
	service.SetProgram(callbackProgram)
	return rpc.NewHandler(nil, service)
}

// longACL is larger than what fits inline.
const longACL = 20 << 10

// Compound answers a callback.
func (c *client) Compound(_ *rpc.Request, args *nfs42.CBCompoundArgs, res *nfs42.CBCompoundRes) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range args.ArgArray {
		op := &args.ArgArray[i]
		out := nfs42.CBResOp{Op: op.Op}
		switch op.Op {
		case nfs42.CBOpSequence:
			if seq := op.Sequence; seq.SessionID != sessionID {
				out.Sequence.Status = nfs42.StatusBadsession
			} else if seq.SequenceID != c.last[seq.SlotID]+1 {
				out.Sequence.Status = nfs42.StatusSeqMisordered
			} else {
				c.last[seq.SlotID]++
				out.Sequence.OK = nfs42.CBSequenceResOK{SessionID: seq.SessionID, SequenceID: seq.SequenceID, SlotID: seq.SlotID}
			}
			res.Status = out.Sequence.Status
		case nfs42.CBOpRecall:
			c.recalled[op.Recall.StateID] = true
		case nfs42.CBOpGetAttr:
			attrs := nfs42.Fattr{AttrMask: nfs42.Bitmap{1 << nfs42.AttrSize}, AttrVals: []byte{0, 0, 0, 0, 0, 0, 16, 0}}
			if op.GetAttr.AttrRequest[0] == 1<<nfs42.AttrACL {
				attrs = nfs42.Fattr{AttrMask: nfs42.Bitmap{1 << nfs42.AttrACL}, AttrVals: make([]byte, longACL)}
			}
			out.GetAttr.OK.ObjAttributes = attrs
		case nfs42.CBOpNotifyDeviceID:
			c.devices += len(op.NotifyDeviceID.Changes)
			out.NotifyDeviceID = &nfs42.CBNotifyDeviceIDRes{}
		default:
			return rpc.Unimplemented
		}
		if res.ResArray = append(res.ResArray, out); res.Status != nfs42.StatusOK {
			break
		}
	}
	return nil
}

// session connects the two ends, and makes a session with a backchannel.
func session(t *testing.T, over carrier) (*server, *client, *nfs42rpc.Client) {
	t.Helper()
	mine := &client{}
	s, conn := over.connect(t, mine.callbacks())
	forward := nfs42rpc.NewClient(conn, nil)
	res, err := forward.Compound(context.Background(), &nfs42.CompoundArgs{MinorVersion: 1, ArgArray: []nfs42.ArgOp{{
		Op: nfs42.OpCreateSession, CreateSession: &nfs42.CreateSessionArgs{
			Flags: nfs42.CreateSessionFlagConnBackChan, CBProgram: callbackProgram,
			SecParms: []nfs42.CallbackSecParms{{CBSecFlavor: uint32(oncrpc.AuthNone)}},
		},
	}}})
	if err != nil || res.Status != nfs42.StatusOK {
		t.Fatal(res, err)
	}
	return s, mine, forward
}

// TestCallbackRecall recalls a delegation over each carrier.
func TestCallbackRecall(t *testing.T) {
	for _, over := range carriers() {
		t.Run(over.name, func(t *testing.T) {
			s, c, _ := session(t, over)
			id := nfs42.StateID{SeqID: 3, Other: [12]byte([]byte("delegation 1"))}
			if err := s.recall(context.Background(), id); err != nil {
				t.Fatal(err)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if len(c.recalled) != 1 || !c.recalled[id] {
				t.Errorf("the client was asked for %v, want %v", c.recalled, id)
			}
		})
	}
}

// TestCallbackProgram checks that the client answers to the number that it chose, and to no other.
func TestCallbackProgram(t *testing.T) {
	for _, over := range carriers() {
		t.Run(over.name, func(t *testing.T) {
			s, _, _ := session(t, over)
			err := nfs42rpc.NewCallbackClient(s.back, nil).Null(context.Background())
			var refused *oncrpc.ReplyError
			if !errors.As(err, &refused) || refused.Accept != oncrpc.ProgUnavail {
				t.Errorf("the number of the RFC's XDR: %v, want PROG_UNAVAIL", err)
			}
			if err := s.callbacks.Null(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCallbackBothWays has COMPOUNDs in flight in both directions: the server answers a GETATTR by
// CB_GETATTR, while it recalls delegations.
func TestCallbackBothWays(t *testing.T) {
	for _, over := range carriers() {
		t.Run(over.name, func(t *testing.T) {
			s, c, forward := session(t, over)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			const each, calls = 4, 25
			var wg sync.WaitGroup
			for g := range each {
				wg.Go(func() {
					for n := range calls {
						if err := sizeOf(ctx, forward, uint32(g), uint32(n+1)); err != nil {
							t.Errorf("GETATTR: %v", err)
							return
						}
					}
				})
				wg.Go(func() {
					for n := range calls {
						if err := s.recall(ctx, nfs42.StateID{SeqID: uint32(n), Other: [12]byte{byte(g)}}); err != nil {
							t.Errorf("CB_RECALL: %v", err)
							return
						}
					}
				})
			}
			wg.Wait()
			c.mu.Lock()
			defer c.mu.Unlock()
			if len(c.recalled) != each*calls {
				t.Errorf("%d delegations were recalled, want %d", len(c.recalled), each*calls)
			}
		})
	}
}

// sizeOf calls COMPOUND of SEQUENCE, PUTROOTFH and GETATTR, and checks the size that comes.
func sizeOf(ctx context.Context, forward *nfs42rpc.Client, slot, seq uint32) error {
	res, err := forward.Compound(ctx, &nfs42.CompoundArgs{MinorVersion: 1, ArgArray: []nfs42.ArgOp{
		{Op: nfs42.OpSequence, Sequence: &nfs42.SequenceArgs{SessionID: sessionID, SlotID: nfs42.SlotID(slot), SequenceID: nfs42.SequenceID(seq)}},
		{Op: nfs42.OpPutRootFH},
		{Op: nfs42.OpGetAttr, GetAttr: nfs42.GetAttrArgs{AttrRequest: nfs42.Bitmap{1 << nfs42.AttrSize}}},
	}})
	if err != nil {
		return err
	}
	if len(res.ResArray) != 3 || res.Status != nfs42.StatusOK {
		return fmt.Errorf("found %v", res)
	}
	var size nfs42.FattrSize
	if err := size.UnmarshalBinary(res.ResArray[2].GetAttr.OK.ObjAttributes.AttrVals); err != nil || size != 4096 {
		return fmt.Errorf("size %d, %w", size, err)
	}
	return nil
}

// TestCallbackLong sends callbacks and results that do not fit inline. Over RDMA they need
// Config.ReverseChunks at both ends (RFC 8267 §6.5.2: Long Calls in the backchannel). They go
// whole: no item of a callback is eligible for direct data placement. Without ReverseChunks the
// server gets an error, of its own or of the client, and the connection goes on.
func TestCallbackLong(t *testing.T) {
	if p := nfs42rpc.CallbackProgram(); len(p.Bindings) > 0 {
		t.Errorf("items of callbacks are eligible: %v", p.Bindings)
	}
	for _, over := range carriers() {
		t.Run(over.name, func(t *testing.T) {
			s, c, _ := session(t, over)
			ctx := context.Background()
			const devices = 400
			_, err := s.callback(ctx, notifyDeviceIDs(t, devices))
			var size *rdmaio.SizeError
			var peer *rdmaio.PeerError
			c.mu.Lock()
			deleted := c.devices
			c.mu.Unlock()
			switch {
			case over.long && (err != nil || deleted != devices):
				t.Errorf("a long callback deleted %d devices: %v", deleted, err)
			case !over.long && (!errors.As(err, &size) || deleted != 0):
				t.Errorf("a long callback: %v, %d devices; want an *rdmaio.SizeError", err, deleted)
			}

			attrs, err := s.getAttr(ctx, nfs42.Bitmap{1 << nfs42.AttrACL})
			switch {
			case over.long && (err != nil || len(attrs.AttrVals) != longACL):
				t.Errorf("a long result: %v, %v", attrs, err)
			case !over.long && (!errors.As(err, &peer) || peer.Code != over.tooLong):
				t.Errorf("a long result: %v, want error %v of the client", err, over.tooLong)
			}
			if err := s.callbacks.Null(ctx); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// notifyDeviceIDs is CB_NOTIFY_DEVICEID about deleted devices.
func notifyDeviceIDs(t *testing.T, n int) nfs42.CBArgOp {
	t.Helper()
	args := &nfs42.CBNotifyDeviceIDArgs{}
	for i := range n {
		b, err := (&nfs42.NotifyDeviceIDDelete{LayoutType: nfs42.LayoutTypeFiles, DeviceID: nfs42.DeviceID{byte(i), byte(i >> 8)}}).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		args.Changes = append(args.Changes, nfs42.Notify{NotifyMask: nfs42.Bitmap{1 << nfs42.NotifyDeviceIDTypeDelete}, NotifyVals: b})
	}
	return nfs42.CBArgOp{Op: nfs42.CBOpNotifyDeviceID, NotifyDeviceID: args}
}
