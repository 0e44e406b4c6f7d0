package rpcrdma2

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// TestFaultsAreRefusedAtTheirPlace proves that each fault is reported at its place; the transport
// answers BAD_XDR (R196).
func TestFaultsAreRefusedAtTheirPlace(t *testing.T) {
	all := xdrtest.Load(t)
	// R28, T24: presence words; R29, T26: counts; R31, T25: a list without end.
	xdrtest.RunBad[Msg](t, all, []xdrtest.Bad{
		{
			Name: "reads 2", Vector: "msg-no-chunks", At: 4, Word: 2,
			Code: xdr.CodeBool, Offset: 4, Path: "rpcrdma2.Msg.Chunks.Reads",
			Text: "xdr: rpcrdma2.Msg.Chunks.Reads: offset 4: boolean or presence word is 2, expected 0 or 1 (RFC 4506 §4.4)",
		},
		{Name: "next read 2", Vector: "msg-all-lists", At: 52, Word: 2, Code: xdr.CodeBool, Offset: 52, Path: "rpcrdma2.Msg.Chunks.Reads"},
		{Name: "writes 2", Vector: "msg-no-chunks", At: 8, Word: 2, Code: xdr.CodeBool, Offset: 8, Path: "rpcrdma2.Msg.Chunks.Writes"},
		{Name: "next write 2", Vector: "msg-all-lists", At: 104, Word: 2, Code: xdr.CodeBool, Offset: 104, Path: "rpcrdma2.Msg.Chunks.Writes"},
		{Name: "reply 2", Vector: "msg-no-chunks", At: 12, Word: 2, Code: xdr.CodeBool, Offset: 12, Path: "rpcrdma2.Msg.Chunks.Reply"},
		{
			Name: "one segment more than present", Vector: "msg-all-lists", At: 112, Word: 2,
			Code: xdr.CodeCount, Offset: 112, Path: "rpcrdma2.Msg.Chunks.Reply.Target",
			Text: "xdr: rpcrdma2.Msg.Chunks.Reply.Target: offset 112: count 2 is larger than the 1 that can be there (RFC 4506 §4.13)",
		},
		{Name: "count wraps", Vector: "msg-all-lists", At: 100, Word: 0x10000000, Code: xdr.CodeCount, Offset: 100, Path: "rpcrdma2.Msg.Chunks.Writes[1].Target"},
	})
	xdrtest.RunBad[Nomsg](t, all, []xdrtest.Bad{
		{
			Name: "reads without end", Vector: "nomsg-position-zero", At: 28, Word: 1,
			Code: xdr.CodeShort, Offset: 32, Path: "rpcrdma2.Nomsg.Chunks.Reads[1].Position",
			Text: "xdr: rpcrdma2.Nomsg.Chunks.Reads[1].Position: offset 32: 8 bytes left, 24 needed (RFC 4506 §3)",
		},
	})
	// R197: data beyond the message's end, and padding that is not zero.
	xdrtest.RunBad[ConnProp](t, all, []xdrtest.Bad{
		{
			Name: "one property more than present", Vector: "connprop-defaults", At: 0, Word: 3,
			Code: xdr.CodeCount, Offset: 0, Path: "rpcrdma2.ConnProp.Props",
			Text: "xdr: rpcrdma2.ConnProp.Props: offset 0: count 3 is larger than the 2 that can be there (RFC 4506 §4.13)",
		},
		{Name: "2^31 properties", Vector: "connprop-unknown", At: 0, Word: 1 << 31, Code: xdr.CodeCount, Offset: 0, Path: "rpcrdma2.ConnProp.Props"},
		{
			Name: "data over the end", Vector: "connprop-unknown", At: 48, Word: 5,
			Code: xdr.CodeShort, Offset: 52, Path: "rpcrdma2.ConnProp.Props[3].Data",
			Text: "xdr: rpcrdma2.ConnProp.Props[3].Data: offset 52: 4 bytes left, 8 needed (RFC 4506 §3)",
		},
		{Name: "largest data", Vector: "connprop-unknown", At: 48, Word: 0xffffffff, Code: xdr.CodeShort, Offset: 52, Path: "rpcrdma2.ConnProp.Props[3].Data"},
		{
			Name: "padding", Vector: "connprop-unknown", At: 28, Word: 0x05000100,
			Code: xdr.CodePadding, Offset: 29, Path: "rpcrdma2.ConnProp.Props[1].Data",
			Text: "xdr: rpcrdma2.ConnProp.Props[1].Data: offset 29: padding is 0x100, expected zero (RFC 4506 §3)",
		},
	})
	xdrtest.RunBad[PropHostAuth](t, all, []xdrtest.Bad{
		{Name: "padding", Vector: "prop-hostauth", At: 8, Word: 0x65660001, Code: xdr.CodePadding, Offset: 10, Path: "rpcrdma2.PropHostAuth"},
	})
	xdrtest.RunBad[PropSubset](t, all, []xdrtest.Bad{
		{Name: "words", Vector: "propsubset", At: 0, Word: 3, Code: xdr.CodeCount, Offset: 0, Path: "rpcrdma2.PropSubset"},
	})
	// R212: an unknown arm.
	xdrtest.RunBad[Error](t, all, []xdrtest.Bad{
		{
			Name: "range without words", Vector: "error-bad-xdr", At: 0, Word: ErrVers,
			Code: xdr.CodeShort, Offset: 4, Path: "rpcrdma2.Error.Versions.Low",
			Text: "xdr: rpcrdma2.Error.Versions.Low: offset 4: 0 bytes left, 8 needed (RFC 4506 §3)",
		},
		{Name: "index without length", Vector: "error-segments", At: 0, Word: ErrWriteResource, Code: xdr.CodeShort, Offset: 4, Path: "rpcrdma2.Error.WriteResource.ChunkIndex"},
	})
}

// TestHugeCounts proves R29 and R324: 32 bytes that claim 2^31 elements, or bytes, cost only an
// error.
func TestHugeCounts(t *testing.T) {
	if xdrtest.Race {
		t.Skip("the race detector allocates")
	}
	input := func(at int, words ...uint32) []byte {
		b := make([]byte, 32)
		for i, w := range words {
			binary.BigEndian.PutUint32(b[at+4*i:], w)
		}
		return b
	}
	for _, c := range []struct {
		name string
		v    xdr.Value
		in   []byte
		want error
	}{
		{"reply chunk", new(Msg), input(12, 1, 1<<31), xdr.ErrCount},
		{"properties", new(ConnProp), input(0, 1<<31), xdr.ErrCount},
		{"subset", new(PropSubset), input(0, 1<<31), xdr.ErrCount},
		{"data", new(PropVal), input(4, 1<<31), xdr.ErrShort},
		{"host auth", new(PropHostAuth), input(0, 1<<31), xdr.ErrShort},
	} {
		d := xdr.NewDecoder(nil, nil)
		var err error
		if n := testing.AllocsPerRun(100, func() {
			d.Reset(c.in)
			err = c.v.DecodeXDR(d)
		}); n > 1 || !errors.Is(err, c.want) {
			t.Errorf("%s: %v allocations, %v; want at most the error, %v", c.name, n, err, c.want)
		}
	}
}
