package main

import "testing"

// A mutant's text is found in another file of its package, if it is there once. Texts of tests, of
// other packages, and those that are in several places are not taken.
func TestMutantFollowsItsText(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"p/p.go": "stays stays2\ntwice twice\n", "p/q.go": "stays\nmoved\ntwice\nboth\n", "p/r.go": "both\ndouble double\n",
		"p/p_test.go": "tested\nmoved\n", "p/sub/s.go": "below\n",
	} {
		write(t, root, name, text)
	}
	for _, tt := range []struct{ file, old, want string }{
		{"p/p.go", "stays2", "p/p.go"},
		{"p/p.go", "stays", "p/p.go"},
		{"p/p.go", "moved", "p/q.go"},
		{"p/gone.go", "moved", "p/q.go"},
		{"p/p.go", "twice", "p/p.go"},
		{"p/p.go", "both", "p/p.go"},
		{"p/p.go", "double", "p/p.go"},
		{"p/p.go", "tested", "p/p.go"},
		{"p/p.go", "below", "p/p.go"},
		{"none/p.go", "moved", "none/p.go"},
		{"p/a_test.go", "stays2", "p/a_test.go"},
	} {
		list := []mutant{{name: "a", file: tt.file, old: tt.old}}
		if got := located(list, root)[0].file; got != tt.want {
			t.Errorf("%q of %s: found in %s, want %s", tt.old, tt.file, got, tt.want)
		}
		if list[0].file != tt.file {
			t.Error("the list itself has changed")
		}
	}
}
