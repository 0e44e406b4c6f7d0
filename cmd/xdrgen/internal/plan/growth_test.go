package plan_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/wild"
	"github.com/rpcrdma/rpcrdma/internal/growth"
)

// shapes are ways for a type, of number %[1]d, to use the one before it, of number %[2]d. Each
// begins with struct s0.
var shapes = map[string]string{
	"alone":     "struct s%[1]d { int a; opaque b<10>; hyper c<>; };\n",
	"structs":   "struct s%[1]d { s%[2]d a; int b; };\n",
	"twice":     "struct s%[1]d { s%[2]d a; s%[2]d b; s0 c; };\n",
	"arrays":    "struct s%[1]d { int n; s%[2]d a<3>; s%[2]d b[2]; };\n",
	"optionals": "struct s%[1]d { s%[2]d *a; s%[2]d *b; };\n",
	"unions":    "union s%[1]d switch (int d) { case 1: s%[2]d a; case 2: s%[2]d b; default: void; };\n",
	"typedefs":  "typedef s%[2]d s%[1]d;\n",
	"pointers":  "struct s%[1]d { s%[2]d *a; s%[2]d *b; s%[1]d *l; s%[1]d *r; };\n",
	"lists":     "struct s%[1]d { s%[2]d *a; s%[2]d *b; s%[1]d *next; };\n",
	"messages":  "struct s%[1]d { s%[2]d a; string n<>; };\nprogram P%[1]d { version V%[1]d { s%[1]d CALL%[1]d(s%[1]d) = 1; } = 1; } = %[1]d;\n",
}

// text returns n types of a shape, in the order of their numbers or in reverse.
func text(shape string, n int, reverse bool) string {
	var b strings.Builder
	b.WriteString("struct s0 { opaque x<>; int y; };\n")
	for i := 1; i < n; i++ {
		k := i
		if reverse {
			k = n - i
		}
		fmt.Fprintf(&b, shape, k, k-1)
	}
	return b.String()
}

// TestPlansGrowWithTheInput makes plans of n and 4n types. The cost and the size of the plan must
// not grow faster than the input.
func TestPlansGrowWithTheInput(t *testing.T) {
	if testing.Short() {
		t.Skip("to measure every shape at two sizes takes seconds")
	}
	for name, shape := range shapes {
		for _, reverse := range []bool{false, true} {
			t.Run(fmt.Sprint(name, reverse), func(t *testing.T) {
				costs, err := growth.Linear(600, func(n int) func() int {
					r := compile(t, text(shape, n, reverse), "")
					if r.Unit == nil {
						t.Fatal(r.Diags)
					}
					return func() int { return len(plan.Make(r.Unit, r.Bind).String()) }
				})
				if err != nil {
					t.Error(err)
				}
				t.Log(costs)
			})
		}
	}
}

// TestDeepTypesArePlannedInTime plans types nested 40 levels deep, which hold each other in 2^40
// ways.
func TestDeepTypesArePlannedInTime(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			ten := planned(t, text(shape, 10, false), "").String()
			forty := planned(t, text(shape, 40, false), "").String()
			if a, b := strings.Count(ten, "\n"), strings.Count(forty, "\n"); b > 5*a {
				t.Errorf("%d lines for 10 levels, %d for 40", a, b)
			}
		})
	}
}

// TestRandomInterfacesHavePlans makes plans of random interfaces.
func TestRandomInterfacesHavePlans(t *testing.T) {
	for seed := range uint64(60) {
		x := wild.Schema(seed, false)
		r := compile(t, x, "")
		if r.Unit == nil {
			t.Fatalf("seed %d: %v", seed, r.Diags)
		}
		checkPlan(t, r)
	}
}

// checkPlan makes a plan, and checks that it is complete and takes memory in proportion to the
// types of the unit.
func checkPlan(t *testing.T, r *sema.Result) {
	t.Helper()
	types := 0
	for _, d := range r.Unit.AllDecls() {
		types += 4
		for range d.Types() {
			types++
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := plan.Make(r.Unit, r.Bind)
	runtime.ReadMemStats(&after)
	if most := uint64(64<<10 + 1<<10*types); after.TotalAlloc-before.TotalAlloc > most {
		t.Errorf("%d bytes allocated for %d types, want %d at most", after.TotalAlloc-before.TotalAlloc, types, most)
	}
	if lines := strings.Count(p.String(), "\n"); lines > types {
		t.Errorf("%d lines for %d types:\n%v", lines, types, p)
	}
	for _, typ := range p.Types {
		if p.Of(typ.Decl) != typ {
			t.Errorf("%s has another plan", typ.Decl.Name)
		}
		p.Amplification(typ)
		typ.Stops()
		typ.Methods()
		for _, f := range typ.Fields {
			checkStep(t, f.Step)
		}
	}
	p.Messages()
}

// checkStep checks that a step has the parts that its kind has.
func checkStep(t *testing.T, s *plan.Step) {
	t.Helper()
	if s.Op < plan.Word || s.Op > plan.Typedef {
		t.Fatalf("step of kind %v", s.Op)
	}
	if named := s.Op == plan.List || s.Op == plan.Enum || s.Op >= plan.Struct; named != (s.Of != nil) {
		t.Errorf("%v: named type is %v", s.Op, s.Of)
	}
	parts := s.Op == plan.Loop || s.Op == plan.Array || s.Op == plan.Optional || s.Op == plan.List || s.Op == plan.Typedef
	if parts != (s.Elem != nil) {
		t.Errorf("%v: part is %v", s.Op, s.Elem)
	}
	if s.InRun && !s.Size.Fixed() || s.Unchecked && !s.Size.Fixed() {
		t.Errorf("%v has no fixed size", s)
	}
	if s.Under().Op == plan.Typedef || s.Memory() < 0 {
		t.Errorf("%v: %d bytes", s, s.Memory())
	}
	if s.Elem != nil && s.Op != plan.Typedef {
		checkStep(t, s.Elem)
	}
}

// FuzzMake makes plans of all texts that the front end accepts and Go can express.
func FuzzMake(f *testing.F) {
	for _, shape := range shapes {
		f.Add(text(shape, 4, false), "")
	}
	for _, tt := range makeTests {
		f.Add(tt.text, tt.sidecar)
	}
	for seed := range uint64(4) {
		f.Add(wild.Schema(seed, false), "")
	}
	f.Add("typedef t *t;", "")
	f.Add("typedef a *b; typedef b *a; struct s { a x; };", "")
	f.Fuzz(func(t *testing.T, x, sidecar string) {
		if len(x) > 1<<13 || len(sidecar) > 1<<10 {
			return
		}
		if r := compile(t, x, sidecar); r.Unit != nil && len(plan.TooLarge(r.Unit)) == 0 {
			checkPlan(t, r)
		}
	})
}
