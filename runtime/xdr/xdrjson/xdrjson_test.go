package xdrjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/internal/growth"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/xdrjson"
)

// Attr is a generated type with the methods of gen -with json.
type Attr struct{ nfs3.LookupArgs }

func (a Attr) MarshalJSON() ([]byte, error) { return xdrjson.Marshal(&a.LookupArgs, "LOOKUP3args") }
func (a *Attr) UnmarshalJSON(data []byte) error {
	return xdrjson.Unmarshal(data, &a.LookupArgs, "LOOKUP3args")
}

func lookup(name string) Attr {
	return Attr{nfs3.LookupArgs{What: nfs3.DirOpArgs{Dir: nfs3.Handle{Data: []byte{1, 2}}, Name: nfs3.Filename(name)}}}
}

// TestWithin uses a generated type within encoding/json: in a struct, a map, a slice, an interface
// and a stream.
func TestWithin(t *testing.T) {
	type user struct {
		One   Attr            `json:"one"`
		Ptr   *Attr           `json:"ptr"`
		None  *Attr           `json:"none"`
		Many  []Attr          `json:"many"`
		Named map[string]Attr `json:"named"`
		Any   any             `json:"any"`
	}
	a := lookup("a<b>\u2028")
	in := user{One: a, Ptr: &a, Many: []Attr{a, lookup("")}, Named: map[string]Attr{"x": a}, Any: a}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), `"name":"a\u003cb\u003e\u2028"`); n != 5 {
		t.Errorf("%d values are in the form of XDR, want 5: %s", n, text)
	}
	stream := bytes.NewReader(append(text, text...))
	dec := json.NewDecoder(stream)
	for range 2 {
		var out user
		if err := dec.Decode(&out); err != nil {
			t.Fatal(err)
		}
		if string(out.Named["x"].What.Name) != "a<b>\u2028" || out.None != nil || len(out.Many) != 2 || string(out.Ptr.What.Dir.Data) != "\x01\x02" {
			t.Errorf("%+v", out)
		}
	}

	// Line and column count from the start of the generated type's value.
	var fault *xdrjson.Error
	err = json.Unmarshal([]byte("{\n\n\"one\": {\n \"what\": 1}}"), new(user))
	if !errors.As(err, &fault) || fault.Line != 2 || fault.Column != 10 || fault.Path != "what" {
		t.Errorf("%v", err)
	}
}

// TestForms checks forms that few interfaces use.
func TestForms(t *testing.T) {
	in := tree{
		Float: math.Float32frombits(0x7f800001), Double: math.Copysign(0, -1),
		Next:  &tree{Float: float32(math.Inf(-1)), Double: math.MaxFloat64},
		Maybe: xdr.Some(xdr.Optional[bool]{}),
		Words: []xdr.String{xdr.String("a\"\n"), {0xff}, nil},
		Pair:  [2]int64{math.MinInt64, math.MaxInt64},
		Choice: choice{Big: true, Tree: &tree{
			Float: math.Float32frombits(0x7fc00000), Double: math.NaN(), Maybe: xdr.Some(xdr.Some(true)),
		}},
	}
	want := `{"f":"NaN:7f800001","d":-0,` +
		`"next":` + strings.Replace(with("d", "1.7976931348623157e+308"), `"f":0`, `"f":"-Infinity"`, 1) + `,` +
		`"maybe":{"value":null},"words":[{"word":"a\"\n"},{"word":{"hex":"ff"}},{"word":""}],` +
		`"pair":["-9223372036854775808","9223372036854775807"],"kids":[],"choice":{"discriminant":true,"arm":` +
		strings.NewReplacer(`"f":0`, `"f":"NaN"`, `"d":0`, `"d":"NaN:7ff8000000000001"`, `"maybe":null`, `"maybe":{"value":true}`).Replace(plain) + `}}`
	got, err := xdrjson.Marshal(&in, "")
	if err != nil || string(got) != want {
		t.Fatalf("%v\n got %s\nwant %s", err, got, want)
	}
	out := tree{Kids: []tree{{}}, Maybe: xdr.Some(xdr.Some(true))} // a used value
	if err := xdrjson.Unmarshal(got, &out, ""); err != nil {
		t.Fatal(err)
	}
	if again, err := xdrjson.Marshal(&out, ""); err != nil || !bytes.Equal(again, got) {
		t.Errorf("%v\n got %s\nwant %s", err, again, got)
	}
	for i := range got {
		got[i] = 'x'
	}
	if string(out.Words[0]) != "a\"\n" {
		t.Error("the value refers to the text")
	}
}

