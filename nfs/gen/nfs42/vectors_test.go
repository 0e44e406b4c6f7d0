package nfs42

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

var (
	session = SessionID([]byte("session-id-16byt"))
	state   = StateID{SeqID: 1, Other: [12]byte([]byte("stateid-1234"))}
)

func sequence() ArgOp {
	return ArgOp{Op: OpSequence, Sequence: &SequenceArgs{SessionID: session, SequenceID: 7, SlotID: 2, HighestSlotID: 3, CacheThis: true}}
}

func sequenceRes() ResOp {
	return ResOp{Op: OpSequence, Sequence: &SequenceRes{OK: SequenceResOK{
		SessionID: session, SequenceID: 7, SlotID: 2, HighestSlotID: 3, TargetHighestSlotID: 3,
	}}}
}

// TestCompound compares COMPOUNDs with bytes worked out from RFC 7863.
func TestCompound(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.CheckTypes(t, all, "CompoundArgs", "CompoundRes", "CBCompoundArgs", "CBCompoundRes")
	handle := &PutFHArgs{Object: Handle("fh-9")}
	xdrtest.Run(t, all, map[string]CompoundArgs{
		"getattr-args": {Tag: UTF8CS("ls"), MinorVersion: 2, ArgArray: []ArgOp{
			sequence(),
			{Op: OpPutRootFH},
			{Op: OpGetAttr, GetAttr: GetAttrArgs{AttrRequest: Bitmap{1<<AttrChange | 1<<AttrSize, 1 << (AttrMode - 32)}}},
		}},
		"write-args": {MinorVersion: 2, ArgArray: []ArgOp{
			sequence(),
			{Op: OpPutFH, PutFH: handle},
			{Op: OpWrite, Write: &WriteArgs{StateID: state, Offset: 1 << 32, Stable: StableHowFileSync, Data: []byte("hello")}},
		}},
		"symlink-args": {ArgArray: []ArgOp{
			{Op: OpPutRootFH},
			{Op: OpCreate, Create: &CreateArgs{ObjType: CreateType{Type: FileTypeLnk, LinkData: LinkText("/a/b")}, ObjName: Component("link")}},
		}},
	})
	xdrtest.Run(t, all, map[string]CompoundRes{
		"getattr-res": {Tag: UTF8CS("ls"), ResArray: []ResOp{
			sequenceRes(),
			{Op: OpPutRootFH, PutRootFH: &PutRootFHRes{}},
			{Op: OpGetAttr, GetAttr: &GetAttrRes{OK: GetAttrResOK{Fattr{AttrMask: Bitmap{1 << AttrSize}, AttrVals: []byte{6: 0x10, 7: 0}}}}},
		}},
		"read-res": {ResArray: []ResOp{
			sequenceRes(),
			{Op: OpPutFH, PutFH: &PutFHRes{}},
			{Op: OpRead, Read: &ReadRes{OK: ReadResOK{EOF: true, Data: []byte("hello")}}},
		}},
		"stale-res": {Status: StatusStale, ResArray: []ResOp{{Op: OpPutFH, PutFH: &PutFHRes{StatusStale}}}},
	})
}

// TestCallback compares CB_COMPOUNDs with bytes worked out from RFC 7863.
func TestCallback(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]CBCompoundArgs{
		"cb-recall-args": {MinorVersion: 1, ArgArray: []CBArgOp{
			{Op: CBOpSequence, Sequence: &CBSequenceArgs{
				SessionID: session, SequenceID: 1,
				ReferringCallLists: []ReferringCallList{{SessionID: session, ReferringCalls: []ReferringCall{{SequenceID: 7, SlotID: 2}}}},
			}},
			{Op: CBOpRecall, Recall: CBRecallArgs{StateID: state, FH: Handle("fh-9")}},
		}},
		"cb-getattr-args": {CallbackIdent: 9, ArgArray: []CBArgOp{
			{Op: CBOpGetAttr, GetAttr: CBGetAttrArgs{FH: Handle("fh-9"), AttrRequest: Bitmap{1<<AttrChange | 1<<AttrSize}}},
		}},
	})
	xdrtest.Run(t, all, map[string]CBCompoundRes{"cb-recall-res": {ResArray: []CBResOp{
		{Op: CBOpSequence, Sequence: CBSequenceRes{OK: CBSequenceResOK{SessionID: session, SequenceID: 1}}},
		{Op: CBOpRecall},
	}}})
}
