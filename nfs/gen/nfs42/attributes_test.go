package nfs42

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// lastAttribute is the largest number that RFC 7863 has.
const lastAttribute = AttrSecLabel

// one has an encoding of each attribute, made from the i-th random value of its type.
func one(t testing.TB, i int) map[uint32][]byte {
	t.Helper()
	wires := map[string][]string{}
	for _, x := range xdrTypes() {
		wires[x.Name] = x.Wires
	}
	out := map[uint32][]byte{}
	for n := range uint32(lastAttribute + 1) {
		name := reflect.TypeOf(new(Attributes).AttributeXDR(n)).Elem().Name()
		all := wires[name]
		if len(all) == 0 {
			t.Fatalf("attribute %d: there is no value of %s", n, name)
		}
		b, err := hex.DecodeString(all[i%len(all)])
		if err != nil {
			t.Fatal(err)
		}
		out[n] = b
	}
	return out
}

// all returns a fattr4 with the i-th random value of each attribute.
func all(t testing.TB, i int) Fattr {
	values := one(t, i)
	var f Fattr
	for n := range uint32(lastAttribute + 1) {
		f.AttrVals = append(f.AttrVals, values[n]...)
		f.AttrMask = AttributesMask(append(numbers(f.AttrMask), n)...)
	}
	return f
}

func numbers(mask Bitmap) (out []uint32) {
	for n := range uint32(32 * len(mask)) {
		if mask[n/32]>>(n%32)&1 != 0 {
			out = append(out, n)
		}
	}
	return out
}

// The bytes were worked out by hand: type 1 (NF4REG), size 2^32+5, mode 0644, owner "me", and the
// time 7 s and 9 ns, in the order of their numbers 1, 4, 33, 36 and 53 (RFC 8881 §5).
func TestAttributesAreTheBytesOfTheDocument(t *testing.T) {
	wire := strings.Join([]string{
		"00000002", "00000012", "00200012", "00000024",
		"00000001", "0000000100000005", "000001a4", "00000002" + "6d650000", "0000000000000007" + "00000009",
	}, "")
	want, err := hex.DecodeString(wire)
	if err != nil {
		t.Fatal(err)
	}
	a := Attributes{
		Mask: AttributesMask(AttrTimeModify, AttrType, AttrSize, AttrOwner, AttrMode),
		Type: FileTypeReg, Size: 1<<32 + 5, Mode: 0o644, Owner: []byte("me"), TimeModify: Time{Seconds: 7, Nseconds: 9},
		FileID: 77, // not in Mask
	}
	var f Fattr
	if err := a.Encode(&f); err != nil {
		t.Fatal(err)
	}
	got, err := f.MarshalBinary()
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got  %x, %v\nwant %x", got, err, want)
	}
	var b Attributes
	if err := b.Decode(nil, &f); err != nil {
		t.Fatal(err)
	}
	a.FileID = 0
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
	for n := range uint32(100) {
		if want := slices.Contains([]uint32{1, 4, 33, 36, 53}, n); b.Has(n) != want {
			t.Errorf("Has(%d) is %t", n, b.Has(n))
		}
	}
	if b.Has(1<<32 - 1) {
		t.Error("the largest number is there")
	}
}

