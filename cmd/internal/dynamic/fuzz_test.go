package dynamic

import (
	"bytes"
	"encoding"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/xdrjson"
)

// allTypes returns all types of the files in testdata/ok.
func allTypes(t testing.TB) []*ir.Type {
	t.Helper()
	files, err := filepath.Glob("../../xdrgen/testdata/ok/*.x")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var out []*ir.Type
	for _, f := range files {
		u := unit(t, sema.Options{Files: []string{f}, Include: []string{"../../xdrgen/testdata/ok/units"}})
		for _, name := range Names(u) {
			out = append(out, mustType(t, u, name))
		}
	}
	return out
}

// FuzzRoundTrip checks that data which Decode accepts is encoded to the same bytes, directly and
// by way of JSON. For other data it checks that there is an Error, and that the rows cover the
// data before the fault.
func FuzzRoundTrip(f *testing.F) {
	types := allTypes(f)
	for i := range types {
		for _, data := range [][]byte{nil, make([]byte, 64), bytes.Repeat([]byte{0, 0, 0, 1}, 64), bytes.Repeat([]byte{0, 0, 0, 2, 0, 0, 0, 0}, 32)} {
			f.Add(uint16(i), data)
		}
	}
	f.Fuzz(func(t *testing.T, which uint16, data []byte) {
		root, err := Decode(data, types[int(which)%len(types)], Limits{Values: 1 << 12})
		n := root.Length
		if n > len(data) {
			t.Fatalf("%d bytes read of %d", n, len(data))
		}
		if err == nil {
			checkRoundTrip(t, root, data[:n])
			return
		}
		var e *Error
		if !errors.As(err, &e) || e.Offset > len(data) || e.Length > len(data)-e.Offset || e.Message == "" {
			t.Fatalf("%#v", err)
		}
		checkRows(t, root, data[:n])
	})
}

// FuzzJSON checks that text which ParseJSON and Encode accept is decoded from its XDR to the
// same value.
func FuzzJSON(f *testing.F) {
	types := allTypes(f)
	for i := range types {
		if root, err := Decode(make([]byte, 256), types[i], Limits{Values: 1 << 12}); err == nil {
			f.Add(uint16(i), AppendJSON(nil, root))
		}
	}
	f.Fuzz(func(t *testing.T, which uint16, text []byte) {
		typ := types[int(which)%len(types)]
		root, err := ParseJSON(text, typ, "", Limits{Values: 1 << 12})
		if err != nil {
			return
		}
		data, err := Encode(root)
		if err != nil {
			return
		}
		again, err := DecodeAll(data, typ, Limits{Values: 1 << 13})
		if err != nil {
			t.Fatalf("%s: %x: %v", text, data, err)
		}
		checkRoundTrip(t, again, data)
	})
}

// FuzzAgainstGenerated compares this package with generated code: both accept the same input,
// and both encode it to the same bytes.
func FuzzAgainstGenerated(f *testing.F) {
	files, err := filepath.Glob("../../../spec/x/rpcrdma2/*.x")
	if err != nil || len(files) == 0 {
		f.Fatalf("%d files, %v", len(files), err)
	}
	u := unit(f, sema.Options{Files: files, Include: []string{"../../../spec/x"}})
	types := []*ir.Type{mustType(f, u, "rpcrdma2_msg"), mustType(f, u, "rpcrdma2_error"), mustType(f, u, "rpcrdma2_propval")}
	for k := range byte(24) {
		f.Add(k, []byte{0, 0, 0, k, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3})
		f.Add(k, make([]byte, 4*k))
		f.Add(k, bytes.Repeat([]byte{0, 0, 0, 1}, int(k)))
	}
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		var v encoding.BinaryUnmarshaler
		switch which % 3 {
		case 0:
			v = new(rpcrdma2.Msg)
		case 1:
			v = new(rpcrdma2.Error)
		case 2:
			v = new(rpcrdma2.PropVal)
		}
		errGen := v.UnmarshalBinary(data)
		root, err := DecodeAll(data, types[which%3], Limits{})
		if (err == nil) != (errGen == nil) {
			t.Fatalf("%x: dynamic %v, generated %v", data, err, errGen)
		}
		if err == nil {
			checkRoundTrip(t, root, data)
		}
	})
}

// FuzzJSONAgainstGenerated compares this package with xdrjson, the JSON of generated types: both
// accept the same texts, read the same values, and write the same text.
func FuzzJSONAgainstGenerated(f *testing.F) {
	u := unit(f, sema.Options{Files: []string{"../../../spec/x/nfs3/nfs3.x"}})
	types := []struct {
		xdr *ir.Type
		new func() xdrjson.Value
	}{
		{mustType(f, u, "READDIRPLUS3res"), func() xdrjson.Value { return new(nfs3.ReadDirPlusRes) }},
		{mustType(f, u, "CREATE3args"), func() xdrjson.Value { return new(nfs3.CreateArgs) }},
		{mustType(f, u, "WRITE3args"), func() xdrjson.Value { return new(nfs3.WriteArgs) }},
		{mustType(f, u, "FSINFO3res"), func() xdrjson.Value { return new(nfs3.FSInfoRes) }},
	}
	m := &maker{Rand: rand.New(rand.NewPCG(5, 6))}
	for i := range 8 * len(types) {
		m.left = 40
		if v := m.value("", -1, types[i%len(types)].xdr); v != nil {
			f.Add(byte(i%len(types)), AppendJSON(nil, v))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, text []byte) {
		typ := types[int(which)%len(types)]
		root, err := ParseJSON(text, typ.xdr, "", Limits{})
		var data []byte
		if err == nil {
			data, err = Encode(root)
		}
		v := typ.new()
		errGen := xdrjson.Unmarshal(text, v, "")
		if (err == nil) != (errGen == nil) {
			t.Fatalf("%s: dynamic %v, generated %v", text, err, errGen)
		}
		if err != nil {
			return
		}
		if got, err := v.AppendBinary(nil); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%s: dynamic %x, generated %x, %v", text, data, got, err)
		}
		if got, err := xdrjson.Marshal(v, ""); err != nil || !bytes.Equal(got, AppendJSON(nil, root)) {
			t.Fatalf("%s: dynamic %s, generated %s, %v", text, AppendJSON(nil, root), got, err)
		}
	})
}
