package gogen

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/wild"
)

// valueMethods are the optional methods of this test's packages.
var valueMethods = ir.Methods{Clone: true, Equal: true, Stream: true}

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

// generateOptional writes the package of a file with its tests into mod.
func generateOptional(t *testing.T, mod module, pkg, file string) {
	t.Helper()
	r, err := sema.Compile(sema.Options{Files: []string{file}, Include: []string{okDir + "/units"}, ImportRoot: "example.org/ok", Generate: true})
	if err != nil || r.Unit == nil {
		t.Fatal(err, r.Diags)
	}
	out, diags, err := Generate(r.Unit, r.Bind, Options{Package: pkg, Tests: true, Views: true, With: valueMethods})
	if err != nil || len(diags) > 0 {
		t.Fatalf("%s: %v, %v", file, err, diags)
	}
	mod.add(t, pkg, out)
}
