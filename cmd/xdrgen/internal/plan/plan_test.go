package plan_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/plan"
)

// compile returns the resolved form of a text. The front end may have refused it.
func compile(t *testing.T, text, sidecar string) *sema.Result {
	t.Helper()
	r, err := sema.Compile(sema.Options{Files: []string{"u.x"}, Generate: true, FS: fstest.MapFS{
		"u.x": {Data: []byte(text)}, "u.bind": {Data: []byte(sidecar)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// planned returns the plan of a text.
func planned(t *testing.T, text, sidecar string) *plan.Plan {
	t.Helper()
	r := compile(t, text, sidecar)
	if r.Unit == nil {
		t.Fatalf("refused: %s\n%v", text, r.Diags)
	}
	return plan.Make(r.Unit, r.Bind)
}

func TestPlansOfAllShapes(t *testing.T) {
	for _, tt := range makeTests {
		t.Run(tt.name, func(t *testing.T) {
			got := planned(t, tt.text, tt.sidecar).String()
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAliasesHaveTheMethodsOfTheirType checks that an alias has the methods of the type that it
// names.
func TestAliasesHaveTheMethodsOfTheirType(t *testing.T) {
	p := planned(t, `struct s { int a; }; typedef s one; typedef one two; typedef int number;
		typedef number three; struct tree { tree *l; int v; }; typedef tree *treep;`, "")
	want := map[string]string{"s": "s", "one": "s", "two": "s", "number": "number", "three": "number", "tree": "tree", "treep": "treep"}
	for _, typ := range p.Types {
		if got := typ.Methods().Decl.Name; got != want[typ.Decl.Name] {
			t.Errorf("%s has the methods of %s, want %s", typ.Decl.Name, got, want[typ.Decl.Name])
		}
	}
}

// TestMemoryOfGoValues checks the memory of Go values on a 64-bit machine.
func TestMemoryOfGoValues(t *testing.T) {
	tests := []struct {
		field string
		want  int
	}{
		{"bool f", 1},
		{"int f", 4},
		{"double f", 8},
		{"opaque f[5]", 5},
		{"opaque f<5>", 24},
		{"string f<>", 24},
		{"int f[3]", 12},
		{"int f<3>", 24},
		{"int *f", 8},
		{"hyper *f", 16},
		{"tree *f", 8},
		{"tree f", 24},
		{"pair f[2]", 32},
		{"node *f", 24},
		{"choice f", 16},
		{"choice f<>", 24},
	}
	for _, tt := range tests {
		t.Run(tt.field, func(t *testing.T) {
			p := planned(t, `struct tree { tree *l; int v; tree *r; }; struct pair { int a; hyper b; };
				struct node { int v; node *next; };
				union choice switch (bool b) { case TRUE: hyper h; case FALSE: void; };
				struct s { `+tt.field+`; };`, "")
			last := p.Types[len(p.Types)-1]
			if got := last.Fields[0].Step.Memory(); got != tt.want {
				t.Errorf("%d bytes, want %d", got, tt.want)
			}
		})
	}
}

// TestScansStopAtTheRightPlaces checks the places at which a scan of a message stops.
func TestScansStopAtTheRightPlaces(t *testing.T) {
	p := planned(t, `struct node { int v; node *next; }; struct in { int n; int a<>; };
		union u switch (bool b) { case TRUE: in i; case FALSE: node *l; };
		struct top { in one; u two; in *three; opaque none<>;
			union switch (bool c) { case TRUE: int a; case FALSE: void; default: int never<>; } four; };`, "")
	var messages []string
	for _, m := range p.Messages() {
		messages = append(messages, m.Decl.Name)
	}
	if diff := cmp.Diff([]string{"top"}, messages); diff != "" {
		t.Fatal(diff)
	}
	stops := p.Messages()[0].Stops()
	var got []string
	for _, l := range stops.Lists {
		path := ""
		for at := l.Path; at != nil; at = at.Up {
			path = "." + at.Field.Name + path
		}
		got = append(got, path)
	}
	if diff := cmp.Diff([]string{".one.a", ".two.i.a", ".two.l", ".three.a"}, got); diff != "" {
		t.Error(diff)
	}
	if stops.Count != 6 { // the lists, and the places after the union and after the optional data
		t.Errorf("%d places, want 6", stops.Count)
	}
}
