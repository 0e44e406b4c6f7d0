package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

const extensionDoc = "../../docs/adding-an-extension.md"

// example returns the indented block of the page that begins with the given line, without the
// indentation.
func example(t *testing.T, page, first string) string {
	t.Helper()
	const indent = "       "
	_, rest, ok := strings.Cut(page, "\n"+indent+first)
	if !ok {
		t.Fatalf("%s has no block %q", extensionDoc, first)
	}
	out := first
	for i, l := range strings.Split(rest, "\n") {
		if i > 0 && l != "" && !strings.HasPrefix(l, indent) {
			break
		}
		if i > 0 {
			out += "\n"
		}
		out += strings.TrimPrefix(l, indent)
	}
	return strings.TrimSpace(out) + "\n"
}

const useExtension = `package flowhint

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

func TestExtension(t *testing.T) {
	x := Extension()
	if x.Find(xdr.Properties, uint32(PropID)) == nil {
		t.Error("property 200 has no type")
	}
	p := Prop{Class: ClassLatency, Rate: 7, Label: []byte("a")}
	b, err := p.MarshalBinary()
	if err != nil || len(b) != 16 {
		t.Errorf("%x, %v", b, err)
	}
}
`

// TestExtensionExample follows docs/adding-an-extension.md in a copy of the tree: it adds the
// extension, runs make generate, and builds and uses the package. It edits no other file. D5
func TestExtensionExample(t *testing.T) {
	witness.Program(t, "make")
	page, err := os.ReadFile(extensionDoc)
	if err != nil {
		t.Fatal(err)
	}
	root, copied := filepath.Join("..", ".."), t.TempDir()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != ".git" && e.Name() != "bin" {
			if err := os.CopyFS(filepath.Join(copied, e.Name()), os.DirFS(filepath.Join(root, e.Name()))); err != nil {
				t.Fatal(err)
			}
		}
	}
	files := map[string]string{
		"spec/x/flowhint/flowhint.x":    example(t, string(page), "#include \"rpcrdma2/common.x\""),
		"spec/x/flowhint/flowhint.bind": example(t, string(page), "# Go names"),
		"gen/flowhint/use_test.go":      useExtension,
	}
	for _, name := range []string{"go.mod", "go.sum", "Makefile"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	for name, text := range files {
		path := filepath.Join(copied, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{
		"make generate",
		"bin/xdrgen check -strict -I spec/x spec/x/flowhint/flowhint.x",
		"go vet ./gen/flowhint",
		"go test ./gen/flowhint",
	} {
		command := strings.Fields(line)
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = copied
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
}
