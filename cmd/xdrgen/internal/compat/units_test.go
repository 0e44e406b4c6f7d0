package compat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// compileUnits compiles the file u.x of the folder root, with the units a and b.
func compileUnits(t *testing.T, root, a, b, text string) Revision {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a/a.x": a, "b/b.x": b, root + "/u.x": "#include \"a/a.x\"\n#include \"b/b.x\"\n" + text} {
		file := filepath.Join(dir, name)
		mkdir(t, filepath.Dir(file))
		write(t, file, text)
	}
	return compileFile(t, filepath.Join(dir, root, "u.x"), sema.Options{Include: []string{dir}})
}

// TestNamesPairByUnit compares units that include two declarations of one name.
func TestNamesPairByUnit(t *testing.T) {
	const a = "const N = 4;\nenum op { OP_A = 1 };\nstruct pt { int x; };\nunion arg switch (op o) { case OP_A: pt p; };\n"
	const b = "const N = 8;\nenum op { OP_A = 2 };\nstruct pt { hyper x; };\nunion arg switch (op o) { case OP_A: pt p; };\nstruct buf { opaque b[N]; };\n"
	const text = "struct s { int x; };\n"
	for _, tt := range []struct {
		name string
		old  Revision
		new  Revision
		want []string
	}{
		{"nothing changed", compileUnits(t, "u", a, b, text), compileUnits(t, "u", a, b, text), nil},
		{"another folder", compileUnits(t, "u", a, b, text), compileUnits(t, "v", a, b, text), nil},
		{
			"a type of the second", compileUnits(t, "u", a, b, text), compileUnits(t, "u", a, strings.Replace(b, "hyper x", "int x", 1), text),
			[]string{"bbbb type-wire struct pt.x"},
		},
		{
			"a constant of the first", compileUnits(t, "u", a, b, text), compileUnits(t, "u", strings.Replace(a, "N = 4", "N = 5", 1), b, text),
			[]string{"bobb constant-value const N"},
		},
		{
			"a constant of the second", compileUnits(t, "u", a, b, text), compileUnits(t, "u", a, strings.Replace(b, "N = 8", "N = 9", 1), text),
			[]string{"oooo constant-bound const N", "bbbb length-changed struct buf.b"},
		},
		{
			"moved to the unit itself", compileUnits(t, "u", a, "struct q { hyper x; };\n", text), compileUnits(t, "u", a, "", text+"struct q { hyper x; };\n"), nil,
		},
		{
			"moved to one of two", compileUnits(t, "u", "", "", text+"struct q { hyper x; };\n"), compileUnits(t, "u", "struct q { int y; };\n", "struct q { hyper x; };\n", text),
			[]string{"oooo declaration-added struct q"},
		},
	} {
		var got []string
		for _, c := range Compare(tt.old, tt.new) {
			got = append(got, show(c))
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: changes (-want +got):\n%s", tt.name, d)
		}
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
}
