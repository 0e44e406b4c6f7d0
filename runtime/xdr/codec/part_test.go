package codec

import (
	"encoding/hex"
	"errors"
	"math"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

const testSite xdr.Site = "p.T.F"

type kind int32

func (k kind) Valid() bool { return k == 1 || k == 5 }

// partOf reads or writes one part; a Get function ignores the values that it reads.
type partOf func(d *xdr.Decoder, b []byte, off int) (int, error)

func fixed(n int) partOf {
	return func(d *xdr.Decoder, b []byte, off int) (int, error) { return GetFixed(d, b, off, make([]byte, n)) }
}

var (
	word   partOf = func(d *xdr.Decoder, b []byte, off int) (int, error) { return GetWord(b, off, new(uint32)) }
	hyper  partOf = func(d *xdr.Decoder, b []byte, off int) (int, error) { return GetHyper(b, off, new(int64)) }
	float  partOf = func(d *xdr.Decoder, b []byte, off int) (int, error) { return GetFloat(b, off, new(float32)) }
	double partOf = func(d *xdr.Decoder, b []byte, off int) (int, error) { return GetDouble(b, off, new(float64)) }
	truth  partOf = func(d *xdr.Decoder, b []byte, off int) (int, error) { return GetBool(d, b, off, new(bool)) }
	enum   partOf = func(d *xdr.Decoder, b []byte, off int) (int, error) { return GetEnum(d, b, off, new(kind)) }
	opaque partOf = func(d *xdr.Decoder, b []byte, off int) (int, error) { return GetOpaque(d, b, off, 5, new([]byte)) }
	item   partOf = func(d *xdr.Decoder, b []byte, off int) (int, error) {
		return GetItem(d, b, off, 5, testSite, new([]byte))
	}
)

// TestGetPart holds the functions that read a part against the errors that decoders have where the
// same is written out. All read from offset 4.
func TestGetPart(t *testing.T) {
	for _, tt := range []struct {
		name    string
		get     partOf
		in      string // in hexadecimal, after four bytes
		end     int    // if it is accepted
		code    xdr.Code
		at      int
		found   uint64
		want    uint64
		lenient bool // accepted by a lenient Decoder
	}{
		{name: "word", get: word, in: "00000007", end: 8},
		{name: "short word", get: word, in: "000000", code: xdr.CodeShort, at: 4, found: 3, want: 4},
		{name: "hyper", get: hyper, in: "0000000700000008", end: 12},
		{name: "short hyper", get: hyper, in: "00000007", code: xdr.CodeShort, at: 4, found: 4, want: 8},
		{name: "float", get: float, in: "3f800000", end: 8},
		{name: "short float", get: float, in: "3f8000", code: xdr.CodeShort, at: 4, found: 3, want: 4},
		{name: "double", get: double, in: "3ff0000000000000", end: 12},
		{name: "short double", get: double, in: "3ff0", code: xdr.CodeShort, at: 4, found: 2, want: 8},
		{name: "bool", get: truth, in: "00000001", end: 8},
		{name: "short bool", get: truth, code: xdr.CodeShort, at: 4, found: 0, want: 4},
		{name: "wrong bool", get: truth, in: "00000002", code: xdr.CodeBool, at: 4, found: 2, want: 1, lenient: true},
		{name: "enum", get: enum, in: "00000005", end: 8},
		{name: "short enum", get: enum, in: "0000", code: xdr.CodeShort, at: 4, found: 2, want: 4},
		{name: "wrong enum", get: enum, in: "ffffffff", code: xdr.CodeEnum, at: 4, found: 0xffffffff, lenient: true},
		{name: "fixed", get: fixed(6), in: "0102030405060000", end: 12},
		{name: "short fixed", get: fixed(6), in: "01020304050600", code: xdr.CodeShort, at: 4, found: 7, want: 8},
		{name: "padding of fixed", get: fixed(6), in: "0102030405060001", code: xdr.CodePadding, at: 10, found: 1, lenient: true},
		{name: "no fixed", get: fixed(0), end: 4},
		{name: "opaque", get: opaque, in: "000000050102030405000000", end: 16},
		{name: "empty opaque", get: opaque, in: "00000000", end: 8},
		{name: "short count", get: opaque, in: "0000", code: xdr.CodeShort, at: 4, found: 2, want: 4},
		{name: "bound", get: opaque, in: "00000006010203040506", code: xdr.CodeBound, at: 4, found: 6, want: 5},
		{name: "short opaque", get: opaque, in: "000000050102030405", code: xdr.CodeShort, at: 8, found: 5, want: 8},
		{name: "padding", get: opaque, in: "000000050102030405000002", code: xdr.CodePadding, at: 13, found: 2, lenient: true},
		{name: "item", get: item, in: "000000050102030405000000", end: 16},
		{name: "bound of an item", get: item, in: "ffffffff", code: xdr.CodeBound, at: 4, found: math.MaxUint32, want: 5},
		{name: "short item", get: item, in: "000000050102030405", code: xdr.CodeShort, at: 8, found: 5, want: 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, err := hex.DecodeString("00000000" + tt.in)
			if err != nil {
				t.Fatal(err)
			}
			end, err := tt.get(xdr.NewDecoder(in, nil), in, 4)
			if tt.code == 0 {
				if end != tt.end || err != nil {
					t.Fatalf("end %d, error %v, want %d", end, err, tt.end)
				}
				return
			}
			var e *xdr.Error
			if !errors.As(err, &e) {
				t.Fatalf("end %d, error %v", end, err)
			}
			if e.Code != tt.code || e.Offset != tt.at || e.Found != tt.found || e.Want != tt.want {
				t.Errorf("code %v at %d, found %d, want %d; expected code %v at %d, found %d, want %d",
					e.Code, e.Offset, e.Found, e.Want, tt.code, tt.at, tt.found, tt.want)
			}
			all := &xdr.DecoderOptions{Lenient: xdr.Lenient{Padding: true, Booleans: true, Enums: true}}
			if _, err := tt.get(xdr.NewDecoder(in, all), in, 4); (err == nil) != tt.lenient {
				t.Errorf("lenient: error %v", err)
			}
		})
	}
}

