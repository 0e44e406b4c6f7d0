package gogen

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gosample"
)

// reduceCase is an encoding of one argument or result, with the items in it, as
// the interpreter finds them; testdata/reduce_test.go.txt reads it.
type reduceCase struct {
	Type  int // in the table of constructors
	Proc  uint32
	Reply bool
	Wire  string // hexadecimal
	Items []reduceItem
}

// reduceItem is an item that may leave: its bytes in the whole encoding.
type reduceItem struct {
	Path   string
	Offset int
	Length int
}

// TestReduceRandom checks with random interfaces and values that the items left out of line are
// those that the interpreter finds, and that reducing any subset of the items and putting them
// back, by position, in order, or by a gather list, is the identity: R45, R47, R53, R57, R60, R77.
func TestReduceRandom(t *testing.T) {
	longRun(t, "builds a package for each schema")
	schemas, values := 16, 12
	if testing.Short() {
		schemas, values = 6, 6
	}
	mod := newModule(t)
	var cases []reduceCase
	var imports, table strings.Builder
	types, items := 0, 0
	for seed := range schemas {
		s := makeSchema(uint64(seed), seed%2 == 1)
		pkg := fmt.Sprintf("r%02d", seed)
		u := s.compile(t, mod, pkg, false)
		fmt.Fprintf(&imports, "\t%q\n", "example.org/"+pkg)
		r := rand.New(rand.NewPCG(uint64(seed), 11))
		for _, p := range s.procs {
			typ, err := dynamic.Find(u, p.typ)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&table, "\t\t{func() value { return new(%s.%s) }, %s.DDPBindings()},\n", pkg, goName(u, p.typ), pkg)
			for i := range values {
				w := &gosample.Sampler{Rand: r, Deep: 2 + i%5}
				wire := w.Append(nil, typ.Ref)
				root, err := dynamic.DecodeAll(wire, typ, dynamic.Limits{})
				if err != nil {
					t.Fatalf("%s: %x: %v", s.x, wire, err)
				}
				c := reduceCase{Type: types, Proc: p.proc, Reply: p.reply, Wire: fmt.Sprintf("%x", wire), Items: itemsOf(root, p.sites)}
				items += len(c.Items)
				cases = append(cases, c)
			}
			types++
		}
	}
	t.Logf("%d schemas, %d types, %d values, %d items", schemas, types, len(cases), items)
	if items < len(cases) {
		t.Errorf("only %d items in %d values", items, len(cases))
	}
	text, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	mod.write(t, "reduce/cases.json", text)
	mod.write(t, "reduce/table.go", fmt.Appendf(nil, "package reduce\n\nimport (\n%s)\n\nfunc types() []typ {\n\treturn []typ{\n%s\t}\n}\n", imports.String(), table.String()))
	for _, name := range []string{"reduce.go", "reduce_test.go"} {
		text, err := os.ReadFile("testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		mod.write(t, "reduce/"+name, text)
	}
	mod.run(t, "-short=false")
}

// compile generates the schema's package into mod, with its tests or without.
func (s *schema) compile(t *testing.T, mod module, pkg string, tests bool) *ir.Unit {
	t.Helper()
	return s.compileWith(t, mod, Options{Package: pkg, Tests: tests, Views: true, With: ir.DefaultMethods()})
}

func (s *schema) compileWith(t *testing.T, mod module, o Options) *ir.Unit {
	t.Helper()
	pkg := o.Package
	dir := t.TempDir()
	file := filepath.Join(dir, pkg+".x")
	for name, text := range map[string]string{file: s.x, filepath.Join(dir, pkg+".bind"): s.bind} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := sema.Compile(sema.Options{Files: []string{file}, Generate: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Diags {
		if r.Unit == nil || d.Severity == diag.Error {
			t.Fatalf("%s: %s\n%s%s", pkg, d.Message, s.x, s.bind)
		}
	}
	files, diags, err := Generate(r.Unit, r.Bind, o)
	if err != nil || len(diags) > 0 {
		t.Fatalf("%v, %v\n%s%s", err, diags, s.x, s.bind)
	}
	mod.add(t, pkg, files)
	return r.Unit
}

// goName is the Go name of a declaration in a unit without a sidecar for names.
func goName(u *ir.Unit, xdr string) string {
	n := gonames.New()
	n.Add(u.Decls, nil, true)
	for _, d := range u.Decls {
		if d.Name == xdr {
			return n.Decl(d)
		}
	}
	return ""
}

// itemsOf finds, in wire order, the items at paths in a decoded value.
func itemsOf(root *dynamic.Value, paths [][]string) []reduceItem {
	var out []reduceItem
	var walk func(v *dynamic.Value, path []string)
	walk = func(v *dynamic.Value, path []string) {
		if v.Name != "" {
			path = append(path[:len(path):len(path)], v.Name)
		}
		at, typ := strings.Join(path, "."), v.Type.Underlying()
		bound := v.Index < 0 && slices.ContainsFunc(paths, func(p []string) bool { return slices.Equal(p, path) })
		switch { // an element has the path of its array, and the word before optional data stays
		case bound && (typ.Kind == ir.Opaque || typ.Kind == ir.String):
			out = append(out, reduceItem{at, v.Offset + 4, len(v.Bytes)})
		case bound && typ.Kind == ir.Array:
			out = append(out, reduceItem{at, v.Offset + 4, v.Length - 4})
		}
		for _, c := range v.Items {
			walk(c, path)
		}
	}
	walk(root, nil)
	return out
}
