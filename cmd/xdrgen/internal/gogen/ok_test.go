package gogen

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/internal/golden"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

const okDir = "../../testdata/ok"

// compile runs the front end and the generator over one file of testdata/ok.
func compile(t *testing.T, file string) (b *ir.Bind, pkg string, out []File) {
	t.Helper()
	pkg = strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), ".x"), "-", "")
	r, err := sema.Compile(sema.Options{Files: []string{file}, Include: []string{okDir + "/units"}, ImportRoot: "example.org/ok", Generate: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Unit == nil {
		for _, d := range r.Diags {
			t.Errorf("%s: %s", file, d.Message)
		}
		t.FailNow()
	}
	files, diags, err := Generate(r.Unit, r.Bind, Options{Package: pkg, Tests: true, Views: true, With: ir.DefaultMethods()})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range append(diags, Refused(r.Unit, r.Bind)...) {
		t.Fatalf("%s: %s", file, d.Message)
	}
	return r.Bind, pkg, files
}

// TestGoodFilesGiveTestedPackages compares the packages generated for testdata/ok with golden
// files, and then builds, vets and runs them with their generated tests. It also runs the
// generator's goroutines under the race detector.
func TestGoodFilesGiveTestedPackages(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(okDir, "*.x"))
	units, _ := filepath.Glob(filepath.Join(okDir, "units/*/*.x"))
	if files = append(files, units...); len(files) == 0 {
		t.Fatalf("no files in %s", okDir)
	}
	mod := newModule(t)
	for _, file := range files {
		b, pkg, out := compile(t, file)
		golden.Check(t, strings.TrimSuffix(file, ".x")+".go.golden", out[0].Content)
		golden.Check(t, strings.TrimSuffix(file, ".x")+"_view.go.golden", out[1].Content)
		dir := "ok/" + pkg
		if path, ok := strings.CutPrefix(b.Package, "example.org/"); ok {
			dir = path
		}
		mod.add(t, dir, out)
	}
	// The tests of single packages; place has the duties of the hook: R45, R47, R48, R53, R57, R60,
	// R70, R77, R83.
	for _, pkg := range []string{"place", "lists", "kinds", "recursion", "opsboth"} {
		special, err := os.ReadFile("testdata/" + pkg + "_test.go.txt")
		if err != nil {
			t.Fatal(err)
		}
		mod.write(t, "ok/"+pkg+"/special_test.go", special)
	}
	longRun(t, "the generated code equals the golden files; to build and run it takes long")
	mod.run(t, "-short=false")
}

// longRun skips the rest of a test in short runs. What CODEC_GOARCH asks for is
// never short: see make test-arch.
func longRun(t *testing.T, why string) {
	t.Helper()
	if testing.Short() && os.Getenv("CODEC_GOARCH") == "" {
		t.Skip(why)
	}
}

// slowWithRaces skips a test of generated code that the race detector makes slow. Other tests start
// the same goroutines.
func slowWithRaces(t *testing.T) {
	t.Helper()
	if testing.Short() && xdrtest.Race {
		t.Skip("takes half a minute with the race detector; other tests start the same goroutines")
	}
}

// module is a Go module in a temporary folder that uses this one.
type module struct{ dir string }

func newModule(t *testing.T) module {
	t.Helper()
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	m := module{t.TempDir()}
	m.write(t, "go.mod", fmt.Appendf(nil, "module example.org\n\ngo 1.26\n\nrequire github.com/rpcrdma/rpcrdma v0.0.0\n\nreplace github.com/rpcrdma/rpcrdma => %s\n", root))
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, "go.sum", sum)
	return m
}

func (m module) write(t *testing.T, name string, content []byte) {
	t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
}

func (m module) add(t *testing.T, dir string, files []File) {
	t.Helper()
	for _, f := range files {
		m.write(t, dir+"/"+f.Name, f.Content)
	}
}

// unvetted is an argument of run: go vet takes a third of the processor time, and finds faults of
// the templates, which TestEveryOptionOnEveryUnitCompiles and TestGoodFilesGiveTestedPackages vet.
const unvetted = "-vet=off"

// run tests the module; go test vets what it tests, without unvetted. Generated tests run with
// -short, so they corrupt only a third of the places in each input. In
// TestGoodFilesGiveTestedPackages and in gen/ they corrupt all of them. CODEC_GOARCH names another
// architecture to test, and CODEC_EXEC the program that runs its binaries: see make test-arch. With
// -trimpath the build cache knows packages that did not change, though their folder is another one
// each time. args are further arguments of go test.
func (m module) run(t *testing.T, args ...string) {
	t.Helper()
	cmd := m.command("go", slices.Concat([]string{"test", "-vet=all", "-short"}, args, []string{"./..."})...)
	if arch := os.Getenv("CODEC_GOARCH"); arch != "" {
		cmd = m.command("go", slices.Concat([]string{"test", "-vet=off", "-exec=" + os.Getenv("CODEC_EXEC")}, args, []string{"-short", "./..."})...)
		cmd.Env = append(cmd.Env, "GOARCH="+arch, "CGO_ENABLED=0")
	}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// command is a command to run in the module.
func (m module) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off")
	return cmd
}
