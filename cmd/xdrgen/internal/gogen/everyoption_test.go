package gogen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// trees are the units of the repository that compile: the folder that #include searches, and
// patterns for files, and for folders with files, below it.
var trees = []struct {
	name, include string
	units         []string
}{
	{"spec", "../../../../spec/x", []string{"*"}},
	{"ok", okDir + "/units", []string{"*", "../*.x"}},
	{"stubs", stubsDir, []string{"base", "oncrpc", "callback", "stubs.x"}},
	{"import", "../../testdata/import", []string{"*"}},
}

// longToBuild are the units that take as long to build as all others together: they are only
// type-checked.
var longToBuild = map[string]bool{"nfs42": true, "rpcrdma2draft07": true}

// optionTree generates the units of a tree with every option.
type optionTree struct {
	name, include string
	files         map[string][]string // of each unit
	check         *checker
	mod           module
	done          map[string]bool
	long          map[string]bool // in longToBuild, or includes such a unit
}

// TestEveryOptionOnEveryUnitCompiles generates spec/x and the units of testdata with all options
// together, and type-checks the packages. If it is not short, it also vets them and runs their
// tests, but for the largest.
func TestEveryOptionOnEveryUnitCompiles(t *testing.T) {
	slowWithRaces(t)
	mod := newModule(t)
	for _, tree := range trees {
		x := optionTree{tree.name, tree.include, map[string][]string{}, newChecker(t), mod, map[string]bool{}, map[string]bool{}}
		for _, pattern := range tree.units {
			found, _ := filepath.Glob(filepath.Join(tree.include, pattern))
			for _, name := range found {
				x.add(name)
			}
		}
		if len(x.files) < 2 {
			t.Errorf("%s has %d units", tree.name, len(x.files))
		}
		for unit := range x.files {
			x.generate(t, unit)
		}
	}
	longRun(t, "the packages pass the type checker; to build and run them takes long")
	mod.run(t)
}

// add adds a file or a folder of files as a unit.
func (x *optionTree) add(name string) {
	files := []string{name}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		files, _ = filepath.Glob(name + "/*.x")
	}
	unit := strings.TrimSuffix(filepath.Base(name), ".x")
	if len(files) > 0 && unit != "units" {
		x.files[unit] = files
	}
}

// path is the import path of a unit's package, and name its name.
func (x *optionTree) path(unit string) string {
	return "example.org/" + x.name + "/" + x.packageName(unit)
}

func (x *optionTree) packageName(unit string) string { return strings.ReplaceAll(unit, "-", "") }

// generate generates the package of a unit, after the packages of the units that it includes.
func (x *optionTree) generate(t *testing.T, unit string) {
	t.Helper()
	if x.done[unit] {
		return
	}
	x.done[unit] = true
	r, err := sema.Compile(sema.Options{
		Files: x.files[unit], Include: []string{x.include}, ImportRoot: "example.org", Stubs: true, Generate: true,
	})
	if err != nil || r.Unit == nil {
		t.Fatalf("%s/%s: %v, %v", x.name, unit, err, r.Diags)
	}
	x.long[unit] = longToBuild[unit]
	for _, imp := range r.Unit.Imports {
		x.generate(t, imp.Unit)
		x.long[unit] = x.long[unit] || x.long[imp.Unit]
		imp.Package, imp.GoName, imp.Bind.Views = x.path(imp.Unit), x.packageName(imp.Unit), true
	}
	files, diags, err := Generate(r.Unit, r.Bind, Options{
		Package: x.packageName(unit), ImportPath: x.path(unit), Tests: true, Views: true, Stubs: true, Async: true, With: allMethods(),
	})
	if err != nil || len(diags) > 0 {
		t.Errorf("%s/%s: %v, %v", x.name, unit, err, diags)
		return
	}
	if err := x.check.check(x.path(unit), files); err != nil {
		t.Errorf("%s/%s: %v", x.name, unit, err)
		return
	}
	if !x.long[unit] {
		x.mod.add(t, x.name+"/"+x.packageName(unit), files)
	}
}
