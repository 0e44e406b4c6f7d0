package sema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/growth"
)

// TestTypesWithoutAnEndAreRefused checks that types that contain themselves are refused if they
// have no finite value (RFC 4506 §4.19), and that each circle is reported once.
func TestTypesWithoutAnEndAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"an arm ends it": {`
union stringlist switch (bool opted) {
case TRUE: struct { string item<>; stringlist next; } element;
case FALSE: void;
};`, nil},
		"an arm with data ends it":    {"union u switch (int d) { case 1: u more; case 2: int n; };", nil},
		"the default ends it":         {"union u switch (int d) { case 1: s more; default: void; }; struct s { u a; u b; };", nil},
		"an array that may be empty":  {"union u switch (int d) { case 1: u more<>; };", nil},
		"the end is in another union": {"union u switch (int d) { case 1: v a; }; union v switch (bool b) { case TRUE: u a; case FALSE: void; };", nil},
		"an arm with itself only":     {"union u switch (int d) { case 1: u more; };", []string{"union u contains itself: u -> u"}},
		"all arms": {
			"union u switch (bool d) { case TRUE: u more; case FALSE: s other; }; struct s { int n; u back; };",
			[]string{"union u contains itself: u -> u"},
		},
		"no union":   {"struct a { b x; }; struct b { c x; }; struct c { a x; };", []string{"struct a contains itself: a -> b -> c -> a"}},
		"two fields": {"struct a { int n; a left; a right; };", []string{"struct a contains itself: a -> a"}},
		"two fields with different types": {
			"struct a { b left; c right; }; struct b { a x; }; struct c { a x; };",
			[]string{"struct a contains itself: a -> b -> a"},
		},
		"two circles": {
			"struct a { a x; }; struct b { b x; };",
			[]string{"struct a contains itself: a -> a", "struct b contains itself: b -> b"},
		},
		"a type that contains a circle": {
			"struct outer { a x; }; union u switch (bool d) { case TRUE: a x; case FALSE: void; }; struct a { a x; };",
			[]string{"struct a contains itself: a -> a"},
		},
		"a finite field beside the circle": {
			"struct a { int n; u x; a y; }; union u switch (bool d) { case TRUE: a more; case FALSE: void; };",
			[]string{"struct a contains itself: a -> a"},
		},
		"a default that nothing selects": {
			"union u switch (bool d) { case TRUE: u a; case FALSE: u b; default: void; };",
			[]string{"union u contains itself: u -> u"},
		},
		"a default that no member selects": {
			"enum e { A = 1, B = 2 }; union u switch (e d) { case A: u a; case B: u b; default: void; };",
			[]string{"union u contains itself: u -> u"},
		},
		"a default that a member selects": {
			"enum e { A = 1, B = 2, C = 3 }; union u switch (e d) { case A: u a; case B: u b; default: void; };",
			nil,
		},
		"an array of fixed length":    {"union u switch (bool d) { case TRUE: u a[2]; case FALSE: void; };", nil},
		"a fixed length of nothing":   {"struct a { a x[0]; };", []string{"struct a contains itself: a -> a"}},
		"typedefs on the way":         {"typedef u t; union u switch (bool d) { case TRUE: t a; case FALSE: void; };", nil},
		"typedefs on the way, no end": {"typedef u t; union u switch (bool d) { case TRUE: t a; };", []string{"typedef t contains itself: t -> u -> t"}},
	} {
		r := compileFiles(t, Options{}, map[string]string{"u/u.x": c.text}, "u/u.x")
		var got []string
		for _, d := range r.Diags {
			if d.Rule.Info().Name == "contains-itself" {
				got = append(got, d.Message)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if c.want == nil && r.Unit == nil {
			t.Errorf("%s: found %v, expected the text to compile", name, rules(r))
		}
	}
}

// TestCycleOpen accepts a default for the numbers of an enum that the sidecar opens. They select
// the default although the cases have all members.
func TestCycleOpen(t *testing.T) {
	const text = "enum e { A = 1 }; union u switch (e d) { case A: u a; default: void; };"
	r := compileFiles(t, Options{}, map[string]string{"u/u.x": text, "u/u.bind": "open e\n"}, "u/u.x")
	if r.Unit == nil {
		t.Errorf("found %v, expected nothing: an open enum has numbers for the default", rules(r))
	}
}

// TestEndingSizes checks the sizes of recursive types with a union. The smallest value uses the
// arm that is not recursive.
func TestEndingSizes(t *testing.T) {
	u := compileOK(t, `
struct outer { stringlist a; int b; };
union stringlist switch (bool opted) {
case TRUE: element more;
case FALSE: void;
};
struct element { string item<>; stringlist next; };
struct step { int n; hyper m; further rest; };
union further switch (int more) { case 1: step next; case 2: further again; case 3: opaque id[6]; };
struct pair { further left; further right; };
`)
	want := map[string]uint64{"outer": 8, "stringlist": 4, "element": 8, "step": 24, "further": 12, "pair": 24}
	for name, min := range want {
		d := find(t, u, name)
		if d.Size.Min != min || !d.Size.Unbounded {
			t.Errorf("%s: at least %d, unbounded %v; want %d, true", name, d.Size.Min, d.Size.Unbounded, min)
		}
		if recursive := !strings.Contains("outer pair", name); d.Recursive != recursive {
			t.Errorf("%s: recursive %v", name, d.Recursive)
		}
		for _, f := range d.Fields {
			if f.Type.Ref != nil && f.Type.Size.Min != want[f.Type.Ref.Name] {
				t.Errorf("%s.%s: at least %d, want %d", name, f.Name, f.Type.Size.Min, want[f.Type.Ref.Name])
			}
		}
	}
}

// TestEndingSizesGrowth compiles a chain of unions in both orders. The smallest size of each
// follows from its neighbour. sizeUnit must take a few rounds, not one for each union.
func TestEndingSizesGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("compiling thousands of unions takes long")
	}
	for name, text := range map[string]string{
		"first to last": "union u# switch (int d) { case 1: u#+ a; case 2: u#- b; };\n",
		"last to first": "union u# switch (int d) { case 1: u#- b; case 2: u#+ a; };\n",
	} {
		costs, err := growth.Linear(2000, func(n int) func() int {
			var b strings.Builder
			b.WriteString("union u0 switch (int d) { case 1: u1 a; case 2: void; };\n")
			for i := 1; i < n; i++ {
				b.WriteString(strings.NewReplacer("#+", decimal(uint64(i+1)), "#-", decimal(uint64(i-1)), "#", decimal(uint64(i))).Replace(text))
			}
			b.WriteString("union u" + decimal(uint64(n)) + " switch (int d) { case 1: u0 a; case 2: u0 b; };\n")
			return func() int {
				u := compileOK(t, b.String())
				// The last of the chain is nearest to u0, its neighbours follow from there.
				if got, want := find(t, u, "u"+decimal(uint64(n))).Size.Min, uint64(8); got != want {
					t.Errorf("%s: the last takes at least %d bytes, expected %d", name, got, want)
				}
				if got, want := find(t, u, "u"+decimal(uint64(n/2))).Size.Min, uint64(4*(n/2)+4); got != want {
					t.Errorf("%s: the middle takes at least %d bytes, expected %d", name, got, want)
				}
				return 0
			}
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %v", name, costs)
	}
}
