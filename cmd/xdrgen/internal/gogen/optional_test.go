package gogen

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/wild"
)

// valueMethods are the optional methods of this test's packages.
var valueMethods = ir.Methods{Clone: true, Equal: true, Stream: true}

// allMethods returns all optional methods.
func allMethods() (m ir.Methods) {
	for _, word := range ir.MethodWords() {
		m.Apply(word)
	}
	return m
}

// TestOptionalRandom runs the generated tests of Clone, Equal, EncodeTo and DecodeFrom for random
// interfaces, some with placement sites. The tests of types that contain themselves are in
// testdata/optional_test.go.txt.
func TestOptionalRandom(t *testing.T) {
	longRun(t, "builds a package for each schema")
	mod := newModule(t)
	add := func(pkg, text, bind string) {
		dir := t.TempDir()
		file := filepath.Join(dir, pkg+".x")
		for name, content := range map[string]string{file: text, filepath.Join(dir, pkg+".bind"): bind} {
			if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		generateOptional(t, mod, pkg, file)
	}
	for i := range *wildCount {
		seed := *wildFirst + uint64(i)
		add(fmt.Sprintf("w%02d", seed), wild.Schema(seed, false), "")
		s := makeSchema(seed, i%2 == 0)
		add(fmt.Sprintf("r%02d", seed), s.x, s.bind)
	}
	mod.run(t)
}

// TestOptionalImports gives the methods to a package that uses types of another, which is made
// without them.
func TestOptionalImports(t *testing.T) {
	longRun(t, "builds packages")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"base/base.x": `
			enum color { RED = 1, BLUE = 4 };
			typedef opaque blob<>;
			typedef color colors<3>;
			typedef unsigned hyper wide;
			struct item { blob data; color c; colors all; float f; };
			struct node { item i; node *next; };
			struct tree { tree *left; tree *right; string name<9>; };
			typedef tree *treep;
			typedef item items<>;
			union choice switch (color c) { case RED: item one; case BLUE: opaque large[200]; };
			struct many { choice all<>; };`,
		"top/top.x": `
			#include "base/base.x"
			struct use { item a; items b; node *c; tree d; treep e; choice f<>; many g; wide h; blob i; item j[2]; item *k; };
			typedef item same;
			typedef tree trees<>;
			union pick switch (color c) { case RED: trees t; default: same s; };`,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	mod := newModule(t)
	for pkg, with := range map[string]ir.Methods{"base": {}, "top": valueMethods} {
		generateWith(t, mod, pkg, sema.Options{Files: []string{filepath.Join(dir, pkg, pkg+".x")}, Include: []string{dir}, ImportRoot: "example.org", Generate: true}, with)
	}
	mod.run(t)
}

// generateOptional writes the package of a file with its tests into mod.
func generateOptional(t *testing.T, mod module, pkg, file string) {
	t.Helper()
	generateWith(t, mod, pkg, sema.Options{Files: []string{file}, Generate: true}, valueMethods)
}

func generateWith(t *testing.T, mod module, pkg string, o sema.Options, with ir.Methods) {
	t.Helper()
	r, err := sema.Compile(o)
	if err != nil || r.Unit == nil {
		t.Fatal(err, r.Diags)
	}
	out, diags, err := Generate(r.Unit, r.Bind, Options{Package: pkg, Tests: true, With: with})
	if err != nil || len(diags) > 0 {
		t.Fatalf("%s: %v, %v", pkg, err, diags)
	}
	mod.add(t, pkg, out)
}

// TestOptionalMethodsPassTheirTests runs the generated tests of the optional methods for types that
// contain themselves, with values that hold themselves, and for the shapes of testdata/ok.
func TestOptionalMethodsPassTheirTests(t *testing.T) {
	longRun(t, "builds packages")
	mod := newModule(t)
	for _, name := range []string{"recursion", "lists", "kinds", "unions", "arrays", "shapes", "discriminants", "place", "edge"} {
		generateOptional(t, mod, name, filepath.Join(okDir, name+".x"))
	}
	child, err := os.ReadFile("testdata/optional_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	mod.write(t, "recursion/optional_test.go", child)
	mod.run(t)
}
