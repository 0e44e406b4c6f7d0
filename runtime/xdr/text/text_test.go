package text

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

type stat int32

func (s stat) String() string {
	if s == 0 {
		return "OK"
	}
	return "stat(?)"
}

type optional[T any] struct {
	Value   T
	Present bool `xdr:",presence"`
}

type reply struct {
	Status stat            `xdr:"status,switch,case=2"`
	Data   []byte          `xdr:"data,case=0"`
	Large  *all            `xdr:"large,case=3,pointer"`
	Next   *reply          `xdr:"next,case=4"`
	Late   optional[int32] `xdr:"late,default"`
}

type flag struct {
	On   bool   `xdr:"on,switch,case=0"`
	Text []byte `xdr:"text,case=1,string"`
}

type kind struct {
	Kind uint32 `xdr:"kind,switch,case=4294967295"`
	A    int32  `xdr:"a,case=1"`
}

type name []byte

func (n name) String() string { panic("the text is of no use in a list of 1 GB") }

type all struct {
	Yes     bool                       `xdr:"yes"`
	Int     int32                      `xdr:"int"`
	Hyper   int64                      `xdr:"hyper"`
	Uhyper  uint64                     `xdr:"uhyper"`
	Float   float32                    `xdr:"float"`
	Double  float64                    `xdr:"double"`
	Quad    [16]byte                   `xdr:"quad"`
	Names   []name                     `xdr:"names,string"`
	Pairs   [2][]uint32                `xdr:"pairs"`
	Maybe   optional[optional[[]byte]] `xdr:"maybe"`
	Pointer **int32                    `xdr:"pointer"`
	Untold  struct {
		A struct{}
		b int8
	}
}

// pointerTo is a typedef of a pointer.
type pointerTo struct {
	Value *int32 `xdr:"number,whole"`
}

func TestString(t *testing.T) {
	seven := int32(7)
	at := &seven
	for _, c := range []struct {
		v    any
		tag  string
		want string
	}{
		{&reply{Data: []byte("hello"), Large: &all{}}, "reply", "reply{status: OK, data: 5 bytes 68656c6c6f}"},
		{&reply{Status: 2, Data: []byte("stale")}, "reply", "reply{status: stat(?)}"},
		{&reply{Status: 3}, "reply", "reply{status: stat(?), large: nil}"},
		{&reply{Status: 4, Next: &reply{Status: 4}}, "reply", "reply{status: stat(?), next: {status: stat(?), next: absent}}"},
		{&reply{Status: 9}, "reply", "reply{status: stat(?), late: absent}"},
		{&reply{Status: -9, Late: optional[int32]{5, true}}, "reply", "reply{status: stat(?), late: 5}"},
		{&flag{Text: []byte("x")}, "flag", "flag{on: false}"},
		{&flag{On: true, Text: []byte("a\n\"\xff")}, "flag", `flag{on: true, text: "a\n\"\xff"}`},
		{&kind{Kind: math.MaxUint32, A: 3}, "kind", "kind{kind: 4294967295}"},
		{&kind{Kind: 1, A: 3}, "kind", "kind{kind: 1, a: 3}"},
		{&kind{Kind: 2, A: 3}, "kind", "kind{kind: 2}"},
		{&all{
			Yes: true, Int: -1, Hyper: math.MinInt64, Uhyper: math.MaxUint64, Float: 0.1, Double: math.Inf(-1),
			Names: []name{nil, name("né")}, Pairs: [2][]uint32{{1}, nil}, Maybe: optional[optional[[]byte]]{Present: true}, Pointer: &at,
		}, "all", `all{yes: true, int: -1, hyper: -9223372036854775808, uhyper: 18446744073709551615, float: 0.1, double: -Inf, ` +
			`quad: 16 bytes 00000000000000000000000000000000, names: ["", "né"], pairs: [[1], []], maybe: absent, pointer: 7, Untold: {A: {}, b: 0}}`},
		{&[]byte{}, "opaque", "0 bytes"},
		{&name{'a'}, "name", "1 bytes 61"},
		{&[]name{name("a")}, "names,string", `["a"]`},
		{&[]int64{1, 2, 3, 4, 5, 6, 7, 8}, "list", "[1, 2, 3, 4, 5, 6, 7, 8]"},
		{&[]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, "list", "[1, 2, 3, 4, 5, 6, 7, 8, 2 more]"},
		{&optional[bool]{true, true}, "maybe", "true"},
		{&pointerTo{}, "number", "absent"},
		{&pointerTo{at}, "number", "7"},
		{(*reply)(nil), "reply", "<nil>"},
		{nil, "reply", "<nil>"},
		{reply{}, "reply", "reply{status: OK, data: 0 bytes}"},
	} {
		if got := String(c.v, c.tag); got != c.want {
			t.Errorf("%T:\ngot  %s\nwant %s", c.v, got, c.want)
		}
	}
}

