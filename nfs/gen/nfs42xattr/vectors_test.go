package nfs42xattr

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
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
			ArgOp{Op: OpGetXattr, GetXattr: &GetXattrArgs{Name: XattrKey("lang")}},
			ArgOp{Op: OpSetXattr, SetXattr: &SetXattrArgs{Option: SetXattrOptionCreate, Key: XattrKey("mime"), Value: XattrValue("text/x")}},
			ArgOp{Op: OpListXattrs, ListXattrs: &ListXattrsArgs{MaxCount: 512}},
			ArgOp{Op: OpRemoveXattr, RemoveXattr: &RemoveXattrArgs{Name: XattrKey("mime")}},
		)},
	})
	xdrtest.Run(t, all, map[string]CompoundRes{
		"xattr-res": {ResArray: append(began(),
			ResOp{Op: OpGetXattr, GetXattr: &GetXattrRes{Value: XattrValue("en")}},
			ResOp{Op: OpSetXattr, SetXattr: &SetXattrRes{Info: nfs42.ChangeInfo{Atomic: true, Before: 16, After: 17}}},
			ResOp{Op: OpListXattrs, ListXattrs: &ListXattrsRes{OK: ListXattrsResOK{
				Cookie: 2, Names: []XattrKey{XattrKey("lang"), XattrKey("mime")}, EOF: true,
			}}},
			ResOp{Op: OpRemoveXattr, RemoveXattr: &RemoveXattrRes{Info: nfs42.ChangeInfo{Atomic: true, Before: 17, After: 18}}},
		)},
		"noxattr-res": {Status: StatusNoXattr, ResArray: append(began(), ResOp{Op: OpGetXattr, GetXattr: &GetXattrRes{Status: StatusNoXattr}})},
	})
}