// TestOptionalText checks that the tag of a typedef of optional data counts.
func TestOptionalText(t *testing.T) {
	for tag, want := range map[string]string{"maybe,string": `"hi"`, "maybe": `"6869"`} {
		v := maybe{Value: []byte("hi"), Present: true}
		text, err := xdrjson.Marshal(&v, tag)
		if err != nil || string(text) != want {
			t.Errorf("%s: got %s, %v, want %s", tag, text, err, want)
		}
		var w maybe
		if err := xdrjson.Unmarshal(text, &w, tag); err != nil || string(w.Value) != "hi" {
			t.Errorf("%s: got %q, %v", tag, w.Value, err)
		}
	}
}

// TestInvalidValues checks that Marshal ends, with an error, for values that have no encoding.
func TestInvalidValues(t *testing.T) {
	cycle := &tree{Kids: make([]tree, 2)}
	cycle.Kids[1].Next = cycle
	array := &tree{Kids: make([]tree, 1)}
	array.Kids[0].Kids = array.Kids
	// The value before the cycle is invalid, too: its encoder must not be asked.
	both := &tree{Choice: choice{Big: true}}
	both.Next = &tree{Choice: choice{Big: true}, Next: both}
	bad := lookup("")
	bad.What.Dir.Data = make([]byte, 65)
	for _, c := range []struct {
		v    xdrjson.Value
		want string
	}{
		{cycle, "xdrjson: xdrjson_test.tree: found a value nested deeper than 10000 in JSON, or a cycle of pointers, expected at most that (xdrgen help json)"},
		{array, "a cycle of pointers"},
		{both, "a cycle of pointers"},
		{&tree{Choice: choice{Big: true}}, "xdr: test.tree.Choice.Tree: offset 0: a value is required, found a nil pointer"},
		{&tree{Kids: make([]tree, 4)}, "xdr: test.tree.Kids: offset 0: length 4 is over its bound 3 (RFC 4506 §4.10)"},
		{&bad, "xdr: nfs3.LookupArgs.What.Dir.Data: offset 0: length 65 is over its bound 64"},
		{&nfs3.ReadRes{Status: 3}, "xdr: nfs3.ReadRes.Status: offset 0: 3 is not a value of the enum"},
		{&nfs3.SetAttr{Atime: nfs3.SetAtime{SetIt: 7}}, "7 is not a value of the enum"},
	} {
		text, err := xdrjson.Marshal(c.v, "")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.100s, %v; want %s", text, err, c.want)
		}
	}
}

