package dynamic_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// compileUnits compiles unit u of some files in their folders.
func compileUnits(t *testing.T, files map[string]string) *ir.Unit {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := sema.Compile(sema.Options{Files: []string{filepath.Join(dir, "u/u.x")}, Include: []string{dir}})
	if err != nil || r.Unit == nil {
		t.Fatalf("%v %v", err, r.Diags)
	}
	return r.Unit
}

// TestNameOfTwoUnitsNeedsTheUnit looks up names that two imports declare.
func TestNameOfTwoUnitsNeedsTheUnit(t *testing.T) {
	const program = "program P { version V { pt GO(pt) = 1; } = 1; } = 300000;\n"
	files := map[string]string{
		"a/a.x": "typedef unsigned int word;\nstruct pt { int x; };\n" + program, "b/b.x": "typedef unsigned int word;\nstruct pt { hyper x; };\nstruct only { int y; };\n" + program,
		"u/u.x": "#include \"a/a.x\"\n#include \"b/b.x\"\nstruct s { int x; };\n",
	}
	u := compileUnits(t, files)
	for name, want := range map[string]string{
		"pt": "several units declare pt: name one of a/pt, b/pt", "a/pt": "", "b/pt": "", "b/only": "", "only": "", "u/s": "", "word": "", "c/pt": "type c/pt is not declared",
		"P.V.GO.args": "several units declare P.V.GO: name one of a/P.V.GO, b/P.V.GO", "b/P.V.GO.args": "", "300000.1.1.result": "several units declare 300000.1.1: name one of a/P.V.GO, b/P.V.GO",
	} {
		got := ""
		if _, err := dynamic.Find(u, name); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: error %q, expected %q", name, got, want)
		}
	}
	for unit, kind := range map[string]ir.Kind{"a": ir.Int, "b": ir.Hyper} {
		for _, name := range []string{unit + "/pt", unit + "/P.V.GO.result"} {
			if typ, err := dynamic.Find(u, name); err != nil || typ.Ref.Fields[0].Type.Kind != kind {
				t.Errorf("%s is another type, or %v", name, err)
			}
		}
	}
	files["u/u.bind"] = "from b pt\n"
	if typ, err := dynamic.Find(compileUnits(t, files), "pt"); err != nil || typ.Ref.Import.Unit != "b" {
		t.Errorf("the line from does not choose: %v", err)
	}
	delete(files, "u/u.bind")
	want := "programs a/P and b/P both have the number 300000 and a version 1: include one of the units"
	if err := dynamic.SharedPrograms(u); err == nil || err.Error() != want {
		t.Errorf("error %v, expected %s", err, want)
	}
	files["u/u.x"] = "#include \"a/a.x\"\nprogram Q { version V { int GO(int) = 1; } = 1; } = 300000;\n"
	u = compileUnits(t, files)
	if typ, err := dynamic.Find(u, "300000.1.1.result"); err != nil || typ.Kind != ir.Int || dynamic.SharedPrograms(u) != nil {
		t.Errorf("the unit's own program is not the first: %v", err)
	}
}
