package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// scope lists the packages and files to check, and the changed files for which there is no check.
type scope struct {
	title     string
	files     []string // changed Go files that exist, for gofmt
	touched   []string // packages with changed files
	folders   []string // packages with their tests alone, see tree.folders
	importers [][]string
	notes     []string // checks that a change needs and quick does not have, with their commands
}

// change is a file that differs from the base commit, by its path from the module's root.
type change struct {
	file    string
	deleted bool
}

// scope returns what to check: the packages named, or those with changed files.
func (t *tree) scope(ctx context.Context, s settings) (*scope, error) {
	if len(s.packages) > 0 {
		return t.named(s.packages)
	}
	base, title, err := t.base(ctx, s.base)
	if err != nil {
		return nil, err
	}
	changes, err := t.changes(ctx, base)
	if err != nil {
		return nil, err
	}
	sc := t.touch(changes)
	sc.title = fmt.Sprintf("%s against %s", count(len(changes), "changed file"), title)
	return sc, nil
}

// named returns the scope of the packages that the arguments name.
func (t *tree) named(args []string) (*scope, error) {
	sc := &scope{title: "the packages named"}
	for _, arg := range args {
		name := path.Clean(strings.TrimPrefix(filepath.ToSlash(arg), t.module+"/"))
		above, all := strings.CutSuffix("./"+name, "/...")
		above = strings.TrimPrefix(above+"/", "./")
		found := false
		for _, u := range t.units {
			if u.name == name || all && strings.HasPrefix(u.name+"/", above) {
				found = true
				sc.touched = append(sc.touched, u.name)
				for _, f := range slices.Concat(u.GoFiles, u.CgoFiles, u.TestGoFiles, u.XTestGoFiles) {
					sc.files = append(sc.files, path.Join(u.name, f))
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("no package %q in module %s: expected a folder from the module's root, such as internal/quick", arg, t.module)
		}
	}
	slices.Sort(sc.touched)
	sc.touched = slices.Compact(sc.touched)
	sc.folders = t.folders(sc.touched)
	sc.importers = without(t.importers(sc.touched), sc.folders)
	return sc, nil
}

// base returns the commit to compare with, and its description.
func (t *tree) base(ctx context.Context, asked string) (commit, title string, err error) {
	head, err := output(ctx, t.root, "git", "rev-parse", "--verify", "HEAD")
	if err != nil {
		return "", "", fmt.Errorf("find the change: name the packages instead, for example make quick QUICK=rdmaio: %w", err)
	}
	if asked != "" {
		commit, err = output(ctx, t.root, "git", "rev-parse", "--verify", "--end-of-options", asked+"^{commit}")
		if err != nil {
			return "", "", fmt.Errorf("-base: %w", err)
		}
		return commit, asked, nil
	}
	for _, branch := range []string{"main", "origin/main"} {
		if commit, err := output(ctx, t.root, "git", "merge-base", "HEAD", branch); err == nil && commit != head {
			return commit, commit[:12] + ", the merge base with " + branch, nil
		} else if err == nil {
			break
		}
	}
	return head, "HEAD", nil
}

// changes returns the files that differ from a commit, and the untracked ones.
func (t *tree) changes(ctx context.Context, base string) ([]change, error) {
	diff, err := output(ctx, t.root, "git", "diff", "--name-status", "--no-renames", "--relative", "-z", base)
	if err != nil {
		return nil, err
	}
	var changes []change
	fields := strings.Split(diff, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		changes = append(changes, change{file: fields[i+1], deleted: fields[i] == "D"})
	}
	untracked, err := output(ctx, t.root, "git", "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	for _, file := range strings.Split(untracked, "\x00") {
		if file != "" {
			changes = append(changes, change{file: file})
		}
	}
	return changes, nil
}

// readers lists packages that check files outside their folder. Tests of a package often read the
// documents or commands of another one; this table has those that read nothing else.
var readers = []struct{ prefix, name string }{
	{"spec/", "tools/extract"},
	{"docs/requirements.md", "tools/speccheck"},
	{"docs/scenarios.md", "tools/speccheck"},
	{"docs/pitfalls.md", "tools/speccheck"},
}

// touch maps changed files to packages. Importers follow only from files that are compiled into a
// package: a test, or a file in testdata, changes nothing for them.
func (t *tree) touch(changes []change) *scope {
	sc := &scope{}
	compiled, tests := make(map[string]bool), make(map[string]bool)
	generated, sources := "", false
	for _, c := range changes {
		before, _, data := strings.Cut("/"+c.file, "/testdata/")
		module := t.nested(c.file)
		switch name := path.Base(c.file); {
		case data && t.owner(strings.TrimPrefix(before+"/x", "/")) != "":
			tests[t.owner(strings.TrimPrefix(before+"/x", "/"))] = true
		case module != "":
			sc.note("%s: a module that go.work does not use: make test-%[1]s", module)
		case slices.Contains([]string{"go.mod", "go.sum", "go.work", "go.work.sum"}, name):
			sc.importers = [][]string{nil} // all packages, below
		case strings.HasSuffix(name, ".go"):
			if !c.deleted {
				sc.files = append(sc.files, c.file)
			}
			dir := path.Dir(c.file)
			switch {
			case t.units[dir] == nil && !c.deleted:
				sc.note("%s: the go command lists no package in this folder for this system: make test-systems", c.file)
			case strings.HasSuffix(name, "_test.go"):
				tests[dir] = true
			default:
				compiled[dir] = true
				sources = sources || strings.HasPrefix(dir, "cmd/xdrgen/") || strings.HasPrefix(dir, "cmd/internal/")
				if !c.deleted && t.isGenerated(c.file) {
					generated = c.file
				}
			}
		default:
			sources = sources || strings.HasPrefix(c.file, "spec/") || strings.HasSuffix(name, ".x")
			owner, embedded := t.other(c.file)
			if embedded {
				compiled[owner] = true
			} else if owner != "" {
				tests[owner] = true
			}
		}
	}
	if sources {
		sc.note("the compiler or its input has changed: make check-generated regenerates all code and compares")
	} else if generated != "" {
		sc.note("%s is generated: make check-generated shows whether make generate would undo the change", generated)
	}
	var from []string
	for name := range compiled {
		from = append(from, name)
		tests[name] = true
	}
	slices.Sort(from)
	for name := range tests {
		if t.units[name] != nil { // else it was deleted, and its importers do not compile
			sc.touched = append(sc.touched, name)
		}
	}
	slices.Sort(sc.touched)
	everything := sc.importers != nil
	sc.importers = t.importers(from)
	if everything {
		sc.importers = append(sc.importers, t.rest(sc))
	}
	// A package is tested once: one whose own tests have changed may import a changed package.
	sc.folders = slices.DeleteFunc(t.folders(from), func(name string) bool { return tests[name] })
	sc.importers = without(sc.importers, sc.touched, sc.folders)
	return sc
}

// without removes the packages in some from levels, and returns levels.
func without(levels [][]string, some ...[]string) [][]string {
	not := slices.Concat(some...)
	for i, level := range levels {
		levels[i] = slices.DeleteFunc(level, func(name string) bool { return slices.Contains(not, name) })
	}
	return slices.DeleteFunc(levels, func(level []string) bool { return len(level) == 0 })
}

// note adds a note, once.
func (sc *scope) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(sc.notes, text) {
		sc.notes = append(sc.notes, text)
	}
}

// rest returns the packages that are in no list of the scope.
func (t *tree) rest(sc *scope) []string {
	listed := slices.Concat(append(sc.importers, sc.touched)...)
	var rest []string
	for name := range t.units {
		if !slices.Contains(listed, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	return rest
}

// other returns the package of a file that is not a Go file, and whether the package embeds it:
// then its importers depend on it.
func (t *tree) other(file string) (name string, embedded bool) {
	if rest, ok := strings.CutPrefix(file, "spec/x/"); ok {
		if name := t.target(strings.Split(rest, "/")[0]); t.units[name] != nil {
			return name, false
		}
	}
	for _, r := range readers {
		if strings.HasPrefix(file, r.prefix) && t.units[r.name] != nil {
			return r.name, false
		}
	}
	name = t.owner(file)
	if name == "" {
		return "", false
	}
	return name, slices.Contains(t.units[name].EmbedFiles, strings.TrimPrefix(file, name+"/"))
}

// target returns the package that is generated from a unit of spec/x: the sidecar's package
// line names it, else it is gen/<unit>.
func (t *tree) target(unit string) string {
	sidecars, _ := filepath.Glob(filepath.Join(t.root, "spec", "x", unit, "*.bind"))
	for _, file := range sidecars {
		text, _ := os.ReadFile(file) // if it cannot be read, the default applies
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) == 2 && f[0] == "package" {
				return t.nameOf(f[1])
			}
		}
	}
	return "gen/" + unit
}

// nested returns the folder of the module that a file belongs to, or "" if it is the root module or
// another one that go.work uses.
func (t *tree) nested(file string) string {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(t.root, filepath.FromSlash(dir), "go.mod")); err == nil && !t.uses(dir) {
			return dir
		} else if err == nil {
			break
		}
	}
	return ""
}

// uses reports whether go.work uses the module in a folder.
func (t *tree) uses(folder string) bool {
	for _, u := range t.units {
		if u.Module.Path == path.Join(t.module, folder) {
			return true
		}
	}
	return false
}

// isGenerated reports whether a Go file has the line of generated code before its package clause.
func (t *tree) isGenerated(file string) bool {
	text, err := os.ReadFile(filepath.Join(t.root, filepath.FromSlash(file)))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "// Code generated ") && strings.HasSuffix(line, " DO NOT EDIT.") {
			return true
		}
		if strings.HasPrefix(line, "package ") {
			return false
		}
	}
	return false
}

// count returns a number with a noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
