package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/workspace"
)

// target is one fuzz target.
type target struct {
	dir    string // from the module's root, with slashes
	name   string
	floor  int    // executions in a second
	reason string // of a floor that is not defaultFloor
}

func (t target) String() string { return t.dir + " " + t.name }

// defaultFloor is the floor of a target that only decodes.
const defaultFloor = 2000

var (
	declared  = regexp.MustCompile(`(?m)^((?://.*\n)*)func (Fuzz\w+)\(\w+ \*testing\.F\)`)
	directive = regexp.MustCompile(`(?m)^//fuzz:floor\b(.*)$`)
)

// targets returns the fuzz targets of the module at root and of those that its go.work uses, in
// order of folders and places. It leaves out testdata, hidden folders and other modules.
func targets(root string) ([]target, error) {
	var out []target
	err := sources(root, func(dir, name string, text []byte) error {
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		for _, m := range declared.FindAllSubmatch(text, -1) {
			t := target{dir: dir, name: string(m[2]), floor: defaultFloor}
			if err := t.setFloor(m[1]); err != nil {
				return fmt.Errorf("%s/%s: %s: %w", dir, name, t.name, err)
			}
			out = append(out, t)
		}
		return nil
	})
	return out, err
}

// setFloor reads the directive in the comment above a target.
func (t *target) setFloor(comment []byte) error {
	all := directive.FindAllSubmatch(comment, -1)
	if len(all) == 0 {
		return nil
	}
	if len(all) > 1 {
		return fmt.Errorf("found %d fuzz:floor directives, expected one", len(all))
	}
	number, reason, _ := strings.Cut(strings.TrimSpace(string(all[0][1])), " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || reason == "" {
		return fmt.Errorf("found the directive %q, expected //fuzz:floor, a number above 0 and the reason", all[0][0])
	}
	t.floor, t.reason = n, reason
	return nil
}

// sources calls f with each Go file of the modules, except files in testdata and hidden folders.
func sources(root string, f func(dir, name string, text []byte) error) error {
	modules, err := workspace.Folders(root)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if path == root {
				return nil
			}
			if e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".") {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err != nil {
				return nil
			}
			dir, err := filepath.Rel(root, path)
			if err == nil && !slices.Contains(modules, filepath.ToSlash(dir)) {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		return f(filepath.ToSlash(dir), e.Name(), text)
	})
}
