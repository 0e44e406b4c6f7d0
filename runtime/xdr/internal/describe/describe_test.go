package describe

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for tag, want := range map[string]Tag{
		"":                             {},
		"a":                            {Name: "a"},
		",presence":                    {Presence: true},
		"a,string":                     {Name: "a", Text: true},
		"t,whole":                      {Name: "t", Whole: true},
		"s,switch,case=-1,default":     {Name: "s", Switch: true, Cases: []int64{-1}, Default: true},
		"x,case=4294967295,pointer":    {Name: "x", Cases: []int64{4294967295}, Pointer: true},
		"l,node=0:a,node=2:b,string":   {Name: "l", Text: true, Nodes: []Node{{0, "a"}, {2, "b"}}},
		"a,later,case=,case=x,node=":   {Name: "a"},
		"a,,case=99999999999999999999": {Name: "a"},
	} {
		if diff := cmp.Diff(want, Parse(tag)); diff != "" {
			t.Errorf("%q: %s", tag, diff)
		}
	}
	tag := Parse("l,node=0:a,node=2:b")
	for level, want := range []string{"a", "", "b", ""} {
		if got := tag.Node(level); got != want {
			t.Errorf("node at level %d: %q, want %q", level, got, want)
		}
	}
}

type union struct {
	Status int32  `xdr:"status,switch,case=7"`
	Ok     string `xdr:"ok,case=0,case=-5"`
	Other  string `xdr:"other,default"`
}

type closed struct {
	Kind uint32 `xdr:"kind,switch,case=1"`
	A    uint32 `xdr:"a,case=4294967295"`
}

type optional[T any] struct {
	Value   T
	Present bool `xdr:",presence"`
}

type presence struct {
	Value    int32 `xdr:"value"`
	Presence bool  `xdr:"presence"`
}

func TestStruct(t *testing.T) {
	u := Of(reflect.TypeFor[union]())
	if u.Switch != 0 || u.Optional {
		t.Errorf("union: %+v", u)
	}
	c := Of(reflect.TypeFor[closed]())
	for _, x := range []struct {
		s     *Struct
		disc  int64
		field int
		ok    bool
	}{
		{u, 0, 1, true},
		{u, -5, 1, true},
		{u, 7, void, true},
		{u, 8, 2, true},
		{u, -1 << 63, 2, true},
		{c, 1, void, true},
		{c, 1<<32 - 1, 1, true},
		{c, 0, none, false},
		{c, -1, none, false},
	} {
		if field, ok := x.s.Arm(x.disc); field != x.field || ok != x.ok {
			t.Errorf("arm for %d: %d, %v, want %d, %v", x.disc, field, ok, x.field, x.ok)
		}
	}
	if s := Of(reflect.TypeFor[optional[int32]]()); !s.Optional || s.Switch != -1 {
		t.Errorf("optional: %+v", s)
	}
	if s := Of(reflect.TypeFor[presence]()); s.Optional || s.Fields[1].Name != "presence" {
		t.Errorf("a field of the name presence: %+v", s)
	}
	if s := Of(reflect.TypeFor[struct{ A, B int32 }]()); s.Fields[1].Name != "B" || s.Switch != -1 {
		t.Errorf("a struct without tags: %+v", s)
	}
	if Of(reflect.TypeFor[union]()) != u {
		t.Error("a type is read twice")
	}
}

// FuzzTag reads any text as a tag.
func FuzzTag(f *testing.F) {
	f.Add("status,switch,case=7,default,pointer,string,node=1:name,presence")
	f.Fuzz(func(t *testing.T, text string) {
		tag := Parse(text)
		if tag.Nodes != nil && tag.Node(tag.Nodes[0].Level) != tag.Nodes[0].Name {
			t.Errorf("%q: the first node is not found", text)
		}
	})
}

// TestOneFieldStandsForTheWhole reads structs whose field has the word whole: with a second field,
// it is a struct like all others.
func TestOneFieldStandsForTheWhole(t *testing.T) {
	type whole struct {
		Value *int32 `xdr:"t,whole"`
	}
	type two struct {
		Value *int32 `xdr:"t,whole"`
		More  bool
	}
	if !Of(reflect.TypeFor[whole]()).Whole || Of(reflect.TypeFor[two]()).Whole || Of(reflect.TypeFor[union]()).Whole {
		t.Error("only the struct with one field is its field")
	}
}
