package xchar

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// TestOperationsHaveTheirBytes proves R231 (a counted list of numbers and opaque data, in any
// order) and R233 (an unknown number does not stop the others).
func TestOperationsHaveTheirBytes(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]Init{
		"init": {
			Start: Spec{
				{IDReceiveBufferSize, []byte{0, 0, 0x10, 0}},
				{IDRemoteInvalidation, []byte{0, 0, 0, 1}},
				{IDBackwardSupport, []byte{0, 0, 0, 3}},
			},
			NoChange: Subset{6},
		},
		"init-empty": {},
		"init-unknown": {
			Start: Spec{{4294967040, []byte("abcdef")}, {IDReceiveBufferSize, []byte{0, 0, 4, 0}}},
		},
	})
	xdrtest.Run(t, all, map[string]Req{
		"req":       {Spec{{IDBackwardSupport, []byte{0, 0, 0, 3}}, {IDReceiveBufferSize, []byte{0, 1, 0, 0}}}},
		"req-empty": {},
	})
	xdrtest.Run(t, all, map[string]Resp{
		"resp":       {Done: Subset{1, 2}, Rejected: Subset{0xfffffffe}, Pending: Subset{0, 1}},
		"resp-empty": {},
	})
	xdrtest.Run(t, all, map[string]Upd{
		"upd":        {Now: Value{IDReceiveBufferSize, []byte{0, 0, 0x20, 0}}, PendClear: true},
		"upd-padded": {Now: Value{0xffffffff, []byte{127}}},
	})
}

// TestCharacteristicsHaveTheirTypes proves R234, R235 and R236 (the type of each characteristic),
// R227 (the words of a subset) and R231.
func TestCharacteristicsHaveTheirTypes(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]Value{"value": {9, []byte("hi")}})
	xdrtest.Run(t, all, map[string]Spec{"spec": {{IDRemoteInvalidation, []byte{0, 0, 0, 0}}, {8, nil}}})
	xdrtest.Run(t, all, map[string]Subset{"subset": {0, 0, 1}})
	xdrtest.Run(t, all, map[string]ReceiveBufferSize{"rbsiz": 4096})
	xdrtest.Run(t, all, map[string]RemoteInvalidation{"rqreminv-true": true, "rqreminv-false": false})
	xdrtest.Run(t, all, map[string]BackwardSupportLevel{
		"brs-unknown": BackwardUnknown,
		"brs-none":    BackwardNone,
		"brs-szlim":   BackwardSizeLimited,
		"brs-genl":    BackwardGeneral,
	})
	xdrtest.CheckTypes(t, all, "Init", "Req", "Resp", "Upd", "Value", "Spec", "Subset", "ReceiveBufferSize", "RemoteInvalidation", "BackwardSupport")
}

// TestNumbersAreTheDocuments proves R234, R235, R236 and R320 for the numbers: the constants
// are those of the document's tables, not of the .x file.
func TestNumbersAreTheDocuments(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uint32
	}{
		{"table 1, receive size", IDReceiveBufferSize, 1},
		{"table 1, remote invalidation", IDRemoteInvalidation, 2},
		{"table 1, reverse support", IDBackwardSupport, 3},
		{"§3.3 unknown", uint32(BackwardUnknown), 0},
		{"§3.3 none", uint32(BackwardNone), 1},
		{"§3.3 limited", uint32(BackwardSizeLimited), 2},
		{"§3.3 general", uint32(BackwardGeneral), 3},
		{"table 2, INIT", OpInit, 1},
		{"table 2, REQ", OpReq, 2},
		{"table 2, RESP", OpResp, 3},
		{"table 2, UPD", OpUpd, 4},
	} {
		if c.got != c.want {
			t.Errorf("%s is %d, want %d", c.name, c.got, c.want)
		}
	}
}
