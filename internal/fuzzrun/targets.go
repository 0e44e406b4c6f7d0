package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// target is one fuzz target.
type target struct {
	dir  string // from the module's root, with slashes
	name string
}

func (t target) String() string { return t.dir + " " + t.name }

var (
	declared = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)
	progress = regexp.MustCompile(`(?m)^fuzz: elapsed: .*, execs: (\d+) `)
)

// targets returns the fuzz targets of the module at root, in order of folders
// and places. It leaves out testdata, hidden folders and further modules.
func targets(root string) ([]target, error) {
	var out []target
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if path == root {
				return nil
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
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
		for _, m := range declared.FindAllSubmatch(text, -1) {
			out = append(out, target{filepath.ToSlash(dir), string(m[1])})
		}
		return nil
	})
	return out, err
}

// executions returns the last count of executions that go test -fuzz printed, or 0.
func executions(out []byte) int {
	all := progress.FindAllSubmatch(out, -1)
	if len(all) == 0 {
		return 0
	}
	n, err := strconv.Atoi(string(all[len(all)-1][1]))
	if err != nil {
		return 0
	}
	return n
}