// Each attribute alone has the encoding of its type, and no other attribute is set. A prefix and a
// longer value are refused, by the number.
func TestEachAttributeHasItsType(t *testing.T) {
	for i := range 7 {
		for n, wire := range one(t, i) {
			f := Fattr{AttrMask: AttributesMask(n), AttrVals: wire}
			var a, none Attributes
			if err := a.Decode(nil, &f); err != nil {
				t.Fatalf("attribute %d: %v", n, err)
			}
			none.Mask = f.AttrMask
			if err := none.AttributeXDR(n).DecodeXDR(xdr.NewDecoder(wire, nil)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(none, a); diff != "" {
				t.Fatalf("attribute %d: %s", n, diff)
			}
			var back Fattr
			if err := a.Encode(&back); err != nil || !bytes.Equal(back.AttrVals, wire) {
				t.Fatalf("attribute %d: got %x, %v, want %x", n, back.AttrVals, err, wire)
			}
			long := Fattr{AttrMask: f.AttrMask, AttrVals: append(wire[:len(wire):len(wire)], 0, 0, 0, 0)}
			if err := a.Decode(nil, &long); !errors.Is(err, xdr.ErrTrailing) || len(a.Mask) != 0 {
				t.Fatalf("attribute %d with 4 bytes after it: %v, mask %x", n, err, a.Mask)
			}
		}
	}
}

// A fattr4 that ends early is refused at every length, and the path has the attribute's number.
func TestAttributesThatEndEarlyAreRefused(t *testing.T) {
	for i := range 3 {
		f := all(t, i)
		whole := f.AttrVals
		var a Attributes
		if err := a.Decode(nil, &f); err != nil {
			t.Fatal(err)
		}
		if n := len(numbers(a.Mask)); n != lastAttribute+1 {
			t.Fatalf("%d attributes", n)
		}
		for n := range whole {
			f.AttrVals = whole[:n:n]
			err := a.Decode(nil, &f)
			var fault *xdr.Error
			if !errors.As(err, &fault) || len(a.Mask) != 0 {
				t.Fatalf("%d of %d bytes: %v, mask %x", n, len(whole), err, a.Mask)
			}
			if !strings.HasPrefix(fault.Path(), "nfs42.Attributes.attribute[") {
				t.Fatalf("path %q", fault.Path())
			}
		}
	}
}

func TestUnknownAttributesAreNamed(t *testing.T) {
	for _, n := range []uint32{81, 95, 96, 1000} {
		f := Fattr{AttrMask: AttributesMask(AttrSize, n), AttrVals: make([]byte, 12)}
		a := Attributes{Size: 5}
		err := a.Decode(nil, &f)
		var fault *xdr.Error
		if !errors.As(err, &fault) || !errors.Is(err, xdr.ErrAttribute) || fault.Found != uint64(n) || a.Size != 5 {
			t.Errorf("attribute %d: %v, size %d", n, err, a.Size)
		}
		if a.Mask = f.AttrMask; !errors.Is(a.Encode(&f), xdr.ErrAttribute) {
			t.Errorf("attribute %d is encoded", n)
		}
	}
	err := new(Attributes).Decode(nil, &Fattr{AttrMask: AttributesMask(81)})
	if want := "xdr: nfs42.Attributes: offset 0: attribute 81 is not known, so its values do not decode (types of the attributes)"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	zeros := Fattr{AttrMask: append(AttributesMask(AttrSize), make(Bitmap, 1000)...), AttrVals: make([]byte, 8)}
	var a Attributes
	if err := a.Decode(nil, &zeros); err != nil || len(a.Mask) != 1 {
		t.Errorf("a bitmap with zeros at the end: %v, mask %x", err, a.Mask)
	}
}

// What an earlier fattr4 left is gone, and a reused value and Decoder allocate nothing.
func TestReusedAttributes(t *testing.T) {
	full := all(t, 0)
	small := Fattr{AttrMask: AttributesMask(AttrSize, AttrOwner), AttrVals: []byte{0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 'x', 0, 0, 0}}
	d := xdr.NewDecoder(nil, &xdr.DecoderOptions{Alias: true})
	var a Attributes
	if err := a.Decode(d, &full); err != nil {
		t.Fatal(err)
	}
	if err := a.Decode(d, &small); err != nil {
		t.Fatal(err)
	}
	if a.FileID != 0 || len(a.ACL) != 0 || a.TimeModify != (Time{}) || a.Size != 9 || string(a.Owner) != "x" {
		t.Errorf("file %d, ACL %v, time %v, size %d, owner %q", a.FileID, a.ACL, a.TimeModify, a.Size, a.Owner)
	}
	var f Fattr
	if n := testing.AllocsPerRun(100, func() {
		if err := a.Decode(d, &small); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Decode allocates %v times", n)
	}
	if err := a.Encode(&f); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if err := a.Encode(&f); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("Encode allocates %v times", n)
	}
}

func checkAttributes(t *testing.T, f *Fattr) {
	var a Attributes
	err := a.Decode(nil, f)
	if err != nil {
		if len(a.Mask) != 0 {
			t.Fatalf("mask %x after %v", a.Mask, err)
		}
		return
	}
	var back Fattr
	if err := a.Encode(&back); err != nil || !bytes.Equal(back.AttrVals, f.AttrVals) {
		t.Fatalf("got %x, %v, want %x", back.AttrVals, err, f.AttrVals)
	}
	if !slices.Equal(numbers(back.AttrMask), numbers(f.AttrMask)) {
		t.Fatalf("got %x, want %x", back.AttrMask, f.AttrMask)
	}
}

// Counts that the bytes cannot hold cost no memory.
func TestAttributesWithLargeCounts(t *testing.T) {
	const most = 64 << 10 // for 256 bytes
	for n := range uint32(lastAttribute + 1) {
		for _, word := range []byte{0xff, 0x7f, 0x10} {
			f := Fattr{AttrMask: AttributesMask(n), AttrVals: bytes.Repeat([]byte{0, word, word, word}, 64)}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var a Attributes
			_ = a.Decode(nil, &f)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > most {
				t.Errorf("attribute %d took %d bytes, at most %d are justified", n, took, most)
			}
			checkAttributes(t, &f)
		}
	}
}

func FuzzAttributes(f *testing.F) {
	for i := range 7 {
		whole := all(f, i)
		f.Add(whole.AttrMask[0], whole.AttrMask[1], whole.AttrMask[2], []byte(whole.AttrVals))
	}
	for n, wire := range one(f, 1) {
		mask := append(AttributesMask(n), 0, 0, 0)
		f.Add(mask[0], mask[1], mask[2], wire)
	}
	f.Fuzz(func(t *testing.T, m0, m1, m2 uint32, values []byte) {
		checkAttributes(t, &Fattr{AttrMask: Bitmap{m0, m1, m2}, AttrVals: values})
	})
}
