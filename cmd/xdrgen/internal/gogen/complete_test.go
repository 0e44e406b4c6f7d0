package gogen

import (
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gofile"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// everyKind has a type of each form that Go declares, and aliases, which have no methods.
const everyKind = `struct s { unsigned int a; string b<9>; };
typedef opaque t<8>;
typedef int number;
typedef s alias;
enum e { A = 0, B = 1 };
union u switch (e v) { case A: int list<>; case B: void; };
struct l { hyper v; int w; l *next; };
struct tree { tree *left; tree *right; };
typedef tree *root;
struct one { int v; one *next; };
typedef uint32 uint32_t;
typedef unsigned int uint32;
`

// TestAPackageThatLacksATypeOrMethodIsRefused removes each declaration that a package of every
// kind of type must have, and expects an internal error that names it.
func TestAPackageThatLacksATypeOrMethodIsRefused(t *testing.T) {
	u, b := compileText(t, everyKind, "")
	o := Options{Package: "u", Views: true, With: allMethods()}
	g := newGen(u, b, o)
	if diags := g.begin(); len(diags) > 0 {
		t.Fatal(diags)
	}
	g.plan = plan.Make(u, b)
	g.formatter = gofile.NewFormatter()
	made := g.write(o)
	g.formatter.Stop()
	if err := g.incomplete(made...); err != nil {
		t.Fatal(err)
	}
	removed := map[string]bool{}
	for _, file := range made {
		for _, p := range file.Pieces {
			all := p.Claims
			for i, c := range all {
				p.Claims = slices.Delete(slices.Clone(all), i, i+1)
				err := g.incomplete(made...)
				if err == nil {
					continue
				}
				removed[c.Key] = true
				typ, method, _ := strings.Cut(c.Key, ".")
				if !strings.Contains(err.Error(), typ) || !strings.Contains(err.Error(), method) {
					t.Errorf("without %s: %v", c.Key, err)
				}
			}
			p.Claims = all
		}
	}
	for _, typ := range []string{"S", "T", "Number", "E", "U", "L", "Tree"} {
		want := []string{"XDRSize", "PutXDR", "GetXDR", "ResetXDR", "EncodeXDR", "DecodeXDR", "AppendBinary", "MarshalBinary", "UnmarshalBinary",
			"CheckXDR", "SkipXDR", "Clone", "Equal", "EncodeTo", "DecodeFrom", "MarshalJSON", "UnmarshalJSON"}
		for _, method := range want {
			if !removed[typ+"."+method] {
				t.Errorf("%s may lack %s", typ, method)
			}
		}
		if !removed[typ] {
			t.Errorf("type %s may be absent", typ)
		}
	}
	for _, other := range []string{"Alias", "Root", "SView", "UView", "LView"} {
		if !removed[other] {
			t.Errorf("type %s may be absent", other)
		}
	}
}

// TestOptionalMethodsAreRequiredOnlyOnRequest checks a package without optional methods.
func TestOptionalMethodsAreRequiredOnlyOnRequest(t *testing.T) {
	u, b := compileText(t, everyKind, "")
	if _, diags, err := Generate(u, b, Options{Package: "u", With: ir.Methods{}}); err != nil || len(diags) > 0 {
		t.Fatal(err, diags)
	}
}
