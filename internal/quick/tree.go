package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// unit is a package as go list describes it.
type unit struct {
	ImportPath                string
	Dir                       string
	Module                    struct{ Path string }
	GoFiles, CgoFiles         []string
	TestGoFiles, XTestGoFiles []string
	EmbedFiles                []string
	Imports                   []string
	TestImports, XTestImports []string
	TestEmbedFiles            []string
	name                      string // the folder from the module's root, with slashes
}

// fields are those of unit, for go list.
const fields = "-json=ImportPath,Dir,Module,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,EmbedFiles,Imports,TestImports,XTestImports,TestEmbedFiles"

// tree is the root module with its packages, and those of the other modules that go.work uses.
type tree struct {
	root   string           // folder of go.mod
	module string           // the root module; the paths of the others begin with it
	units  map[string]*unit // by name
}

// loadTree lists the packages of the modules around dir. Packages that do not compile are listed,
// too.
func loadTree(ctx context.Context, dir string) (*tree, error) {
	env, err := output(ctx, dir, "go", "env", "GOMOD", "GOWORK")
	if err != nil {
		return nil, err
	}
	mod, work, _ := strings.Cut(env, "\n")
	if filepath.Base(mod) != "go.mod" {
		return nil, fmt.Errorf("no go.mod in %s or above it: run quick in the module's folder", dir)
	}
	if filepath.Base(work) == "go.work" {
		mod = filepath.Join(filepath.Dir(work), "go.mod")
	}
	t := &tree{root: filepath.Dir(mod), units: make(map[string]*unit)}
	text, err := output(ctx, t.root, "go", "mod", "edit", "-json")
	if err != nil {
		return nil, err
	}
	var edit struct{ Module struct{ Path string } }
	if err := json.Unmarshal([]byte(text), &edit); err != nil {
		return nil, fmt.Errorf("output of go mod edit: %w", err)
	}
	t.module = edit.Module.Path
	text, err = output(ctx, t.root, "go", "list", "-e", fields, "work")
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(strings.NewReader(text))
	for {
		u := new(unit)
		if err := dec.Decode(u); errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, fmt.Errorf("output of go list: %w", err)
		}
		u.name = t.nameOf(u.ImportPath)
		t.units[u.name] = u
	}
}

// nameOf returns a package's folder relative to the module's root, or "" if the package is not in
// the module.
func (t *tree) nameOf(importPath string) string {
	if importPath == t.module {
		return "."
	}
	name, ok := strings.CutPrefix(importPath, t.module+"/")
	if !ok {
		return ""
	}
	return name
}

// patterns returns the arguments that select packages in the go command.
func patterns(names []string) []string {
	args := make([]string, len(names))
	for i, name := range names {
		args[i] = "./" + name
	}
	return args
}

// owner returns the package in the folder of a file or in the nearest folder above it, or "".
func (t *tree) owner(file string) string {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if t.units[dir] != nil {
			return dir
		}
		if dir == "." {
			return ""
		}
	}
}

// importers returns the packages that depend on those named, by distance: first those that import
// one of them, then those that import these, and so on. A package whose tests alone import one
// counts too, but not those that import it. Each list is sorted.
func (t *tree) importers(of []string) [][]string {
	imports, tests := make(map[string][]string), make(map[string][]string) // importers by imported
	for name, u := range t.units {
		for _, p := range u.Imports {
			imports[t.nameOf(p)] = append(imports[t.nameOf(p)], name)
		}
		for _, p := range slices.Concat(u.TestImports, u.XTestImports) {
			tests[t.nameOf(p)] = append(tests[t.nameOf(p)], name)
		}
	}
	listed, followed := make(map[string]bool), make(map[string]bool)
	for _, name := range of {
		listed[name], followed[name] = true, true
	}
	var levels [][]string
	for at := of; len(at) > 0; {
		var level, next []string
		list := func(name string) {
			if !listed[name] {
				listed[name] = true
				level = append(level, name)
			}
		}
		for _, imported := range at {
			for _, name := range imports[imported] {
				if !followed[name] {
					followed[name] = true
					next = append(next, name)
				}
				list(name)
			}
			for _, name := range tests[imported] {
				list(name)
			}
		}
		if len(level) > 0 {
			slices.Sort(level)
			levels = append(levels, level)
		}
		at = next
	}
	return levels
}

// folders returns the packages that have tests of one of those named, and nothing else, in a folder
// below it, such as rdmaio/internal/test/credits of rdmaio.
func (t *tree) folders(of []string) (list []string) {
	for name, u := range t.units {
		tests := len(u.Imports) == 0 && slices.ContainsFunc(of, func(above string) bool {
			imported := path.Join(t.module, above)
			return strings.HasPrefix(name, above+"/") && slices.Contains(slices.Concat(u.TestImports, u.XTestImports), imported)
		})
		if tests && !slices.Contains(of, name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// output returns what a command prints, without space at its end.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimRight(string(out), " \n"), nil
}
