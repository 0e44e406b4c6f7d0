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

// fenced returns the block of Go code that begins with the given line.
func fenced(t *testing.T, page, first string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, "\n```go\n"+first)
	code, _, ends := strings.Cut(rest, "```\n")
	if !ok || !ends {
		t.Fatalf("%s has no Go code %q", extensionDoc, first)
	}
	return first + code
}

// printed returns the output that the page gives for a command: the indented lines after the line
// "It prints" that follows the command.
func printed(t *testing.T, page, command string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, "\n    "+command+"\n\nIt prints\n\n")
	block, _, ends := strings.Cut(rest, "\n\n")
	if !ok || !ends {
		t.Fatalf("%s has no output of %q", extensionDoc, command)
	}
	return strings.ReplaceAll(strings.TrimPrefix(block, "    "), "\n    ", "\n") + "\n"
}

const useExtension = `package flowhint

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

func TestExtensionPageIsTrue(t *testing.T) {
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
// extension, runs make generate, builds and uses the package, and runs the program of the page,
// which must print the lines of the page. It edits no other file (D5, R322, R323).
func TestExtensionExample(t *testing.T) {
	if testing.Short() {
		t.Skip("generates all packages, in a copy of the module")
	}
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
		"examples/flowhint/main.go":     fenced(t, string(page), "// Command flowhint"),
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
	defer func() {
		script, err := os.ReadFile(filepath.Join(copied, "tools", "wireshark", "rpcrdma2.lua"))
		if err != nil || !strings.Contains(string(script), `[100] = {name="FLOWHINT_RATE_TYPE"`) || !strings.Contains(string(script), "XCHARCARRIER_HTYPE") {
			t.Errorf("the dissector of version 2 does not have the header types of all extensions: %v", err)
		}
	}()
	for _, line := range []string{
		"make generate",
		"bin/xdrgen check -strict -I spec/x spec/x/flowhint/flowhint.x",
		"go vet ./gen/flowhint",
		"go test ./gen/flowhint",
		"go vet ./examples/flowhint",
		"gofmt -l examples/flowhint",
		"go run ./examples/flowhint",
	} {
		command := strings.Fields(line)
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = copied
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		want := ""
		switch command[0] + command[1] {
		case "gorun":
			want = printed(t, string(page), line)
		case "gofmt-l":
		default:
			continue
		}
		if string(out) != want {
			t.Errorf("%s prints\n%s, the page says\n%s", line, out, want)
		}
	}
}
