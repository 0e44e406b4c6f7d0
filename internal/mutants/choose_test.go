package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

func names(list []mutant) string {
	var all []string
	for _, m := range list {
		all = append(all, m.name)
	}
	return strings.Join(all, " ")
}

// Mutants are chosen by a part of their name or file, or by their folder or file.
func TestChooseByNameAndRoom(t *testing.T) {
	list := []mutant{{name: "ab", file: "x/y.go"}, {name: "cd", file: "x/z.go"}, {name: "e", file: "xx/y/z.go"}}
	for part, want := range map[string]string{"": "ab cd e", "b": "ab", "z.go": "cd e", "x/": "ab cd e", "none": ""} {
		if got := names(named(list, part)); got != want {
			t.Errorf("-only %q: %s", part, got)
		}
	}
	for room, want := range map[string]string{"": "ab cd e", ".": "ab cd e", "x": "ab cd", "./x/": "ab cd", "x/z.go": "cd", "xx": "e", "y": ""} {
		if got := names(within(list, room)); got != want {
			t.Errorf("-room %q: %s", room, got)
		}
	}
}

// repository makes a git repository with a commit on branch main.
func repository(t *testing.T, files map[string]string) (root string, put func(name, text string)) {
	t.Helper()
	witness.Program(t, "git")
	root = t.TempDir()
	put = func(name, text string) { t.Helper(); write(t, root, name, text) }
	for name, text := range files {
		put(name, text)
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "."},
		{"-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "first"}, {"checkout", "-q", "-b", "work"},
	} {
		if _, err := git(root, args...); err != nil {
			t.Fatal(err)
		}
	}
	return root, put
}

// -touched chooses the mutants whose function a change touches, by an added, changed or removed
// line, and those whose entry is new. Others, in the same file, stay out.
func TestChooseTouched(t *testing.T) {
	const before = "package p\n\nfunc a() int {\n\tx := 1\n\treturn x\n}\n\nfunc b() int {\n\tx := 2\n\treturn x\n}\n\nconst c = 3\n"
	const q = "package q\n\nfunc d() int { return 4 }\n"
	list := []mutant{
		{name: "a", file: "p/p.go", old: "x := 1"}, {name: "b", file: "p/p.go", old: "x := 2"},
		{name: "c", file: "p/p.go", old: "c = 3"}, {name: "d", file: "q/q.go", old: "return 4"},
	}
	for _, tt := range []struct{ name, file, old, new, want string }{
		{"nothing", "p/p.go", "", "", ""},
		{"a changed line", "p/p.go", "return x\n}\n\nfunc b", "return x + 0\n}\n\nfunc b", "a"},
		{"an added line", "p/p.go", "x := 2", "x := 2\n\tx++", "b"},
		{"a removed line", "p/p.go", "\tx := 2\n\treturn x\n", "\tx := 2\n", "b"},
		{"a declaration", "p/p.go", "c = 3", "c = 3 + 0", "c"},
		{"a line between functions", "p/p.go", "}\n\nfunc b", "}\n\n// b is a function.\nfunc b", ""},
		{"the text itself", "q/q.go", "return 4", "return 5", "d"},
		{"an entry", "list.go", "", "\t{\"d\", \"q/q.go\", \"return 4\", \"return 5\", nil},\n", "d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"p/p.go": before, "q/q.go": q, "list.go": "package main\n"}
			root, put := repository(t, files)
			text := strings.Replace(files[tt.file], tt.old, tt.new, 1)
			if tt.old == "" {
				text = files[tt.file] + tt.new
			}
			put(tt.file, text)
			for _, rev := range []string{"", "main"} {
				got, err := touched(list, root, rev)
				if names(got) != tt.want || err != nil {
					t.Errorf("-touched %s: %q, %v, expected %q", rev, names(got), err, tt.want)
				}
			}
		})
	}
	root, _ := repository(t, map[string]string{"p/p.go": before})
	if _, err := touched(list, root, "nonesuch"); err == nil || !strings.Contains(err.Error(), "nonesuch") {
		t.Errorf("a revision that does not exist: %v", err)
	}
}

// FOLDER/... in a list of tests stands for each folder with tests, in and below FOLDER, once.
func TestFolderStandsForItsTests(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a/a_test.go", "a/b/c/c_test.go", "a/b/c/d_test.go", "a/d/d.go", "a/testdata/e_test.go"} {
		write(t, root, name, "package p\n")
	}
	list := []mutant{{name: "1", tests: []string{"x", "a/b/c", "a/..."}}, {name: "2", tests: []string{"x"}}}
	got, err := expanded(list, root)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"x", "a/b/c", "a"}; !slices.Equal(got[0].tests, want) || !slices.Equal(got[1].tests, list[1].tests) {
		t.Errorf("%v and %v, want %v and %v", got[0].tests, got[1].tests, want, list[1].tests)
	}
	for _, folder := range []string{"a/d", "nonesuch"} {
		if _, err := expanded([]mutant{{tests: []string{folder + "/..."}}}, root); err == nil || !strings.Contains(err.Error(), folder) {
			t.Errorf("%s, which has no tests: %v", folder, err)
		}
	}
}
