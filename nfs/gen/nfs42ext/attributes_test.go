package nfs42ext

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42deleg"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42xattr"
)

// The attributes of RFC 8276 and RFC 9754 follow the others. The bytes were worked out by
// hand.
func TestAttributesOfThreeDocuments(t *testing.T) {
	a := Attributes{
		Mask: AttributesMask(nfs42.AttrSize, nfs42xattr.AttrXattrSupport, nfs42deleg.AttrTimeDelegModify),
		Size: 3, XattrSupport: true, TimeDelegModify: nfs42.Time{Seconds: 4, Nseconds: 5},
	}
	var f nfs42.Fattr
	if err := a.Encode(&f); err != nil {
		t.Fatal(err)
	}
	want := []byte{0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 5}
	if !bytes.Equal(f.AttrVals, want) {
		t.Errorf("got  %x\nwant %x", f.AttrVals, want)
	}
	var b Attributes
	if err := b.Decode(nil, &f); err != nil || !b.XattrSupport || b.TimeDelegModify != a.TimeDelegModify {
		t.Errorf("%+v, %v", b, err)
	}
	for n := range uint32(200) {
		if got, want := b.AttributeXDR(n) != nil, n <= nfs42deleg.AttrOpenArguments && n != 81; got != want {
			t.Errorf("attribute %d is known: %t, want %t", n, got, want)
		}
	}
}
