package xcharcarrier

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// TestOperationsAreCarried proves R242: direction, number and opaque body of an operation. Run also
// decodes every truncated prefix of each vector, and bounds the memory.
func TestOperationsAreCarried(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]Optional{
		"req": {
			Op:   2,
			Info: []byte{0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 0},
		},
		"resp": {
			Direction: XIDOfReceiver, Op: 3,
			Info: []byte{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
		},
		"unknown": {Op: 0xffffffff, Info: []byte{0xff}},
		"empty":   {},
	})
	xdrtest.CheckTypes(t, all, "Optional")
}

// TestFaultsAreRefusedAtTheirPlace proves that the decoder is strict (R242): each fault is reported
// at its place.
func TestFaultsAreRefusedAtTheirPlace(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.RunBad[Optional](t, all, []xdrtest.Bad{
		{
			Name: "direction 2", Vector: "req", At: 0, Word: 2,
			Code: xdr.CodeEnum, Offset: 0, Path: "xcharcarrier.Optional.Direction",
			Text: "xdr: xcharcarrier.Optional.Direction: offset 0: 2 is not a value of the enum (RFC 4506 §4.3)",
		},
		{
			Name: "body over the end", Vector: "req", At: 8, Word: 17,
			Code: xdr.CodeShort, Offset: 12, Path: "xcharcarrier.Optional.Info",
			Text: "xdr: xcharcarrier.Optional.Info: offset 12: 16 bytes left, 20 needed (RFC 4506 §3)",
		},
		{
			Name: "largest body", Vector: "empty", At: 8, Word: 0xffffffff,
			Code: xdr.CodeShort, Offset: 12, Path: "xcharcarrier.Optional.Info",
		},
		{
			Name: "padding", Vector: "unknown", At: 12, Word: 0xff000001,
			Code: xdr.CodePadding, Offset: 13, Path: "xcharcarrier.Optional.Info",
			Text: "xdr: xcharcarrier.Optional.Info: offset 13: padding is 0x1, expected zero (RFC 4506 §3)",
		},
	})
}

// TestHeaderType proves R242 for the descriptor: the default number is outside the base protocol's
// (A12), and a message may have the flag of a response, but announce no part that follows.
func TestHeaderType(t *testing.T) {
	ext, base := Extension(), rpcrdma2.Extension()
	code := ext.Find(xdr.HeaderTypes, 4294967040)
	if code == nil || code.Flags != rpcrdma2.FlagResponse {
		t.Fatalf("header type 4294967040 is %+v, want one with flags %#x", code, rpcrdma2.FlagResponse)
	}
	if _, ok := code.New().(*Optional); !ok {
		t.Errorf("its type is %T, want *Optional", code.New())
	}
	for n := range uint32(14) {
		if ext.Find(xdr.HeaderTypes, n) != nil {
			t.Errorf("number %d of the base protocol is in the extension", n)
		}
	}
	if base.Find(xdr.HeaderTypes, HeaderType) != nil {
		t.Error("the base protocol has the default number too")
	}
}
