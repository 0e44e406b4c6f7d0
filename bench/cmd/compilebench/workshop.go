package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// workshop is a temporary folder with the programs to time and their input.
type workshop struct {
	dir, home             string // home is the folder of the main module
	root                  string // checkout to measure
	xdrgen, goxdr, protoc string // protoc is protoc-gen-go
}

// newWorkshop builds the programs. If root is empty, it is the main module that this one uses.
func newWorkshop(dir, root string) (*workshop, error) {
	mod, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/rpcrdma/rpcrdma").Output()
	if err != nil {
		return nil, fmt.Errorf("go list, in the bench module: %w", err)
	}
	home := strings.TrimSpace(string(mod))
	if root == "" {
		root = home
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	w := &workshop{
		dir: dir, home: home, root: root,
		xdrgen: filepath.Join(dir, "xdrgen"), goxdr: filepath.Join(dir, "goxdr"), protoc: filepath.Join(dir, "protoc-gen-go"),
	}
	return w, errors.Join(
		command(w.root, "go", "build", "-o", w.xdrgen, "./cmd/xdrgen"),
		command(w.root, "go", "build", "-o", filepath.Join(dir, "extract"), "./tools/extract"),
		command("", "go", "build", "-o", w.goxdr, "github.com/xdrpp/goxdr/cmd/goxdr"),
		command("", "go", "build", "-o", w.protoc, "google.golang.org/protobuf/cmd/protoc-gen-go"),
	)
}

func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return nil
}

// subject writes the file to compile: a copy of the file given, else the XDR of RFC 1813 with the
// errata of xdrgen's own tests. It replaces the names of C's types by XDR's, because not every peer
// knows the former.
func (w *workshop) subject(given string) (string, error) {
	file := filepath.Join(w.dir, "nfs3.x")
	if given != "" {
		text, err := os.ReadFile(given)
		if err != nil {
			return "", err
		}
		return file, errors.Join(os.WriteFile(file, text, 0o666), command("", w.xdrgen, "check", "-fix", file))
	}
	const document = "rfc1813.txt"
	spec, documents := filepath.Join(w.dir, "spec"), filepath.Join(w.root, "cmd/xdrgen/testdata/documents")
	text, err := os.ReadFile(filepath.Join(w.corpus(), "ietf", document))
	if err != nil {
		return "", fmt.Errorf("%w: set CORPUS to a folder with ietf/%s, or give -file", err, document)
	}
	errata, err := os.ReadFile(filepath.Join(documents, "errata", document))
	if err != nil {
		return "", err
	}
	manifest, err := os.ReadFile(filepath.Join(documents, "MANIFEST"))
	if err != nil {
		return "", err
	}
	_, entry, found := strings.Cut(string(manifest), "document "+document+"\n")
	if !found {
		return "", fmt.Errorf("%s/MANIFEST: no document %s", documents, document)
	}
	entry, _, _ = strings.Cut(entry, "\ndocument ")
	return file, errors.Join(
		os.MkdirAll(filepath.Join(spec, "errata"), 0o777),
		os.WriteFile(filepath.Join(spec, "errata", document), errata, 0o666),
		os.WriteFile(filepath.Join(spec, "MANIFEST"), []byte("document "+document+"\n"+entry), 0o666),
		os.WriteFile(filepath.Join(spec, document), text, 0o666),
		command("", filepath.Join(w.dir, "extract"), "-spec", spec),
		os.Rename(filepath.Join(spec, "x/nfs3/nfs3.x"), file),
		command("", w.xdrgen, "check", "-fix", file),
	)
}

// corpus returns the folder of documents. A relative path starts at the main module.
func (w *workshop) corpus() string {
	dir := os.Getenv("CORPUS")
	if dir == "" {
		dir = "../shared/corpus"
	}
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(w.home, dir)
}
