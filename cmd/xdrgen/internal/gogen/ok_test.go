package gogen

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/sema"
	"github.com/rpcrdma/rpcrdma/internal/golden"
)

const okDir = "../../testdata/ok"

// compile runs the front end and the generator over one file of testdata/ok.
func compile(t *testing.T, file string) (u *ir.Unit, b *ir.Bind, pkg string, out []File) {
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
	files, diags, err := Generate(r.Unit, r.Bind, Options{Package: pkg})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range diags {
		t.Fatalf("%s: %s", file, d.Message)
	}
	return r.Unit, r.Bind, pkg, files
}

// typeNames lists the Go types of a unit that have methods, by declaration.
func typeNames(u *ir.Unit, b *ir.Bind) map[*ir.Decl]string {
	n := newNames()
	n.add(u.Decls, b, true)
	out := map[*ir.Decl]string{}
	for _, d := range u.Decls {
		switch {
		case d.Kind == ir.Const, d.Kind == ir.Program:
		case d.Kind == ir.Typedef && (isTransparent(d) || isAlias(d)):
		case d.List != nil && len(d.List.Elem) == 1:
		default:
			out[d] = n.decl[d]
		}
	}
	return out
}

// TestOK holds what is generated for testdata/ok against golden files, and then
// builds, vets and runs it: valid wires made from the ir alone must decode in
// both modes, into fresh and used values, and encode to the same bytes; every
// prefix of them must be refused.
func TestOK(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(okDir, "*.x"))
	units, _ := filepath.Glob(filepath.Join(okDir, "units/*/*.x"))
	if files = append(files, units...); len(files) == 0 {
		t.Fatalf("no files in %s", okDir)
	}
	mod := newModule(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, file := range files {
		u, b, pkg, out := compile(t, file)
		golden.Check(t, strings.TrimSuffix(file, ".x")+".go.golden", out[0].Content)
		golden.Check(t, strings.TrimSuffix(file, ".x")+"_view.go.golden", out[1].Content)
		dir := "ok/" + pkg
		if path, ok := strings.CutPrefix(b.Package, "example.org/"); ok {
			dir = path
		}
		mod.add(t, dir, pkg, out, wires(u, b, r))
	}
	// What is special to one of them.
	special, err := os.ReadFile("testdata/place_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	mod.write(t, "ok/place/hook_test.go", special)
	mod.run(t)
}

type wire struct {
	Type string
	Hex  []string
}

func wires(u *ir.Unit, b *ir.Bind, r *rand.Rand) []wire {
	names := typeNames(u, b)
	var out []wire
	for _, d := range u.Decls {
		name, ok := names[d]
		if !ok {
			continue
		}
		w := wire{Type: name}
		for i := range 24 {
			g := &wirer{r: r, deep: i % 6}
			w.Hex = append(w.Hex, fmt.Sprintf("%x", g.decl(nil, d)))
		}
		out = append(out, w)
	}
	return out
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

func (m module) add(t *testing.T, dir, pkg string, out []File, ws []wire) {
	t.Helper()
	for _, f := range out {
		m.write(t, dir+"/"+f.Name, f.Content)
	}
	text, err := os.ReadFile("testdata/roundtrip.go.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var test bytes.Buffer
	tmpl := template.Must(template.New("").Parse(string(text)))
	if err := tmpl.Execute(&test, map[string]any{"Package": pkg, "Wires": ws}); err != nil {
		t.Fatal(err)
	}
	m.write(t, dir+"/"+pkg+"_test.go", test.Bytes())
}

// run tests the module; go test vets what it tests.
func (m module) run(t *testing.T) {
	t.Helper()
	cmd := exec.Command("go", "test", "-vet=all", "./...")
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