// TestCut prints data around the limits.
func TestCut(t *testing.T) {
	long := strings.Repeat("0123456789", 13)
	for _, c := range []struct {
		v    []byte
		text bool
		want string
	}{
		{[]byte(long[:32]), false, "32 bytes " + strings.Repeat("30313233343536373839", 3) + "3031"},
		{[]byte(long[:33]), false, "33 bytes " + strings.Repeat("30313233343536373839", 3) + "3031.."},
		{[]byte(long[:128]), true, `"` + long[:128] + `"`},
		{[]byte(long[:129]), true, `129 bytes "` + long[:128] + `.."`},
		{[]byte(long[:127] + "ß"), true, `129 bytes "` + long[:127] + `.."`},
		{[]byte(long[:126] + "ßx"), true, `129 bytes "` + long[:126] + `ß.."`},
		{[]byte(long[:127] + "\xff\xff"), true, `129 bytes "` + long[:127] + `\xff.."`},
	} {
		tag := "v"
		if c.text {
			tag += ",string"
		}
		if got := String(&c.v, tag); got != c.want {
			t.Errorf("%d bytes:\ngot  %s\nwant %s", len(c.v), got, c.want)
		}
	}
}

type node struct {
	Next *node           `xdr:"next"`
	All  []node          `xdr:"all"`
	Data []byte          `xdr:"data,string"`
	Some optional[*node] `xdr:"some"`
}

type pointer *pointer

type nested []nested

// endless are values that contain themselves, and large ones.
func endless() map[string]any {
	ring := &node{}
	ring.Next, ring.Some.Value, ring.Some.Present = ring, ring, true
	ring.All = []node{*ring, *ring}
	var p pointer
	p = &p
	n := make(nested, 9)
	for i := range n {
		n[i] = n
	}
	deep := &node{}
	for range 10_000 {
		deep = &node{Next: deep}
	}
	bell := &node{Data: make([]byte, 1<<20)}
	for range 40 {
		bell = &node{All: []node{*bell, *bell, *bell, *bell}}
	}
	var untyped any
	untyped = &untyped
	return map[string]any{
		"ring": ring, "pointer": &p, "slices": &n, "deep": deep, "40 levels of lists of 4": bell,
		"1 GB": &node{Data: make([]byte, 1<<30)}, "empty elements": &[][]struct{}{make([]struct{}, math.MaxInt)},
		"array": new([1 << 12][64]int64), "interface": untyped,
	}
}

// TestBounded prints endless values. Output and memory must be bounded.
func TestBounded(t *testing.T) {
	for what, v := range endless() {
		t.Run(what, func(t *testing.T) {
			s := String(v, "node")
			if len(s) > maxText || !utf8.ValidString(s) {
				t.Errorf("%d bytes", len(s))
			}
			if grown := testing.AllocsPerRun(1, func() { String(v, "node") }); grown > 64 {
				t.Errorf("%v allocations", grown)
			}
		})
	}
	if s := String(endless()["ring"], "node"); len(s) != maxText || !strings.HasSuffix(s, cut) {
		t.Errorf("a ring is cut after %d bytes: %s", len(s), s[len(s)-8:])
	}
}

func TestAllocations(t *testing.T) {
	v := &all{Names: []name{name("a"), name("b")}, Pairs: [2][]uint32{{1000}, {2000}}}
	if n := testing.AllocsPerRun(100, func() { String(v, "all") }); n > 1 {
		t.Errorf("%v allocations, want 1: the text", n)
	}
	r := &reply{Data: []byte("hello")}
	if n := testing.AllocsPerRun(100, func() { String(r, "reply") }); n > 1 {
		t.Errorf("%v allocations, want 1: the text", n)
	}
}