func TestPutPart(t *testing.T) {
	long := make([]byte, 6)
	for _, tt := range []struct {
		name string
		put  func(b []byte, off int) (int, error)
		want string // in hexadecimal
		code xdr.Code
	}{
		{name: "word", put: func(b []byte, off int) (int, error) { return PutWord(b, off, 7) }, want: "00000007"},
		{name: "hyper", put: func(b []byte, off int) (int, error) { return PutHyper(b, off, 7) }, want: "0000000000000007"},
		{name: "enum", put: func(b []byte, off int) (int, error) { return PutEnum(b, off, kind(5)) }, want: "00000005"},
		{name: "wrong enum", put: func(b []byte, off int) (int, error) { return PutEnum(b, off, kind(2)) }, code: xdr.CodeEnum},
		{name: "fixed", put: func(b []byte, off int) (int, error) { return PutFixed(b, off, []byte{1, 2, 3, 4, 5}) }, want: "0102030405000000"},
		{name: "opaque", put: func(b []byte, off int) (int, error) { return PutCounted(b, off, []byte{1, 2, 3}, 3) }, want: "0000000301020300"},
		{name: "bound", put: func(b []byte, off int) (int, error) { return PutCounted(b, off, long, 5) }, code: xdr.CodeBound},
		{name: "item", put: func(b []byte, off int) (int, error) {
			return PutItem(nil, b, off, testSite, []byte{1, 2, 3}, 3)
		}, want: "0000000301020300"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want, err := hex.DecodeString("ffffffff" + tt.want)
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, len(want))
			for i := range b {
				b[i] = 0xff
			}
			end, err := tt.put(b, 4)
			if tt.code != 0 {
				var e *xdr.Error
				if !errors.As(err, &e) || e.Code != tt.code || e.Offset != 4 {
					t.Errorf("error %v, want code %v at 4", err, tt.code)
				}
				return
			}
			if err != nil || end != len(b) || string(b) != string(want) {
				t.Fatalf("end %d, error %v, %x, want %x", end, err, b, want)
			}
			for n := 4; n < len(b); n++ {
				if _, err := tt.put(b[:n], 4); err != full {
					t.Errorf("%d bytes: error %v, want that of a full buffer", n, err)
				}
			}
		})
	}
}

// TestParts reads four parts, of which the second and the fourth are refused.
func TestParts(t *testing.T) {
	in := []byte{0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2}
	d := xdr.NewDecoder(in, nil)
	var first, third uint32
	read := func() (int, error) {
		var yes bool
		off, fault := At(nil, "T:A").In(GetWord(in, 0, &first))
		off, fault = At(fault, "T:B").In(GetBool(d, in, off, &yes))
		off, fault = At(fault, "T:C").In(GetWord(in, off, &third))
		return At(fault, "T:D").End(GetBool(d, in, off, &yes))
	}
	off, err := read()
	var e *xdr.Error
	if off != 0 || !errors.As(err, &e) || e.Path() != "T.B" || e.Offset != 4 || first != 7 || third != 0 {
		t.Errorf("offset %d, error %v, first %d, third %d", off, err, first, third)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = read() }); n != 1 {
		t.Errorf("%v allocations for a refusal, want 1", n)
	}
	in[7], in[15] = 1, 1
	if off, err := read(); off != 16 || err != nil {
		t.Errorf("offset %d, error %v", off, err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = read() }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// Behind a part that failed, nothing is read, and no memory is taken for elements of a list.
func TestPartsStop(t *testing.T) {
	in := make([]byte, 64)
	d := xdr.NewDecoder(in, nil)
	for name, get := range map[string]partOf{
		"word": word, "hyper": hyper, "bool": truth, "enum": enum, "opaque": opaque, "item": item, "fixed": fixed(4),
		"list": func(d *xdr.Decoder, b []byte, off int) (int, error) {
			var s []uint32
			_, err := Extend(d, &s, 4, off)
			return 0, err
		},
		"list of words": func(d *xdr.Decoder, b []byte, off int) (int, error) {
			var s []uint32
			_, err := ExtendFixed(d, &s, 4, b, off, 4)
			return 0, err
		},
	} {
		if _, err := get(d, in, -1); err != unread {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