// TestTruncated reads every prefix of a text.
func TestTruncated(t *testing.T) {
	text := []byte(with("kids", "["+with("words", `[{"word":"a\n\ud83d\ude00é"}]`)+"]"))
	for n := range text {
		err := xdrjson.Unmarshal(text[:n], new(tree), "")
		var fault *xdrjson.Error
		if !errors.As(err, &fault) || fault.Offset > n {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	if err := xdrjson.Unmarshal(text, new(tree), ""); err != nil {
		t.Error(err)
	}
}

// TestHostileMemory checks that memory follows the bytes of the input.
func TestHostileMemory(t *testing.T) {
	const n = 1 << 16
	for name, text := range map[string]string{
		"brackets":  strings.Repeat("[", n),
		"elements":  `{"entries":[` + strings.Repeat(`{},`, n/3),
		"objects":   `{"entries":[` + strings.Repeat(`{},`, n/3) + `{}],"eof":true}`,
		"keys":      `{"entries":[{` + strings.Repeat(`"a":[],`, n/7) + `"b":0}],"eof":true}`,
		"number":    `{"entries":[],"eof":` + strings.Repeat("9", n) + `}`,
		"huge size": `{"entries":1e308,"eof":true}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := xdrjson.Unmarshal([]byte(text), new(nfs3.DirList), "")
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; err == nil || used > 64*uint64(len(text))+1<<16 {
			t.Errorf("%s: %d bytes for %d, %.100v", name, used, len(text), err)
		}
	}
}

// TestGrowth checks that the cost grows with the input: of lists, of long strings, of unions whose
// arm comes before the discriminant at every level, and of a fault at the end.
func TestGrowth(t *testing.T) {
	arms := func(depth int) string {
		open := strings.Replace(plain, `{"discriminant":false}`, `{"arm":`, 1)
		open = strings.TrimSuffix(open, "}")
		return strings.Repeat(open, depth) + plain + strings.Repeat(`,"discriminant":true}}`, depth)
	}
	for name, text := range map[string]func(n int) string{
		"list": func(n int) string {
			return with("words", "["+strings.Repeat(`{"word":"abc"},`, n)+`{"word":""}]`)
		},
		"string": func(n int) string { return with("words", `[{"word":"`+strings.Repeat(`a\n`, 8*n)+`"}]`) },
		"next": func(n int) string {
			return strings.Repeat(strings.SplitAfter(plain, `"next":`)[0], n/40) + plain + strings.Repeat(strings.SplitAfter(plain, `"next":null`)[1], n/40)
		},
		"arms":  func(n int) string { return arms(n / 40) },
		"fault": func(n int) string { return with("words", "["+strings.Repeat(`{"word":"abc"},`, n)+`{"word":0}]`) },
	} {
		_, err := growth.Linear(20000, func(n int) func() int {
			in := []byte(text(n))
			return func() int {
				var v tree
				err := xdrjson.Unmarshal(in, &v, "")
				if (err == nil) == (name == "fault") {
					t.Fatalf("%s: %v", name, err)
				}
				out, err := xdrjson.Marshal(&v, "")
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				return len(out)
			}
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzUnmarshal reads any text. A text that is accepted has a form to which it leads again.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(plain))
	for _, s := range []string{
		with("kids", "["+plain+","+plain+"]"), with("words", `[{"word":"é\ud83d\ude00"},{"word":{"base64":"AAA="}}]`),
		with("f", `"NaN:7fc00001"`), with("maybe", `{"value":{}}`), with("pair", `[1,"-2"]`), with("choice", `{"arm":`+plain+`,"discriminant":true}`),
		with("next", "{}"), `{`, `[[[`, with("d", "1e-400"),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var v tree
		if err := xdrjson.Unmarshal(text, &v, ""); err != nil {
			var fault *xdrjson.Error
			if !errors.As(err, &fault) || fault.Line < 1 || fault.Column < 1 || fault.Offset > len(text) || fault.Message == "" {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		out, err := xdrjson.Marshal(&v, "")
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var w tree
		if err := xdrjson.Unmarshal(out, &w, ""); err != nil {
			t.Fatalf("%q: %s: %v", text, out, err)
		}
		if again, err := xdrjson.Marshal(&w, ""); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%s, then %s, %v", out, again, err)
		}
	})
}

// TestTypedefOfAPointer converts the struct for a typedef of a pointer: it has the pointer's JSON,
// and errors have the place in it.
func TestTypedefOfAPointer(t *testing.T) {
	var r root
	if text, err := xdrjson.Marshal(&r, "root"); err != nil || string(text) != "null" {
		t.Errorf("absent: %s, %v", text, err)
	}
	r.Value = &tree{Pair: [2]int64{1, 2}}
	inner, err := xdrjson.Marshal(r.Value, "")
	if err != nil {
		t.Fatal(err)
	}
	text, err := xdrjson.Marshal(&r, "")
	if err != nil || !bytes.Equal(text, inner) {
		t.Errorf("got %s, %v, want %s", text, err, inner)
	}
	var back root
	if err := xdrjson.Unmarshal(text, &back, "root"); err != nil || back.Value == nil || back.Value.Pair != r.Value.Pair {
		t.Errorf("got %+v, %v", back.Value, err)
	}
	if err := xdrjson.Unmarshal([]byte("null"), &back, "root"); err != nil || back.Value != nil {
		t.Errorf("null: got %+v, %v", back.Value, err)
	}
	r.Value.Kids = make([]tree, 2)
	text, _ = xdrjson.Marshal(&r, "")
	four := bytes.Replace(text, []byte(`"kids":[`), []byte(`"kids":[`+string(inner)+","+string(inner)+","), 1)
	var fault *xdrjson.Error
	if err := xdrjson.Unmarshal(four, &back, "root"); !errors.As(err, &fault) || fault.Path != "kids" {
		t.Errorf("too many kids: %v", err)
	}
}
