package gogen

import (
	"os"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/internal/golden"
)

const stubsDir = "../../testdata/stubs"

// stubsOf generates a package and its stubs.
func stubsOf(t *testing.T, file, path string, fsys sema.FileSystem) ([]File, []diag.Diagnostic) {
	t.Helper()
	r, err := sema.Compile(sema.Options{Files: []string{file}, Include: []string{stubsDir}, Stubs: true, Generate: true, FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	if r.Unit == nil {
		t.Fatalf("%s: %v", file, r.Diags)
	}
	files, diags, err := Generate(r.Unit, r.Bind, Options{
		Package: r.Unit.Name, ImportPath: path, Stubs: true, Async: r.Bind.Async, With: ir.DefaultMethods(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, diags
}

// TestStubsCallEachProcedure compares the stubs for procedures of all forms with a golden file, and
// calls each procedure over RDMA in memory.
func TestStubsCallEachProcedure(t *testing.T) {
	base, _ := stubsOf(t, stubsDir+"/base/base.x", "example.org/base", nil)
	files, _ := stubsOf(t, stubsDir+"/stubs.x", "example.org/stubs", nil)
	stub := files[len(files)-1]
	golden.Check(t, stubsDir+"/stubs.go.golden", stub.Content)
	if strings.Contains(base[len(base)-1].Name, "rpc") {
		t.Error("stubs of a unit without a program")
	}
	mod := newModule(t)
	mod.add(t, "base", base)
	mod.add(t, "stubs", files)
	special, err := os.ReadFile("testdata/stubs_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	mod.write(t, "stubs/stubs_test.go", special)
	longRun(t, "the stubs equal the golden file; to build and call them takes long")
	mod.run(t)
}

// TestStubsOfOncrpcUnit checks that stubs name package oncrpc in one way if their unit includes the
// unit of that package, too.
func TestStubsOfOncrpcUnit(t *testing.T) {
	files, _ := stubsOf(t, stubsDir+"/callback/callback.x", "example.org/callback", nil)
	stub := string(files[len(files)-1].Content)
	if strings.Contains(stub, "oncrpcpkg") || !strings.Contains(stub, "over oncrpc.Carrier") || !strings.Contains(stub, "args *oncrpc.Flavor") {
		t.Errorf("package oncrpc has another name:\n%s", stub)
	}
}

// TestMissingProcedure checks that a server without one of the procedures does not compile.
func TestMissingProcedure(t *testing.T) {
	longRun(t, "it builds a package")
	mod := newModule(t)
	base, _ := stubsOf(t, stubsDir+"/base/base.x", "example.org/base", nil)
	files, _ := stubsOf(t, stubsDir+"/stubs.x", "example.org/stubs", nil)
	mod.add(t, "base", base)
	mod.add(t, "stubs", files)
	mod.write(t, "main/main.go", []byte("package main\n\nimport \"example.org/stubs/stubsrpc\"\n\ntype none struct{}\n\nfunc main() { stubsrpc.NewEventsV1Service(none{}) }\n"))
	out, err := mod.command("go", "vet", "./main").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "missing method Changed") {
		t.Errorf("%v: %s", err, out)
	}
}
