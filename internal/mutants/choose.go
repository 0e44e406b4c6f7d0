package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// named returns the mutants whose name or file contains part.
func named(all []mutant, part string) (chosen []mutant) {
	for _, m := range all {
		if strings.Contains(m.name, part) || strings.Contains(m.file, part) {
			chosen = append(chosen, m)
		}
	}
	return chosen
}

// within returns the mutants in a file, or in the files of a folder and of those below it.
func within(all []mutant, room string) (chosen []mutant) {
	room = path.Clean(filepath.ToSlash(room))
	for _, m := range all {
		if room == "." || m.file == room || strings.HasPrefix(m.file, room+"/") {
			chosen = append(chosen, m)
		}
	}
	return chosen
}

// expanded returns the mutants with the folders that have tests, in and below FOLDER, in place of
// FOLDER/... in their lists. A folder that a list has already is not in it again.
func expanded(all []mutant, root string) ([]mutant, error) {
	folders := make(map[string][]string) // by pattern
	all = slices.Clone(all)
	for i := range all {
		var tests []string
		for _, pkg := range all[i].tests {
			above, ok := strings.CutSuffix(pkg, "/...")
			if !ok {
				tests = append(tests, pkg)
				continue
			}
			if folders[pkg] == nil {
				list, err := tested(root, above)
				if err != nil {
					return nil, err
				}
				folders[pkg] = list
			}
			for _, pkg := range folders[pkg] {
				if !slices.Contains(tests, pkg) {
					tests = append(tests, pkg)
				}
			}
		}
		all[i].tests = tests
	}
	return all, nil
}

// tested returns the folders with tests, in and below a folder.
func tested(root, folder string) (list []string, err error) {
	err = filepath.WalkDir(filepath.Join(root, filepath.FromSlash(folder)), func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(name))
		if pkg := filepath.ToSlash(rel); err == nil && !slices.Contains(list, pkg) {
			list = append(list, pkg)
		}
		return err
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s/...: no folder has tests", folder)
	}
	return list, err
}

// hunk is a changed part of a file: lines first to last, or the place between them if lines were
// only removed.
type hunk struct{ first, last int }

// touched returns the mutants whose function, or other declaration, differs from revision rev in
// the tree, and those whose entry in a list does. If rev is empty, it is the commit at which the
// current branch left main.
func touched(all []mutant, root, rev string) (chosen []mutant, err error) {
	if rev == "" {
		out, err := git(root, "merge-base", "main", "HEAD")
		if err != nil {
			return nil, err
		}
		rev = strings.TrimSpace(string(out))
	}
	// With --relative, paths are from root, wherever the repository begins.
	out, err := git(root, "diff", "--relative", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/", "-U0", rev, "--", ".")
	if err != nil {
		return nil, err
	}
	changes, added := parseDiff(out)
	for _, m := range all {
		is := strings.Contains(added, "{"+strconv.Quote(m.name)+", ")
		if hunks := changes[m.file]; !is && len(hunks) > 0 {
			if is, err = m.inside(root, hunks); err != nil {
				return nil, err
			}
		}
		if is {
			chosen = append(chosen, m)
		}
	}
	return chosen, nil
}

func git(root string, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}

var hunkLine = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// parseDiff returns the hunks of a diff without context, by file, and the lines that it adds to
// lists of mutants.
func parseDiff(diff []byte) (changes map[string][]hunk, added string) {
	changes = make(map[string][]hunk)
	file, header := "", false
	for line := range strings.Lines(string(diff)) {
		line = strings.TrimSuffix(line, "\n")
		switch match := hunkLine.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "diff --git "):
			file, header = "", true
		case header && strings.HasPrefix(line, "+++ b/"):
			file = strings.TrimPrefix(line, "+++ b/")
		case match != nil:
			header = false
			first, _ := strconv.Atoi(match[1])
			count := 1
			if match[2] != "" {
				count, _ = strconv.Atoi(match[2])
			}
			if count == 0 { // removed after line first
				count = 2
			}
			changes[file] = append(changes[file], hunk{first, first + count - 1})
		case !header && strings.HasPrefix(line, "+") && strings.HasPrefix(path.Base(file), "list"):
			added += line[1:] + "\n"
		}
	}
	return changes, added
}

// inside reports whether a hunk is in the declaration that contains the mutant's text. A mutant
// whose text is not found is inside: the change may be the reason.
func (m *mutant) inside(root string, hunks []hunk) (bool, error) {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return false, err
	}
	at := bytes.Index(text, []byte(m.old))
	s, err := parse(text)
	if at < 0 || err != nil {
		return true, nil
	}
	line := func(offset int) int { return bytes.Count(text[:offset], []byte("\n")) + 1 }
	from, to := line(at), line(at+len(m.old))
	for _, d := range s.file.Decls {
		if inDecl(d, at, at+len(m.old)) {
			from, to = min(from, line(int(d.Pos())-1)), max(to, line(int(d.End())-1))
		}
	}
	for _, h := range hunks {
		if h.first <= to && from <= h.last {
			return true, nil
		}
	}
	return false, nil
}

// inDecl reports whether a declaration has a part of the text from one offset to another.
func inDecl(d ast.Decl, from, to int) bool { return int(d.Pos())-1 < to && from < int(d.End())-1 }
