package sample

import "github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"

var session = nfs42.SessionID([]byte("sixteen bytes id"))

// attributes are those that Linux asks for when it opens a file.
var attributes = nfs42.Bitmap{0x0010011a, 0x00b0a23a}

// OpenCall is the call by which an NFS version 4.2 client opens a file for writing: SEQUENCE,
// PUTFH, OPEN, GETFH, ACCESS and GETATTR.
func OpenCall() *nfs42.CompoundArgs {
	return &nfs42.CompoundArgs{MinorVersion: 2, ArgArray: []nfs42.ArgOp{
		{Op: nfs42.OpSequence, Sequence: &nfs42.SequenceArgs{SessionID: session, SequenceID: 77, SlotID: 3, HighestSlotID: 5, CacheThis: true}},
		{Op: nfs42.OpPutFH, PutFH: &nfs42.PutFHArgs{Object: handle(32)}},
		{Op: nfs42.OpOpen, Open: &nfs42.OpenArgs{
			ShareAccess: nfs42.OpenShareAccessBoth,
			Owner:       nfs42.OpenOwner{ClientID: 0x5ad01c32_00000001, Owner: []byte("open id:\x00\x00\x00\x26\x00\x00\x00\x00\x00\x01")},
			Claim:       nfs42.OpenClaim{Claim: nfs42.OpenClaimTypeNull, File: []byte("results-2026-11.csv")},
		}},
		{Op: nfs42.OpGetFH},
		{Op: nfs42.OpAccess, Access: nfs42.AccessArgs{Access: nfs42.AccessRead | nfs42.AccessModify | nfs42.AccessExtend}},
		{Op: nfs42.OpGetAttr, GetAttr: nfs42.GetAttrArgs{AttrRequest: attributes}},
	}}
}

// ReadReply is the reply to a READ of 4 KiB: SEQUENCE, PUTFH, READ and GETATTR.
func ReadReply() *nfs42.CompoundRes {
	return &nfs42.CompoundRes{ResArray: []nfs42.ResOp{
		{Op: nfs42.OpSequence, Sequence: &nfs42.SequenceRes{OK: nfs42.SequenceResOK{SessionID: session, SequenceID: 77, SlotID: 3, HighestSlotID: 5, TargetHighestSlotID: 5}}},
		{Op: nfs42.OpPutFH, PutFH: &nfs42.PutFHRes{}},
		{Op: nfs42.OpRead, Read: &nfs42.ReadRes{OK: nfs42.ReadResOK{EOF: true, Data: C(4096).Data}}},
		{Op: nfs42.OpGetAttr, GetAttr: &nfs42.GetAttrRes{OK: nfs42.GetAttrResOK{ObjAttributes: nfs42.Fattr{AttrMask: attributes, AttrVals: handle(72)}}}},
	}}
}

// handle returns n bytes of a pattern.
func handle(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*5 + 1)
	}
	return b
}
