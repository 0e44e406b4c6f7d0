package xchar

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// TestFaultsAreRefusedAtTheirPlace proves that each fault is reported at its place. R232: data
// beyond the message are an XDR error.
func TestFaultsAreRefusedAtTheirPlace(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.RunBad[Init](t, all, []xdrtest.Bad{
		{
			Name: "a value more than present", Vector: "init-empty", At: 0, Word: 1,
			Code: xdr.CodeCount, Offset: 0, Path: "xchar.Init.Start",
			Text: "xdr: xchar.Init.Start: offset 0: count 1 is larger than the 0 that can be there (RFC 4506 §4.13)",
		},
		{Name: "2^31 words", Vector: "init", At: 40, Word: 1 << 31, Code: xdr.CodeCount, Offset: 40, Path: "xchar.Init.NoChange"},
		{
			Name: "data over the end", Vector: "init-unknown", At: 24, Word: 9,
			Code: xdr.CodeShort, Offset: 28, Path: "xchar.Init.Start[1].Data",
			Text: "xdr: xchar.Init.Start[1].Data: offset 28: 8 bytes left, 12 needed (RFC 4506 §3)",
		},
		{
			Name: "padding", Vector: "init-unknown", At: 16, Word: 0x65660001,
			Code: xdr.CodePadding, Offset: 18, Path: "xchar.Init.Start[0].Data",
			Text: "xdr: xchar.Init.Start[0].Data: offset 18: padding is 0x1, expected zero (RFC 4506 §3)",
		},
	})
	xdrtest.RunBad[Req](t, all, []xdrtest.Bad{
		{Name: "largest data", Vector: "req", At: 20, Word: 0xffffffff, Code: xdr.CodeShort, Offset: 24, Path: "xchar.Req.Want[1].Data"},
	})
	xdrtest.RunBad[Resp](t, all, []xdrtest.Bad{
		{Name: "done", Vector: "resp-empty", At: 0, Word: 3, Code: xdr.CodeCount, Offset: 0, Path: "xchar.Resp.Done"},
		{Name: "rejected", Vector: "resp", At: 12, Word: 5, Code: xdr.CodeCount, Offset: 12, Path: "xchar.Resp.Rejected"},
		{Name: "pending", Vector: "resp", At: 20, Word: 3, Code: xdr.CodeCount, Offset: 20, Path: "xchar.Resp.Pending"},
	})
	xdrtest.RunBad[Upd](t, all, []xdrtest.Bad{
		{
			Name: "flag 2", Vector: "upd", At: 12, Word: 2,
			Code: xdr.CodeBool, Offset: 12, Path: "xchar.Upd.PendClear",
			Text: "xdr: xchar.Upd.PendClear: offset 12: boolean or presence word is 2, expected 0 or 1 (RFC 4506 §4.4)",
		},
	})
	xdrtest.RunBad[RemoteInvalidation](t, all, []xdrtest.Bad{
		{Name: "boolean 2", Vector: "rqreminv-true", At: 0, Word: 2, Code: xdr.CodeBool, Offset: 0, Path: "xchar.RemoteInvalidation"},
	})
	xdrtest.RunBad[BackwardSupportLevel](t, all, []xdrtest.Bad{
		{
			Name: "level 4", Vector: "brs-genl", At: 0, Word: 4,
			Code: xdr.CodeEnum, Offset: 0, Path: "xchar.BackwardSupport",
			Text: "xdr: xchar.BackwardSupport: offset 0: 4 is not a value of the enum (RFC 4506 §4.3)",
		},
		{Name: "level -1", Vector: "brs-genl", At: 0, Word: 0xffffffff, Code: xdr.CodeEnum, Offset: 0, Path: "xchar.BackwardSupport"},
	})
}

// TestCharacteristicTypes proves R232 for the types that the package ties to
// the characteristics: data too short, too long or not valid are refused.
func TestCharacteristicTypes(t *testing.T) {
	ext := Extension()
	for _, c := range []struct {
		id   uint32
		data []byte
		want error
	}{
		{IDReceiveBufferSize, []byte{0, 0, 0x10, 0}, nil},
		{IDReceiveBufferSize, []byte{0, 0, 0x10}, xdr.ErrShort},
		{IDReceiveBufferSize, nil, xdr.ErrShort},
		{IDReceiveBufferSize, make([]byte, 8), xdr.ErrTrailing},
		{IDRemoteInvalidation, []byte{0, 0, 0, 1}, nil},
		{IDRemoteInvalidation, []byte{0, 0, 0, 2}, xdr.ErrBool},
		{IDRemoteInvalidation, []byte{1}, xdr.ErrShort},
		{IDBackwardSupport, []byte{0, 0, 0, 3}, nil},
		{IDBackwardSupport, []byte{0, 0, 0, 4}, xdr.ErrEnum},
		{IDBackwardSupport, []byte{0, 0, 0, 3, 0}, xdr.ErrTrailing},
	} {
		code := ext.Find(xdr.Characteristics, c.id)
		if code == nil {
			t.Fatalf("no type for characteristic %d", c.id)
		}
		d := xdr.NewDecoder(c.data, nil)
		err := code.New().DecodeXDR(d)
		if err == nil {
			err = d.Done()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("characteristic %d, % x: %v, want %v", c.id, c.data, err, c.want)
		}
	}
	// The numbers are a space of their own (A12), and unknown ones have no type (R233).
	for _, space := range []xdr.CodeSpace{xdr.Properties, xdr.HeaderTypes} {
		if ext.Find(space, IDReceiveBufferSize) != nil {
			t.Errorf("number 1 is in space %s too", space)
		}
	}
	if ext.Find(xdr.Characteristics, 4) != nil {
		t.Error("characteristic 4 has a type")
	}
}

// TestHugeCounts proves R324: 32 bytes that claim 2^31 elements cost only an error.
func TestHugeCounts(t *testing.T) {
	if xdrtest.Race {
		t.Skip("the race detector allocates")
	}
	in := make([]byte, 32)
	binary.BigEndian.PutUint32(in, 1<<31)
	d := xdr.NewDecoder(nil, nil)
	for _, v := range []xdr.Value{new(Init), new(Req), new(Resp), new(Spec), new(Subset)} {
		var err error
		if n := testing.AllocsPerRun(100, func() {
			d.Reset(in)
			err = v.DecodeXDR(d)
		}); n > 1 || !errors.Is(err, xdr.ErrCount) {
			t.Errorf("%T: %v allocations, %v; want at most the error, xdr.ErrCount", v, n, err)
		}
	}
}
