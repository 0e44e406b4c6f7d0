package nfs42deleg

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
)

var session = nfs42.SessionID([]byte("session-id-16byt"))

// begin returns the operations that all Calls begin with.
func begin() []ArgOp {
	return []ArgOp{
		{Op: nfs42.OpSequence, Sequence: &nfs42.SequenceArgs{SessionID: session, SequenceID: 7, SlotID: 2, HighestSlotID: 3, CacheThis: true}},
		{Op: nfs42.OpPutFH, PutFH: &nfs42.PutFHArgs{Object: nfs42.Handle("fh-9")}},
	}
}

// began returns their results.
func began() []ResOp {
	return []ResOp{
		{Op: nfs42.OpSequence, Sequence: &nfs42.SequenceRes{OK: nfs42.SequenceResOK{
			SessionID: session, SequenceID: 7, SlotID: 2, HighestSlotID: 3, TargetHighestSlotID: 3,
		}}},
		{Op: nfs42.OpPutFH, PutFH: &nfs42.PutFHRes{}},
	}
}

// TestCompoundsAreTheBytesOfTheDocuments compares COMPOUNDs with bytes worked out by hand. The
// vectors have the reason of each item.
func TestCompoundsAreTheBytesOfTheDocuments(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.CheckTypes(t, all, "CompoundArgs", "CompoundRes", "OpenArguments")
	xdrtest.Run(t, all, map[string]CompoundArgs{
		"open-args": {MinorVersion: 2, ArgArray: append(begin(), ArgOp{Op: nfs42.OpOpen, Open: &OpenArgs{
			SeqID:       5,
			ShareAccess: nfs42.OpenShareAccessBoth | OpenShareAccessWantDelegTimestamps | OpenShareAccessWantOpenXorDelegation,
			Owner:       nfs42.OpenOwner{ClientID: 9, Owner: []byte("me")},
			Claim:       OpenClaim{Claim: nfs42.OpenClaimTypeFH},
		}})},
	})
	xdrtest.Run(t, all, map[string]CompoundRes{
		"open-res": {ResArray: append(began(), ResOp{Op: nfs42.OpOpen, Open: &OpenRes{OK: &OpenResOK{
			ChangeInfo: nfs42.ChangeInfo{Atomic: true, Before: 3, After: 3},
			RFlags:     OpenResultNoOpenStateID,
			Delegation: OpenDelegation{DelegationType: OpenDelegationTypeWriteAttrsDeleg, Write: &nfs42.OpenWriteDelegation{
				StateID:     nfs42.StateID{SeqID: 1, Other: [12]byte([]byte("stateid-1234"))},
				SpaceLimit:  nfs42.SpaceLimit{LimitBy: nfs42.LimitBySize, FileSize: 4096},
				Permissions: nfs42.ACE{AccessMask: 1, Who: nfs42.UTF8Mixed("OWNER@")},
			}},
		}}})},
	})
	xdrtest.Run(t, all, map[string]OpenArguments{"open-arguments": {
		ShareAccess: nfs42.Bitmap{1<<OpenArgsShareAccessRead | 1<<OpenArgsShareAccessWrite | 1<<OpenArgsShareAccessBoth},
		ShareDeny:   nfs42.Bitmap{1 << OpenArgsShareDenyNone},
		ShareAccessWant: nfs42.Bitmap{
			1<<OpenArgsShareAccessWantDelegTimestamps | 1<<OpenArgsShareAccessWantOpenXorDelegation,
		},
		OpenClaim:  nfs42.Bitmap{1<<OpenArgsClaimNull | 1<<OpenArgsClaimFH},
		CreateMode: nfs42.Bitmap{1<<OpenArgsCreateModeUnchecked | 1<<OpenArgsCreateModeGuarded},
	}})
}
