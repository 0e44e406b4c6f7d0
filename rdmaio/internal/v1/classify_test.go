package v1_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
)

// sentCalls are XIDs of Calls that were sent.
type sentCalls map[uint32]bool

func (c sentCalls) Outstanding(xid uint32) bool { return c[xid] }

// R110, R274, R281; A27: the purpose of each kind of message, at the end that dialed and at the end
// that accepted. XID 1 is outstanding at both, XID 2 is not.
func TestKindDecidesThePurpose(t *testing.T) {
	var (
		call      = []byte{0, 0, 0, 1, 0, 0, 0, 0}
		reply     = []byte{0, 0, 0, 1, 0, 0, 0, 1}
		atZero    = header.Lists{Reads: []header.ReadSegment{{}}}
		elsewhere = header.Lists{Reads: []header.ReadSegment{{Position: 4}}}
		inChunk   = header.Lists{HasReply: true}
	)
	const (
		toCaller = protocol.Answer
		toServer = protocol.Call
		drop     = protocol.Drop
	)
	for name, c := range map[string]struct {
		m                header.Message
		f                *header.Fault
		legacy           bool
		dialed, accepted protocol.Purpose
	}{
		"Call":                               {header.Message{XID: 1, Payload: call}, nil, false, toServer, toServer},
		"Reply":                              {header.Message{XID: 1, Payload: reply}, nil, false, toCaller, toCaller},
		"neither":                            {header.Message{XID: 1, Payload: []byte{0, 0, 0, 1, 0, 0, 0, 2}}, nil, false, toCaller, toServer},
		"no RPC message":                     {header.Message{XID: 1}, nil, false, toCaller, toServer},
		"long Call":                          {header.Message{XID: 2, Kind: header.KindNomsg, Lists: atZero}, nil, false, toServer, toServer},
		"long Call with our XID":             {header.Message{XID: 1, Kind: header.KindNomsg, Lists: atZero}, nil, false, toServer, toServer},
		"long Reply":                         {header.Message{XID: 1, Kind: header.KindNomsg, Lists: inChunk}, nil, false, toCaller, toCaller},
		"long Reply to no Call":              {header.Message{XID: 2, Kind: header.KindNomsg, Lists: inChunk}, nil, false, toCaller, toServer},
		"long message with lists of neither": {header.Message{XID: 1, Kind: header.KindNomsg, Lists: elsewhere}, nil, false, toCaller, toServer},
		"long message without lists":         {header.Message{XID: 1, Kind: header.KindNomsg}, nil, false, toCaller, toServer},
		"Reply by read chunk":                {header.Message{XID: 1, Kind: header.KindNomsg, Lists: atZero}, nil, true, toCaller, toCaller},
		"Reply by read chunk to no Call":     {header.Message{XID: 2, Kind: header.KindNomsg, Lists: atZero}, nil, true, toServer, toServer},
		"RDMA_ERROR":                         {header.Message{XID: 2, Kind: header.KindError}, nil, false, toCaller, toCaller},
		"RDMA_DONE":                          {header.Message{XID: 1, Kind: header.KindDone}, nil, false, drop, drop},
		"RDMA_DONE in legacy mode":           {header.Message{XID: 1, Kind: header.KindDone}, nil, true, drop, protocol.Done},
		"too short":                          {header.Message{XID: 1}, &header.Fault{Code: header.FaultShort}, false, drop, drop},
		"invalid":                            {header.Message{XID: 2}, &header.Fault{Code: header.FaultXDR}, false, toCaller, toServer},
		"another version":                    {header.Message{XID: 1}, &header.Fault{Code: header.FaultVersion}, false, toCaller, toServer},
		"another version, answers no Call":   {header.Message{XID: 2}, &header.Fault{Code: header.FaultVersion}, false, drop, toServer},
	} {
		for forward, want := range map[protocol.Purpose]protocol.Purpose{protocol.Answer: c.dialed, protocol.Call: c.accepted} {
			end := protocol.End{Forward: forward, Legacy: c.legacy, LongReplies: c.legacy, Calls: sentCalls{1: true}}
			if got := new(v1.Version).Classify(&c.m, c.f, &end); got != want {
				t.Errorf("%s, with %d as forward: %d, want %d", name, forward, got, want)
			}
		}
	}
}
