package client4

import (
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42xattr"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// encoded returns the attributes on the wire.
func encoded(t testing.TB, a nfs42ext.Attributes) nfs42.Fattr {
	t.Helper()
	var f nfs42.Fattr
	if err := a.Encode(&f); err != nil {
		t.Fatal(err)
	}
	return f
}

// A server may return only attributes that the client asked for, whole ones, and the type.
func TestAttributesBesidesTheWantedOnesAreRefused(t *testing.T) {
	typed := nfs42ext.Attributes{Mask: nfs42ext.AttributesMask(nfs42.AttrType, nfs42.AttrSize), Type: nfs42.FileTypeDir, Size: 7}
	whole := encoded(t, typed)
	i, err := describe("x", &whole)
	if err != nil || !i.IsDir() || i.Size() != 7 || i.Name() != "x" {
		t.Fatal(i, err)
	}
	long := nfs42.Fattr{AttrMask: whole.AttrMask, AttrVals: append(whole.AttrVals[:12:12], 0, 0, 0, 0)}
	short := nfs42.Fattr{AttrMask: whole.AttrMask, AttrVals: whole.AttrVals[:8]}
	hidden := encoded(t, nfs42ext.Attributes{Mask: nfs42ext.AttributesMask(nfs42.AttrType, nfs42.AttrHidden), Type: nfs42.FileTypeReg})
	label := encoded(t, nfs42ext.Attributes{Mask: nfs42ext.AttributesMask(nfs42.AttrType, nfs42.AttrSecLabel), Type: nfs42.FileTypeReg})
	none := encoded(t, nfs42ext.Attributes{Mask: nfs42ext.AttributesMask(nfs42.AttrSize)})
	for name, f := range map[string]nfs42.Fattr{
		"bytes after the values": long, "values that end early": short, "another attribute": hidden,
		"an attribute of a further word": label, "no type": none, "an unknown number": {AttrMask: nfs42ext.AttributesMask(81)},
	} {
		var broken *nfs4.ProtocolError
		if _, err := describe("x", &f); !errors.As(err, &broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamesThatLeadElsewhereAreRefused(t *testing.T) {
	attrs := encoded(t, nfs42ext.Attributes{Mask: nfs42ext.AttributesMask(nfs42.AttrType), Type: nfs42.FileTypeReg})
	for _, name := range []string{"", ".", "..", "../x", "a/b", "/", "a\x00"} {
		if _, err := entry(&nfs42.Entry{Cookie: 3, Name: []byte(name), Attrs: attrs}); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if i, err := entry(&nfs42.Entry{Cookie: 3, Name: []byte("..x"), Attrs: attrs}); err != nil || i.Name() != "..x" {
		t.Error(i, err)
	}
}

// Cookies that come back end a listing, wherever the loop begins; reserved ones are refused.
func TestCookiesThatComeBackEndAListing(t *testing.T) {
	for before := range 20 {
		for length := 1; length < 20; length++ {
			var b brent
			n := 0
			for err := error(nil); err == nil; n++ {
				cookie := n
				if n >= before {
					cookie = before + (n-before)%length
				}
				if err = b.next(nfs42.Cookie(cookie + 3)); n > 1000 {
					t.Fatalf("%d cookies, then a loop of %d: not found", before, length)
				}
			}
			if n <= before+length-1 {
				t.Fatalf("%d cookies, then a loop of %d: found at the entry %d", before, length, n)
			}
		}
	}
	for c := range nfs42.Cookie(3) {
		var b brent
		if b.next(c) == nil {
			t.Errorf("cookie %d is accepted", c)
		}
	}
	b := brent{n: maxEntries, end: 2 * maxEntries}
	if err := b.next(5); err == nil || !strings.Contains(err.Error(), "limit of a directory") {
		t.Error(err)
	}
}

// A list of extended attributes ends, and its memory is bounded.
func TestListsOfXattrsAreBounded(t *testing.T) {
	key, long := nfs42xattr.XattrKey("k"), make(nfs42xattr.XattrKey, maxXattrName+1)
	many := make([]nfs42xattr.XattrKey, maxXattrs+1)
	for name, tt := range map[string]struct {
		ok    nfs42xattr.ListXattrsResOK
		valid bool
	}{
		"more to come":         {nfs42xattr.ListXattrsResOK{Cookie: 8, Names: []nfs42xattr.XattrKey{key, long[1:]}}, true},
		"the end":              {nfs42xattr.ListXattrsResOK{Cookie: 7, EOF: true}, true},
		"nothing":              {nfs42xattr.ListXattrsResOK{Cookie: 8}, false},
		"the same cookie":      {nfs42xattr.ListXattrsResOK{Cookie: 7, Names: []nfs42xattr.XattrKey{key}}, false},
		"a long key":           {nfs42xattr.ListXattrsResOK{Cookie: 8, Names: []nfs42xattr.XattrKey{long}, EOF: true}, false},
		"too many keys":        {nfs42xattr.ListXattrsResOK{Cookie: 8, Names: many}, false},
		"too many and the end": {nfs42xattr.ListXattrsResOK{Cookie: 8, Names: many, EOF: true}, false},
	} {
		if keys, err := addKeys(nil, 7, &tt.ok); (err == nil) != tt.valid || tt.valid && len(keys) != len(tt.ok.Names) {
			t.Errorf("%s: %d keys, %v", name, len(keys), err)
		}
	}
}

// A server's entries are refused or described.
func FuzzEntry(f *testing.F) {
	whole := encoded(f, nfs42ext.Attributes{Mask: described(), Type: nfs42.FileTypeReg, Owner: []byte("me"), OwnerGroup: []byte("us")})
	f.Add([]byte("name"), whole.AttrMask[0], whole.AttrMask[1], []byte(whole.AttrVals))
	f.Add([]byte("../x"), whole.AttrMask[0], whole.AttrMask[1], []byte(whole.AttrVals))
	f.Fuzz(func(t *testing.T, name []byte, m0, m1 uint32, values []byte) {
		i, err := entry(&nfs42.Entry{Name: name, Attrs: nfs42.Fattr{AttrMask: nfs42.Bitmap{m0, m1}, AttrVals: values}})
		if err != nil {
			return
		}
		if element(i.Name()) != nil || i.Size() < 0 || i.IsDir() != i.Mode().IsDir() {
			t.Fatalf("%q, %d bytes, mode %v", i.Name(), i.Size(), i.Mode())
		}
	})
}
