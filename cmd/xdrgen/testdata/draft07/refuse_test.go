package rpcrdma2draft07

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// TestRefused checks that each fault is reported at its place. A transport answers BAD_XDR, or
// BAD_PROPVAL.
func TestRefused(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.RunBad[CallExternal](t, all, []xdrtest.Bad{
		{
			Name: "call 2", Vector: "call-external-empty", At: 4, Word: 2,
			Code: xdr.CodeBool, Offset: 4, Path: "rpcrdma2draft07.CallExternal.Call",
			Text: "xdr: rpcrdma2draft07.CallExternal.Call: offset 4: boolean or presence word is 2, expected 0 or 1 (RFC 4506 §4.4)",
		},
		{Name: "next of call 2", Vector: "call-external", At: 28, Word: 2, Code: xdr.CodeBool, Offset: 28, Path: "rpcrdma2draft07.CallExternal.Call"},
		{Name: "reads 2", Vector: "call-external-empty", At: 8, Word: 2, Code: xdr.CodeBool, Offset: 8, Path: "rpcrdma2draft07.CallExternal.Reads"},
		{Name: "writes 2", Vector: "call-external-empty", At: 12, Word: 2, Code: xdr.CodeBool, Offset: 12, Path: "rpcrdma2draft07.CallExternal.ProvisionalWrites"},
		{Name: "reply 2", Vector: "call-external-empty", At: 16, Word: 2, Code: xdr.CodeBool, Offset: 16, Path: "rpcrdma2draft07.CallExternal.ProvisionalReply"},
	})
	xdrtest.RunBad[CallInline](t, all, []xdrtest.Bad{
		{
			Name: "one segment more than present", Vector: "call-inline", At: 112, Word: 2,
			Code: xdr.CodeCount, Offset: 112, Path: "rpcrdma2draft07.CallInline.ProvisionalReply.Target",
			Text: "xdr: rpcrdma2draft07.CallInline.ProvisionalReply.Target: offset 112: count 2 is larger than the 1 that can be there (RFC 4506 §4.13)",
		},
		{Name: "count wraps", Vector: "call-inline", At: 100, Word: 0x10000000, Code: xdr.CodeCount, Offset: 100, Path: "rpcrdma2draft07.CallInline.ProvisionalWrites[1].Target"},
	})
	xdrtest.RunBad[ReplyExternal](t, all, []xdrtest.Bad{
		{Name: "writes 2", Vector: "reply-external", At: 0, Word: 2, Code: xdr.CodeBool, Offset: 0, Path: "rpcrdma2draft07.ReplyExternal.Writes"},
		{Name: "reply 2", Vector: "reply-external", At: 52, Word: 2, Code: xdr.CodeBool, Offset: 52, Path: "rpcrdma2draft07.ReplyExternal.Reply"},
	})
	xdrtest.RunBad[ReplyInline](t, all, []xdrtest.Bad{
		{
			Name: "writes without end", Vector: "reply-inline", At: 32, Word: 1,
			Code: xdr.CodeShort, Offset: 36, Path: "rpcrdma2draft07.ReplyInline.Writes[2].Target",
		},
	})
	xdrtest.RunBad[ConnProp](t, all, []xdrtest.Bad{
		{Name: "2^31 properties", Vector: "connprop-unknown", At: 0, Word: 1 << 31, Code: xdr.CodeCount, Offset: 0, Path: "rpcrdma2draft07.ConnProp.Props"},
		{
			Name: "data over the end", Vector: "connprop-unknown", At: 32, Word: 40,
			Code: xdr.CodeShort, Offset: 36, Path: "rpcrdma2draft07.ConnProp.Props[2].Data",
		},
		{Name: "padding", Vector: "connprop-unknown", At: 16, Word: 0x05000100, Code: xdr.CodePadding, Offset: 17, Path: "rpcrdma2draft07.ConnProp.Props[0].Data"},
	})
	xdrtest.RunBad[PropHostAuth](t, all, []xdrtest.Bad{
		{Name: "padding", Vector: "prop-hostauth", At: 8, Word: 0x65660001, Code: xdr.CodePadding, Offset: 10, Path: "rpcrdma2draft07.PropHostAuth"},
	})
	xdrtest.RunBad[PropSubset](t, all, []xdrtest.Bad{
		{Name: "words", Vector: "propsubset", At: 0, Word: 3, Code: xdr.CodeCount, Offset: 0, Path: "rpcrdma2draft07.PropSubset"},
	})
	xdrtest.RunBad[Error](t, all, []xdrtest.Bad{
		{Name: "range without words", Vector: "error-bad-xdr", At: 0, Word: ErrVers, Code: xdr.CodeShort, Offset: 4, Path: "rpcrdma2draft07.Error.Versions.Low"},
		{Name: "index without length", Vector: "error-segments", At: 0, Word: ErrWriteResource, Code: xdr.CodeShort, Offset: 4, Path: "rpcrdma2draft07.Error.WriteResource.ChunkIndex"},
	})
}

// TestHugeCounts checks that 32 bytes that claim 2^31 elements, or bytes, cost only an error.
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
		{"reply chunk of an external Call", new(CallExternal), input(16, 1, 1<<31), xdr.ErrCount},
		{"reply chunk of an inline Call", new(CallInline), input(12, 1, 1<<31), xdr.ErrCount},
		{"Reply chunk", new(ReplyExternal), input(4, 1, 1<<31), xdr.ErrCount},
		{"write chunk", new(ReplyInline), input(0, 1, 1<<31), xdr.ErrCount},
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
