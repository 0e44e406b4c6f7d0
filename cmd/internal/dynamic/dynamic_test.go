package dynamic

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// memFS is a file system in which every file has the same text.
type memFS string

func (m memFS) ReadFile(name string) ([]byte, error) {
	if !strings.HasSuffix(name, ".x") {
		return nil, os.ErrNotExist
	}
	return []byte(m), nil
}
func (m memFS) ReadDir(string) ([]os.DirEntry, error) { return nil, nil }

func unit(t testing.TB, o sema.Options) *ir.Unit {
	t.Helper()
	r, err := sema.Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Unit == nil {
		for _, d := range r.Diags {
			t.Errorf("%s: %s", d.Span.Text(), d.Message)
		}
		t.FailNow()
	}
	return r.Unit
}

func mustType(t testing.TB, u *ir.Unit, name string) *ir.Type {
	t.Helper()
	typ, err := Find(u, name)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

const sample = `
enum color { RED = 0, GREEN = 7, LIME = 7, BLACK = -1 };
struct scalars { bool b; int i; unsigned int u; hyper h; unsigned hyper w; float f; double d; quadruple q; color c; };
struct bytes { opaque fix[3]; opaque var<5>; string s<8>; };
struct arrays { int two[2]; color any<>; unsigned int most<2>; bytes none[0]; };
struct empty_ { };
struct node { string name<>; int n; node *next; };
typedef node *nodes;
struct lists { nodes maybe; node sure; nodes *outer; };
typedef int *opt;
typedef opt *optopt;
struct tree { int v; tree *left; tree *right; };
union u switch (color c) { case RED: void; case GREEN: int n; };
union i switch (int k) { case -2: string s<>; case 0: void; default: u inner; };
union b switch (bool yes) { case TRUE: int n; };
union w switch (unsigned int k) { case 4294967295: int n; default: void; };
program P { version V { void NULL_(void) = 0; int ADD(int, color) = 1; nodes LIST(lists) = 2; } = 1; } = 9;
`

func sampleUnit(t testing.TB) *ir.Unit {
	return unit(t, sema.Options{Files: []string{"u.x"}, FS: memFS(sample)})
}

// TestBothWays converts XDR to JSON and JSON to XDR, and checks that every byte of the XDR is
// in exactly one row.
func TestBothWays(t *testing.T) {
	u := sampleUnit(t)
	for _, c := range []struct{ typ, xdr, json string }{
		{"color", "00000007", `"GREEN"`},
		{"color", "ffffffff", `"BLACK"`},
		{
			"scalars", "00000001 ffffffff ffffffff ffffffffffffffff ffffffffffffffff 3fc00000 c000000000000000 000102030405060708090a0b0c0d0e0f 00000000",
			`{"b":true,"i":-1,"u":4294967295,"h":"-1","w":"18446744073709551615","f":1.5,"d":-2,"q":"000102030405060708090a0b0c0d0e0f","c":"RED"}`,
		},
		{
			"scalars", "00000000 80000000 00000000 8000000000000000 0000000000000000 7f800000 fff0000000000000 00000000000000000000000000000000 00000000",
			`{"b":false,"i":-2147483648,"u":0,"h":"-9223372036854775808","w":"0","f":"Infinity","d":"-Infinity","q":"00000000000000000000000000000000","c":"RED"}`,
		},
		{
			"scalars", "00000000 00000000 00000000 0000000000000000 0000000000000000 7fc00000 7ff8000000000000 00000000000000000000000000000000 00000000",
			`{"b":false,"i":0,"u":0,"h":"0","w":"0","f":"NaN","d":"NaN","q":"00000000000000000000000000000000","c":"RED"}`,
		},
		{
			"scalars", "00000000 00000000 00000000 0000000000000000 0000000000000000 ff800001 7ff0000000000001 00000000000000000000000000000000 00000000",
			`{"b":false,"i":0,"u":0,"h":"0","w":"0","f":"NaN:ff800001","d":"NaN:7ff0000000000001","q":"00000000000000000000000000000000","c":"RED"}`,
		},
		{
			"scalars", "00000000 00000000 00000000 0000000000000000 0000000000000000 80000000 0000000000000001 00000000000000000000000000000000 00000000",
			`{"b":false,"i":0,"u":0,"h":"0","w":"0","f":-0,"d":5e-324,"q":"00000000000000000000000000000000","c":"RED"}`,
		},
		{"bytes", "61620000 00000000 00000005 48656c6c6f000000", `{"fix":"616200","var":"","s":"Hello"}`},
		{"bytes", "61626300 00000001 ff000000 00000002 c3a90000", `{"fix":"616263","var":"ff","s":"é"}`},
		{"bytes", "61626300 00000000 00000002 ff3c0000", `{"fix":"616263","var":"","s":{"hex":"ff3c"}}`},
		{"bytes", "61626300 00000000 00000008 0000223c5c0aefbf", `{"fix":"616263","var":"","s":{"hex":"0000223c5c0aefbf"}}`},
		{"bytes", "61626300 00000000 00000007 223c5c0aefbfbd00", `{"fix":"616263","var":"","s":"\"<\\\n�"}`},
		{"arrays", "00000001 00000002 00000001 00000007 00000000", `{"two":[1,2],"any":["GREEN"],"most":[],"none":[]}`},
		{"empty_", "", `{}`},
		{"node", "00000001 61000000 00000005 00000000", `[{"name":"a","n":5}]`},
		{"nodes", "00000000", `[]`},
		{"nodes", "00000001 00000000 00000005 00000001 00000000 00000006 00000000", `[{"name":"","n":5},{"name":"","n":6}]`},
		{"lists", "00000000  00000000 00000001 00000000  00000001 00000000", `{"maybe":[],"sure":[{"name":"","n":1}],"outer":[]}`},
		{"lists", "00000000  00000000 00000001 00000000  00000000", `{"maybe":[],"sure":[{"name":"","n":1}],"outer":null}`},
		{"opt", "00000000", `null`},
		{"opt", "00000001 00000003", `3`},
		{"optopt", "00000000", `null`},
		{"optopt", "00000001 00000000", `{"value":null}`},
		{"optopt", "00000001 00000001 00000003", `{"value":3}`},
		{"tree", "00000001 00000001 00000002 00000000 00000000 00000000", `{"v":1,"left":{"v":2,"left":null,"right":null},"right":null}`},
		{"u", "00000000", `{"discriminant":"RED"}`},
		{"u", "00000007 00000001", `{"discriminant":"GREEN","arm":1}`},
		{"i", "fffffffe 00000000", `{"discriminant":-2,"arm":""}`},
		{"i", "00000005 00000000", `{"discriminant":5,"arm":{"discriminant":"RED"}}`},
		{"b", "00000001 00000000", `{"discriminant":true,"arm":0}`},
		{"w", "ffffffff 00000000", `{"discriminant":4294967295,"arm":0}`},
		{"w", "80000000", `{"discriminant":2147483648}`},
		{"P.V.NULL_.args", "", `{}`},
		{"P.V.NULL_.result", "", `{}`},
		{"P.V.ADD.args", "00000001 00000007", `{"arg1":1,"arg2":"GREEN"}`},
		{"P.V.ADD.result", "00000001", `1`},
		{"P.V.LIST.result", "00000000", `[]`},
	} {
		typ := mustType(t, u, c.typ)
		data := unhex(t, c.xdr)
		root, err := DecodeAll(data, typ, Limits{})
		if err != nil {
			t.Errorf("%s %s: %v", c.typ, c.xdr, err)
			continue
		}
		if got := string(AppendJSON(nil, root)); got != c.json {
			t.Errorf("%s %s: JSON %s, expected %s", c.typ, c.xdr, got, c.json)
		}
		checkRoundTrip(t, root, data)
		fromText, err := ParseJSON([]byte(c.json), typ, "", Limits{})
		if err != nil {
			t.Errorf("%s: %v", c.json, err)
			continue
		}
		if out, err := Encode(fromText); err != nil || !bytes.Equal(out, data) {
			t.Errorf("%s: %x, %v, expected %x", c.json, out, err, data)
		}
		for n := range len(data) {
			var e *Error
			part, err := DecodeAll(data[:n], typ, Limits{})
			if !errors.As(err, &e) || e.Code != Short || e.Offset > n {
				t.Errorf("%s, %d bytes of %s: %v", c.typ, n, c.xdr, err)
			}
			checkRows(t, part, data[:e.Offset])
		}
	}
}

// checkRoundTrip checks that a tree encodes to the bytes that it was decoded from, directly and
// by way of JSON, and that its rows cover them.
func checkRoundTrip(t testing.TB, root *Value, data []byte) {
	t.Helper()
	if out, err := Encode(root); err != nil || !bytes.Equal(out, data) {
		t.Fatalf("encoded %x, %v, expected %x", out, err, data)
	}
	text := AppendJSON(nil, root)
	again, err := ParseJSON(text, root.Type, "", Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if out, err := Encode(again); err != nil || !bytes.Equal(out, data) {
		t.Fatalf("by way of %s: %x, %v, expected %x", text, out, err, data)
	}
	checkRows(t, root, data)
}

// checkRows checks that the rows cover the data in order and without gaps.
func checkRows(t testing.TB, root *Value, data []byte) {
	t.Helper()
	at := 0
	for r := range Rows(root) {
		if r.Offset != at || r.Length < 0 || r.Length == 0 && r.Role != Rest {
			t.Fatalf("row %s at %d of %d bytes, expected at %d", r.Path, r.Offset, r.Length, at)
		}
		at += r.Length
	}
	if at != len(data) {
		t.Fatalf("rows of %d bytes, expected %d", at, len(data))
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDecodeFaults checks the error for bytes that break each rule: path, offset and message.
func TestDecodeFaults(t *testing.T) {
	u := sampleUnit(t)
	for _, c := range []struct{ typ, xdr, want string }{
		{"color", "00000001", "value: offset 0: found 1, which is not a member of enum color (RFC 4506 §4.3)"},
		{"scalars", "00000002", "b: offset 0: found 2 (0x2), expected 0 or 1 (RFC 4506 §4.4)"},
		{"scalars", "0000", "b: offset 0: found 2 bytes before the end of the input, expected 4 (RFC 4506 §3)"},
		{"bytes", "61626301", "fix: offset 3: found padding byte 0x01, expected 0 (RFC 4506 §3)"},
		{"bytes", "61626300 00000006 00", "var: offset 4: found a count of 6 bytes, expected at most 5 (RFC 4506 §4.10)"},
		{"bytes", "61626300 00000001 61000100", "var: offset 10: found padding byte 0x01, expected 0 (RFC 4506 §3)"},
		{"bytes", "61626300 00000005 61620000", "var: offset 8: found 4 bytes before the end of the input, expected 8 (RFC 4506 §3)"},
		{"arrays", "00000000 00000000 ffffffff 00000007 00000001", "any[1]: offset 16: found 1, which is not a member of enum color (RFC 4506 §4.3)"},
		{
			"arrays", "00000000 00000000 ffffffff 00000007",
			"any[1]: offset 16: found 0 bytes before the end of the input, expected 4 (RFC 4506 §3); the count at offset 8 announces 4294967295 elements of at least 4 bytes each",
		},
		{"arrays", "00000000 00000000 00000000 00000003", "most: offset 12: found a count of 3 elements, expected at most 2 (RFC 4506 §4.10)"},
		{"nodes", "00000001 00000000 00000000 00000002", "value: offset 12: found 2 (0x2), expected 0 or 1 (RFC 4506 §4.4)"},
		{"nodes", "00000001 00000001", "[0].name: offset 8: found 0 bytes before the end of the input, expected 4 (RFC 4506 §3)"},
		{"tree", "00000000 00000001 00000000 00000007", "left.left: offset 12: found 7 (0x7), expected 0 or 1 (RFC 4506 §4.4)"},
		{"u", "ffffffff", "c: offset 0: found BLACK (-1), for which union u has no arm (RFC 4506 §4.15)"},
		{"b", "00000000", "yes: offset 0: found FALSE, for which union b has no arm (RFC 4506 §4.15)"},
		{"i", "00000005 00000007 0000", "inner.n: offset 8: found 2 bytes before the end of the input, expected 4 (RFC 4506 §3)"},
		{"opt", "00000000 00", "value: offset 4: found 1 byte after the value, expected the end (the data is one value)"},
	} {
		data := unhex(t, c.xdr)
		part, err := DecodeAll(data, mustType(t, u, c.typ), Limits{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s %s:\n got %v\nwant %s", c.typ, c.xdr, err, c.want)
			continue
		}
		read := 0
		for r := range Rows(part) {
			read = r.Offset + r.Length
		}
		if e := err.(*Error); read > e.Offset && e.Code != Union {
			t.Errorf("%s %s: rows up to %d, fault at %d", c.typ, c.xdr, read, e.Offset)
		}
	}
}

// TestDecodeStopsAtTheLimits checks that Decode stops at the limits.
func TestDecodeStopsAtTheLimits(t *testing.T) {
	u := unit(t, sema.Options{Files: []string{"u.x"}, FS: memFS(`
struct none { };
struct many { none n<>; };
struct fixed { none n[4294967295]; };
struct tree { tree *left; tree *right; };
typedef nest nest_t; struct nest { nest_t n<>; };
struct item { item *next_; int v; };
`)})
	for _, c := range []struct {
		typ  string
		data []byte
		code Code
	}{
		{"many", []byte{255, 255, 255, 255}, Memory},
		{"fixed", nil, Memory},
		{"tree", bytes.Repeat([]byte{0, 0, 0, 1}, 1<<16), Depth},
		{"nest", bytes.Repeat([]byte{0, 0, 0, 1}, 1<<16), Depth},
		{"item", bytes.Repeat([]byte{0, 0, 0, 1}, 1<<16), Depth},
	} {
		_, err := DecodeAll(c.data, mustType(t, u, c.typ), Limits{Values: 1000})
		if e, ok := err.(*Error); !ok || e.Code != c.code {
			t.Errorf("%s: %v, expected %s", c.typ, err, c.code)
		}
	}
}

func TestJSONFaults(t *testing.T) {
	u := sampleUnit(t)
	scalars := func(field, value string) string {
		fields := []string{"b", "false", "i", "0", "u", "0", "h", "0", "w", "0", "f", "0", "d", "0", "q", `"00000000000000000000000000000000"`, "c", `"RED"`}
		var b strings.Builder
		for i := 0; i < len(fields); i += 2 {
			if fields[i] == field {
				fields[i+1] = value
			}
			fmt.Fprintf(&b, ",%q:%s", fields[i], fields[i+1])
		}
		return "{" + b.String()[1:] + "}"
	}
	for _, c := range []struct{ typ, json, want string }{
		{"scalars", scalars("b", "1"), `b: offset 5: found number 1, expected true or false for bool`},
		{"scalars", scalars("i", "2147483648"), `i: offset 15: found number 2147483648, expected an integer in range for int`},
		{"scalars", scalars("i", "1.0"), `expected an integer in range for int`},
		{"scalars", scalars("i", `"1"`), `expected a number for int`},
		{"scalars", scalars("u", "-1"), `found number -1, expected an integer in range for unsigned int`},
		{"scalars", scalars("h", `"9223372036854775808"`), `expected an integer in range for hyper`},
		{"scalars", scalars("w", `""`), `found string "", expected an integer in range for unsigned hyper`},
		{"scalars", scalars("w", `null`), `found null, expected an integer for unsigned hyper`},
		{"scalars", scalars("f", "1e39"), `expected a number in range for float`},
		{"scalars", scalars("f", `"NaN:3f800000"`), `expected "NaN:" and the bits of one in 8 hex digits for float`},
		{"scalars", scalars("d", `"x"`), `"Infinity"`},
		{"scalars", scalars("q", `"00"`), `q: offset 51: found 1 byte, expected 16 (RFC 4506 §4.10)`},
		{"scalars", scalars("q", `"0"`), `expected a string of hex digits`},
		{"scalars", scalars("c", `"GREE"`), `found "GREE", expected a member of enum color (RFC 8259, and the JSON form in xdrgen help json); did you mean GREEN?`},
		{"scalars", scalars("c", `3`), `c: offset 90: found 3, which is not a member of enum color (RFC 4506 §4.3)`},
		{"scalars", scalars("c", `true`), `found true, expected the name of a member for color`},
		{"bytes", `{"fix":"000000","var":"000000000000","s":""}`, `var: offset 22: found 6 bytes, expected at most 5`},
		{"bytes", `{"fix":"000000","var":"","s":{"hex":"00","x":1}}`, `expected a string, or {"hex": "..."}, for string<8>`},
		{"bytes", `{"fix":"000000","var":{"base64":"%"},"s":""}`, `found an object, expected a string of hex digits, two per byte, for opaque<5>`},
		{"bytes", `{"fix":"000000","var":{"hex":"00","text":"a"},"s":""}`, `found an object, expected a string of hex digits`},
		{"bytes", `{"fix":"000000","var":"","s":{"bytes":"a"}}`, `expected a string, or {"hex": "..."}, for string<8>`},
		{"bytes", `{"fix":"000000","vat":"","s":""}`, `field var of bytes is missing`},
		{"bytes", `{"fix":"000000","var":"","s":"","ss":""}`, `found "ss", expected a field of bytes`},
		{"bytes", `{"fix":"000000","fix":"000000"}`, `offset 16: found the key "fix" twice in one object`},
		{"bytes", `[]`, `found an array, expected an object for bytes`},
		{"arrays", `{"two":[1],"any":[],"most":[],"none":[]}`, `two: offset 7: found 1 elements, expected 2`},
		{"arrays", `{"two":[1,2],"any":{},"most":[],"none":[]}`, `any: offset 19: found an object, expected an array for color<>`},
		{"arrays", `{"two":[1,2],"any":[],"most":[1,2,3],"none":[]}`, `most: offset 29: found 3 elements, expected at most 2`},
		{"node", `[]`, `found an empty list, expected at least one element`},
		{"optopt", `3`, `expected null or {"value": ...} for optopt`},
		{"tree", `{"v":1,"left":null}`, `field right of tree is missing (RFC 8259, and the JSON form in xdrgen help json); write null if it is absent`},
		{"u", `{"discriminant":"BLACK"}`, `found discriminant BLACK (-1), for which union u has no arm`},
		{"u", `{"discriminant":"RED","arm":1}`, `offset 28: found an arm, but the discriminant RED (0) selects void`},
		{"u", `{"discriminant":"GREEN"}`, `found no arm, expected n of type int for discriminant GREEN (7)`},
		{"u", `{"discriminant":"GREEN","arn":1}`, `did you mean arm?`},
		{"u", `{"arm":1}`, `expected {"discriminant": ..., "arm": ...} for u`},
		{"u", `{"discriminant":"RED"} 1`, `offset 23: found "1" after the value, expected the end`},
		{"u", `{"discriminant":"RED"`, `found the end of the text within a value`},
		{"u", ``, `found the end of the text within a value`},
		{"u", `{]`, `found ']', expected a key in quotes`},
		{"bytes", "{\"fix\":\"\xff\"}", `offset 8: found byte 0xff, expected UTF-8`},
		{"bytes", `{"fix":"000000","var":"","s":"\ud83d"}`, `offset 29: found half of a surrogate pair in a string`},
		{"u", strings.Repeat("[", 20000), `nested deeper than 10000`},
	} {
		root, err := ParseJSON([]byte(c.json), mustType(t, u, c.typ), "", Limits{})
		if err == nil {
			_, err = Encode(root)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.200s:\n got %v\nwant %s", c.typ, c.json, err, c.want)
		}
	}
	if _, err := ParseJSON([]byte(`{"v":1}`), mustType(t, u, "u"), "value", Limits{}); err == nil || !strings.Contains(err.Error(), `expected an object with the key "value"`) {
		t.Error(err)
	}
	root, err := ParseJSON([]byte(`{"value": "\ud83d\ude00\\ud83d"}`), &ir.Type{Kind: ir.String}, "value", Limits{})
	if err != nil || string(root.Bytes) != `😀\ud83d` {
		t.Errorf("%v %v", root, err)
	}
}

func TestTypesAreFoundByName(t *testing.T) {
	u := sampleUnit(t)
	for name, want := range map[string]string{
		"nothing":       "type nothing is not declared",
		"P":             "P is a program, not a type",
		"P.V":           "the name of the procedure is missing",
		"P.V.ADD":       "P.V.ADD is a procedure, not a type",
		"P.V.ADD.reply": "found \"reply\" after P.V.ADD",
		"P.V.SUB.args":  "version P.V has no procedure SUB",
		"P.W.ADD.args":  "program P has no version W",
		"Q.V.ADD.args":  "program Q is not declared",
	} {
		if _, err := Find(u, name); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range Names(u) {
		mustType(t, u, name)
	}
	if n := len(Names(u)); n != 15+3*2 {
		t.Errorf("%d names", n)
	}
}

// TestByteForms parses opaque data and strings in all forms.
func TestByteForms(t *testing.T) {
	u := sampleUnit(t)
	bytes, err := Find(u, "bytes")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`{"fix":"616263","var":"6465","s":"fg"}`,
		`{"fix":{"text":"abc"},"var":{"base64":"ZGU="},"s":{"hex":"6667"}}`,
		`{"fix":{"base64":"YWJj"},"var":{"hex":"6465"},"s":{"text":"fg"}}`,
	} {
		v, err := ParseJSON([]byte(text), bytes, "", Limits{Values: 100})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Encode(v)
		if want := "abc\x00\x00\x00\x00\x02de\x00\x00\x00\x00\x00\x02fg\x00\x00"; err != nil || string(got) != want {
			t.Errorf("%s: %q %v, expected %q", text, got, err, want)
		}
	}
}
