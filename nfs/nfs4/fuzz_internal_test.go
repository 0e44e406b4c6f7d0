package nfs4

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// compound returns a Compound of three operations.
func compound() *Compound {
	c := new(Compound)
	c.PutRootFH()
	c.GetFH()
	c.GetAttr(nfs42.Bitmap{1})
	return c
}

// good is the reply to it.
func good(tb testing.TB) []byte {
	b, err := (&nfs42.CompoundRes{ResArray: []nfs42.ResOp{
		{Op: nfs42.OpSequence, Sequence: &nfs42.SequenceRes{}},
		{Op: nfs42.OpPutRootFH, PutRootFH: &nfs42.PutRootFHRes{}},
		{Op: nfs42.OpGetFH, GetFH: &nfs42.GetFHRes{OK: nfs42.GetFHResOK{Object: []byte("handle")}}},
		{Op: nfs42.OpGetAttr, GetAttr: &nfs42.GetAttrRes{OK: nfs42.GetAttrResOK{ObjAttributes: nfs42.Fattr{AttrMask: nfs42.Bitmap{1}, AttrVals: []byte{1, 2, 3, 4}}}}},
	}}).MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// decoder returns a Decoder of a message, which fails the test if the values take much more memory
// than the message.
func decoder(t *testing.T, message []byte) *xdr.Decoder {
	taken := 0
	return xdr.NewDecoder(message, &xdr.DecoderOptions{Reserve: func(n int) bool {
		if taken += n; taken > 4096+32*len(message) {
			t.Errorf("values of %d bytes from a message of %d", taken, len(message))
		}
		return true
	}})
}

// FuzzResults reads replies of a server. A reply without an error has a result for each operation.
func FuzzResults(f *testing.F) {
	f.Add(good(f))
	f.Fuzz(func(t *testing.T, reply []byte) {
		for _, probe := range []bool{false, true} {
			c := compound()
			if probe {
				c.Reset()
				c.probe = true
			}
			err := (*results)(c).DecodeXDR(decoder(t, reply))
			if err == nil {
				err = c.refusal()
			}
			if refused := (*StatusError)(nil); err == nil && c.Succeeded() != c.Len() || errors.As(err, &refused) && refused.Index >= c.Len() {
				t.Errorf("%d results of %d operations: %v", c.Succeeded(), c.Len(), err)
			}
		}
	})
}

// FuzzCallback reads callbacks of a server. At most as many operations are read as are allowed.
func FuzzCallback(f *testing.F) {
	b, err := (&nfs42.CBCompoundArgs{MinorVersion: 2, ArgArray: []nfs42.CBArgOp{
		{Op: nfs42.CBOpSequence, Sequence: &nfs42.CBSequenceArgs{SequenceID: 1, ReferringCallLists: []nfs42.ReferringCallList{{ReferringCalls: []nfs42.ReferringCall{{}}}}}},
		{Op: nfs42.CBOpRecall, Recall: nfs42.CBRecallArgs{FH: []byte("handle")}},
	}}).MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, body []byte) {
		var c callback
		_ = c.DecodeXDR(decoder(t, body)) // any error will do
		if len(c.ops) > backOps {
			t.Errorf("%d operations", len(c.ops))
		}
	})
}
