package xdrtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Bad is a vector with one word changed, and the error that refuses it.
type Bad struct {
	Name   string
	Vector string   // the vector that is changed
	At     int      // offset of the word
	Word   uint32   // the new value of the word
	Code   xdr.Code // of the broken rule
	Offset int      // in the error
	Path   string   // of the field in the error
	Text   string   // the whole text; empty where another case of the table has the kind
}

// RunBad checks that each input is refused in both modes by the precise error.
func RunBad[T any, P Codec[T]](t *testing.T, all []Vector, cases []Bad) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			in := bytes.Clone(Find(t, all, c.Vector).Bytes)
			if c.At+4 > len(in) || binary.BigEndian.Uint32(in[c.At:]) == c.Word {
				t.Fatalf("word %#x at %d changes nothing in %d bytes", c.Word, c.At, len(in))
			}
			binary.BigEndian.PutUint32(in[c.At:], c.Word)
			for mode, opt := range modes() {
				var v T
				err := P(&v).DecodeXDR(xdr.NewDecoder(in, opt))
				var e *xdr.Error
				switch {
				case !errors.As(err, &e):
					t.Fatalf("%s: %v, want an *xdr.Error", mode, err)
				case e.Code != c.Code || e.Offset != c.Offset || e.Path() != c.Path:
					t.Errorf("%s: code %d at offset %d in %s, want code %d at offset %d in %s\n%v",
						mode, e.Code, e.Offset, e.Path(), c.Code, c.Offset, c.Path, err)
				case c.Text != "" && err.Error() != c.Text:
					t.Errorf("%s:\ngot  %s\nwant %s", mode, err, c.Text)
				}
			}
		})
	}
}
