package archtest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// The list of large types only shrinks: a number that is too high now is to be lowered, and a type
// within the limits has no entry.
func TestLargeTypesShrink(t *testing.T) {
	root := filepath.Join("..", "..")
	c, err := newChecker(root, Table())
	if err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(root, c.visit); err != nil {
		t.Fatal(err)
	}
	for name, was := range c.large {
		switch is, ok := c.over[name]; {
		case !ok:
			t.Errorf("%s is within the limits, or gone: take it out of size_table.go", name)
		case is != was:
			t.Errorf("%s has %v: write that in size_table.go, not %v", name, is, was)
		}
	}
}

// Methods count once, in whichever files of the package they are, and those of tests and of
// generated files do not. Fields count by name; those of Config, Stats and Quirks types do
// not.
func TestSizeCountsMethodsAndFields(t *testing.T) {
	for _, tt := range []struct {
		name, typ       string
		methods, fields int
		test            int // methods in a test file
		want            string
	}{
		{"at the limits", "conn", maxMethods, maxFields, 5, ""},
		{"methods", "conn", maxMethods + 1, maxFields, 0, "rdmaio/internal/credit/a.go:4: size: type conn has 41 methods and 25 fields, expected at most 40 methods and 25 fields"},
		{"fields", "conn", maxMethods, maxFields + 1, 0, "rdmaio/internal/credit/a.go:4: size: type conn has 40 methods and 26 fields, expected at most 40 methods and 25 fields"},
		{"fields of a Config", "ServerConfig", 1, maxFields + 1, 0, ""},
		{"fields of Stats", "Stats", 1, maxFields + 1, 0, ""},
		{"fields of Quirks", "Quirks", 1, maxFields + 1, 0, ""},
		{"methods of a Config", "Config", maxMethods + 1, 1, 0, "type Config has 41 methods and 0 fields"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, "go.mod", "module example.com/m\n")
			var fields []string
			for i := range tt.fields - 1 {
				fields = append(fields, fmt.Sprintf("f%d", i))
			}
			body := "struct {\n\terror\n"
			if fields != nil {
				body += "\t" + strings.Join(fields, ", ") + " int\n"
			}
			method := func(i int) string { return fmt.Sprintf("\nfunc (c *%s) m%d() {}\n", tt.typ, i) }
			a := "// Package credit counts.\npackage credit\n\ntype " + tt.typ + " " + body + "}\n"
			b, more := "package credit\n", "package credit\n"
			for i := range tt.methods {
				if i%2 == 0 {
					a += method(i)
				} else {
					b += method(i)
				}
			}
			for i := range tt.test {
				more += method(100 + i)
			}
			write(t, root, "rdmaio/internal/credit/a.go", a)
			write(t, root, "rdmaio/internal/credit/b_linux.go", b)
			write(t, root, "rdmaio/internal/credit/b_windows.go", b)
			write(t, root, "rdmaio/internal/credit/a_test.go", more)
			got := ""
			for _, f := range checkAll(t, root) {
				got += f.String()
			}
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}
