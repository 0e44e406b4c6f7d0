package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/internal/growth"
)

func TestFaultsNameTheirPlace(t *testing.T) {
	for _, c := range []struct {
		text   string
		offset int
		want   string
	}{
		{"", 0, "found the end of the text within a value"},
		{" \n", 2, "found the end of the text within a value"},
		{"[", 1, "found the end of the text within a value"},
		{"[1", 2, "found the end of the text within a value"},
		{`{"a"`, 4, "found the end of the text within a value"},
		{`{"a":`, 5, "found the end of the text within a value"},
		{`{"a":1,`, 7, "found the end of the text within a value"},
		{`"a`, 2, "found the end of the text within a value"},
		{`"a\`, 3, "found the end of the text within a value"},
		{`"a\u12`, 6, "found the end of the text within a value"},
		{"tru", 3, "found the end of the text within a value"},
		{"-", 1, "found the end of the text within a value"},
		{"1.", 2, "found the end of the text within a value"},
		{"1e+", 3, "found the end of the text within a value"},
		{"trUe", 0, "found 't', expected a value"},
		{"NaN", 0, "found 'N', expected a value"},
		{"'a'", 0, `found '\'', expected a value`},
		{"[1,]", 3, "found ']', expected a value"},
		{"[1 2]", 3, "found '2', expected a comma or ]"},
		{"[1}", 2, "found '}', expected a comma or ]"},
		{`{"a":1]`, 6, "found ']', expected a comma or }"},
		{`{"a":1,}`, 7, "found '}', expected a key in quotes"},
		{"{1:2}", 1, "found '1', expected a key in quotes"},
		{`{"a" 1}`, 5, "found '1', expected a colon after the key"},
		{"1 2", 2, `found "2" after the value, expected the end`},
		{"[] ]", 3, `found "]" after the value, expected the end`},
		{"01", 1, `found "1" after the value, expected the end`},
		{"-a", 1, "found 'a', expected a digit"},
		{"1.e", 2, "found 'e', expected a digit"},
		{"1ex", 2, "found 'x', expected a digit"},
		{"\"a\tb\"", 2, "found control character 0x09 in a string, expected an escape"},
		{`"\x41"`, 1, `found escape "\\x" in a string, expected one of RFC 8259 §7`},
		{`"\u12x4"`, 1, `found escape "\\u12x4" in a string, expected four hex digits`},
		{`"\u+123"`, 1, `found escape "\\u+123" in a string, expected four hex digits`},
		{`"\ud800"`, 0, "found half of a surrogate pair in a string, expected both halves"},
		{`"\ud800a"`, 0, "found half of a surrogate pair in a string, expected both halves"},
		{`"\ud800\n"`, 0, "found half of a surrogate pair in a string, expected both halves"},
		{`"\ud800\ud800"`, 0, "found half of a surrogate pair in a string, expected both halves"},
		{`["\udc00"]`, 1, "found half of a surrogate pair in a string, expected both halves"},
		{"\"a\xff\"", 2, "found byte 0xff, expected UTF-8"},
		{"\"a\xe2\x80\"", 2, "found byte 0xe2, expected UTF-8"},
		{"\xff", 0, "found byte 0xff, expected UTF-8"},
		{"\ufeff1", 0, `found '\ufeff', expected a value`},
		{strings.Repeat("[", MaxDepth+1), MaxDepth, "found a value nested deeper than 10000, expected at most that"},
	} {
		_, err := NewReader([]byte(c.text))
		if err == nil || err.Offset != c.offset || err.Message != c.want {
			t.Errorf("%.20q: got %v, want offset %d, %s", c.text, err, c.offset, c.want)
		}
	}
	if _, err := NewReader([]byte(strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth))); err != nil {
		t.Errorf("largest depth: %v", err)
	}
}

// walk reads a value into the form in which encoding/json holds it. It skips every third value
// first, returns, and checks that both ways lead to the same place.
func walk(t *testing.T, r *Reader, n *int) any {
	if *n++; *n%3 == 0 {
		before := r.Place()
		r.Skip()
		after := r.Place()
		r.Return(before)
		defer func() {
			if r.Place() != after {
				t.Errorf("at %d after reading, %d after Skip", r.Offset(), after.off)
			}
		}()
	}
	switch r.Kind() {
	case Object:
		m := map[string]any{}
		for r.Open(); r.More(); {
			k := string(r.Key())
			m[k] = walk(t, r, n)
		}
		return m
	case Array:
		s := []any{}
		for r.Open(); r.More(); {
			s = append(s, walk(t, r, n))
		}
		return s
	case String:
		return string(r.Text())
	case Number:
		return json.Number(r.Literal())
	case Null:
		r.Literal()
		return nil
	}
	return string(r.Literal()) == "true"
}

