package nfs42ext

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42deleg"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42xattr"
)

var session = nfs42.SessionID([]byte("session-id-16byt"))

// begin returns the operations that all Calls begin with.
func begin() []ArgOp {
	return []ArgOp{
		{Op: OpSequence, Sequence: &nfs42.SequenceArgs{SessionID: session, SequenceID: 7, SlotID: 2, HighestSlotID: 3, CacheThis: true}},
		{Op: OpPutFH, PutFH: &nfs42.PutFHArgs{Object: nfs42.Handle("fh-9")}},
	}
}

// began returns their results.
func began() []ResOp {
	return []ResOp{
		{Op: OpSequence, Sequence: &nfs42.SequenceRes{OK: nfs42.SequenceResOK{
			SessionID: session, SequenceID: 7, SlotID: 2, HighestSlotID: 3, TargetHighestSlotID: 3,
		}}},
		{Op: OpPutFH, PutFH: &nfs42.PutFHRes{}},
	}
}

// TestCompoundsAreTheBytesOfTheDocuments compares COMPOUNDs with bytes worked out by hand. The
// vectors have the reason of each item.
func TestCompoundsAreTheBytesOfTheDocuments(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.CheckTypes(t, all, "CompoundArgs", "CompoundRes")
	xdrtest.Run(t, all, map[string]CompoundArgs{
		"xattr-args": {MinorVersion: 2, ArgArray: append(begin(),
			ArgOp{Op: OpGetXattr, GetXattr: &nfs42xattr.GetXattrArgs{Name: nfs42xattr.XattrKey("lang")}},
			ArgOp{Op: OpSetXattr, SetXattr: &nfs42xattr.SetXattrArgs{Option: nfs42xattr.SetXattrOptionCreate, Key: nfs42xattr.XattrKey("mime"), Value: nfs42xattr.XattrValue("text/x")}},
			ArgOp{Op: OpListXattrs, ListXattrs: &nfs42xattr.ListXattrsArgs{MaxCount: 512}},
			ArgOp{Op: OpRemoveXattr, RemoveXattr: &nfs42xattr.RemoveXattrArgs{Name: nfs42xattr.XattrKey("mime")}},
		)},
		"open-args": {MinorVersion: 2, ArgArray: append(begin(), ArgOp{Op: OpOpen, Open: &OpenArgs{
			SeqID:       5,
			ShareAccess: nfs42.OpenShareAccessBoth | nfs42deleg.OpenShareAccessWantDelegTimestamps | nfs42deleg.OpenShareAccessWantOpenXorDelegation,
			Owner:       nfs42.OpenOwner{ClientID: 9, Owner: []byte("me")},
			Claim:       OpenClaim{Claim: nfs42.OpenClaimTypeFH},
		}})},
	})
	xdrtest.Run(t, all, map[string]CompoundRes{
		"xattr-res": {ResArray: append(began(),
			ResOp{Op: OpGetXattr, GetXattr: &nfs42xattr.GetXattrRes{Value: nfs42xattr.XattrValue("en")}},
			ResOp{Op: OpSetXattr, SetXattr: &nfs42xattr.SetXattrRes{Info: nfs42.ChangeInfo{Atomic: true, Before: 16, After: 17}}},
			ResOp{Op: OpListXattrs, ListXattrs: &nfs42xattr.ListXattrsRes{OK: nfs42xattr.ListXattrsResOK{
				Cookie: 2, Names: []nfs42xattr.XattrKey{nfs42xattr.XattrKey("lang"), nfs42xattr.XattrKey("mime")}, EOF: true,
			}}},
			ResOp{Op: OpRemoveXattr, RemoveXattr: &nfs42xattr.RemoveXattrRes{Info: nfs42.ChangeInfo{Atomic: true, Before: 17, After: 18}}},
		)},
		"open-res": {ResArray: append(began(), ResOp{Op: OpOpen, Open: &OpenRes{OK: &OpenResOK{
			ChangeInfo: nfs42.ChangeInfo{Atomic: true, Before: 3, After: 3},
			RFlags:     nfs42deleg.OpenResultNoOpenStateID,
			Delegation: OpenDelegation{DelegationType: OpenDelegationTypeWriteAttrsDeleg, Write: &nfs42.OpenWriteDelegation{
				StateID:     nfs42.StateID{SeqID: 1, Other: [12]byte([]byte("stateid-1234"))},
				SpaceLimit:  nfs42.SpaceLimit{LimitBy: nfs42.LimitBySize, FileSize: 4096},
				Permissions: nfs42.ACE{AccessMask: 1, Who: nfs42.UTF8Mixed("OWNER@")},
			}},
		}}})},
	})
}