// FuzzReader compares the Reader with encoding/json: both refuse the same texts, except for the
// faults that encoding/json repairs, and read the same values from the others.
func FuzzReader(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-2.5e+3,0,true,false,null],"b":{},"c":[[],[{}]]}`, ` [ "x" , "" ] `, `"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é😀"`,
		`{"a":1,"a":{"b":[2]}}`, `-0`, `1e5`, `[1,2`, "[\n\t1,\r\n2]", `"\ud83d"`, "\"\xff\"", `{"":0}`, `01`, `[,]`, `tr`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, fault := NewReader(text)
		if fault != nil {
			if fault.Offset < 0 || fault.Offset > len(text) || fault.Message == "" {
				t.Fatalf("%#v", fault)
			}
			repaired := !utf8.Valid(text) || strings.Contains(fault.Message, "surrogate")
			if json.Valid(text) && !repaired {
				t.Fatalf("%q: %v, but encoding/json accepts it", text, fault)
			}
			return
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("%q: accepted, but encoding/json: %v", text, err)
		}
		n := 0
		got := walk(t, r, &n)
		a, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Fatalf("%q: got %s, want %s", text, a, b)
		}
	})
}

// FuzzAppendString compares AppendString with encoding/json.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "a", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "é😀\u2028\u2029\u2027\u202a", "<>&"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		if !utf8.Valid(s) {
			return
		}
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		if err := e.Encode(string(s)); err != nil {
			t.Fatal(err)
		}
		got := AppendString([]byte("x"), s)
		if string(got)+"\n" != "x"+out.String() {
			t.Fatalf("got %s, want %s", got[1:], out.Bytes())
		}
		r, err := NewReader(got[1:])
		if err != nil || !bytes.Equal(r.Text(), s) {
			t.Fatalf("%s does not lead back to %q: %v", got[1:], s, err)
		}
	})
}

// Texts of a peer have no character that a terminal obeys, and keep their value (RFC 8259 §7).
func TestTextsOfAPeerArePrintable(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"é 😀 \u3000\": [1,\t2]\r\n}":  "{\n  \"é 😀 \u3000\": [1,\t2]\r\n}",
		"\"a\x7f\u009b31mred\u009b0m\"":      `"a\u007f\u009b31mred\u009b0m"`,
		"\"\u202eevil\u2066\u200b\ufeff\"":   `"\u202eevil\u2066\u200b\ufeff"`,
		"\"tag \U000e0041, private \ue000\"": `"tag \udb40\udc41, private \ue000"`,
		"\"\u2028\\n\"":                      `"\u2028\n"`,
	} {
		got := Printable([]byte(text))
		if string(got) != want {
			t.Errorf("%+q: got %+q, want %+q", text, got, want)
		}
		var before, after any
		if err := errors.Join(json.Unmarshal([]byte(text), &before), json.Unmarshal(got, &after)); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%+q: %v, another value: %v", text, err, after)
		}
	}
}

func TestPositionHasLineAndColumn(t *testing.T) {
	text := []byte("ab\né😀x\n")
	for off, want := range map[int][2]int{0: {1, 1}, 2: {1, 3}, 3: {2, 1}, 5: {2, 2}, 9: {2, 3}, 11: {3, 1}, 99: {3, 1}} {
		if line, column := Position(text, off); line != want[0] || column != want[1] {
			t.Errorf("offset %d: line %d, column %d, want %v", off, line, column, want)
		}
	}
}

func TestDescribeNamesEachValue(t *testing.T) {
	long := strings.Repeat("é", 40)
	r, err := NewReader([]byte(`[{}, [], "a\n", -1.5, true, null, "` + long + `"]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"an object", "an array", `string "a\n"`, "number -1.5", "true", "null", `string "` + long[:60] + `..."`}
	r.Open()
	for i := 0; r.More(); i++ {
		if got := r.What(); got != want[i] {
			t.Errorf("got %s, want %s", got, want[i])
		}
		r.Skip()
	}
}

// The work is linear where each level of a nesting is skipped before it is read.
func TestWorkIsLinearInTheNesting(t *testing.T) {
	_, err := growth.Linear(1000, func(n int) func() int {
		one := strings.Repeat(`{"a":[`, 1000) + strings.Repeat(`]}`, 1000)
		text := []byte("[" + strings.Repeat(one+",", n/50) + "0]")
		return func() int {
			r, err := NewReader(text)
			if err != nil {
				t.Fatal(err)
			}
			return skipping(r)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// skipping skips every value, and then reads it. It returns the number of values.
func skipping(r *Reader) int {
	before := r.Place()
	r.Skip()
	r.Return(before)
	n := 1
	switch k := r.Kind(); k {
	case Object, Array:
		for r.Open(); r.More(); {
			if k == Object {
				r.Key()
			}
			n += skipping(r)
		}
	default:
		r.Skip()
	}
	return n
}
