package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWithChoosesTheMethods checks which methods the default, the sidecar and the flag give, in
// this order, and that unknown names are refused before anything is written.
func TestWithChoosesTheMethods(t *testing.T) {
	const text = "typedef string name<8>;\n"
	for _, c := range []struct {
		bind, flag string
		want       bool
	}{
		{"", "", true},
		{"", "none", false},
		{"", "string", true},
		{"with none\n", "", false},
		{"with none\n", "string", true},
		{"with none string\n", "", true},
		{"with string\n", "none", false},
		{"", "none,string", true},
	} {
		dir := writeFiles(t, map[string]string{"u.x": text, "u.bind": c.bind})
		args := []string{"gen", "-o", dir, "-package", "u", filepath.Join(dir, "u.x")}
		if c.flag != "" {
			args = append(args, "-with", c.flag)
		}
		if _, stderr, code := runCommand(t, args...); code != exitClean {
			t.Fatalf("%+v: exit code %d, %s", c, code, stderr)
		}
		out, err := os.ReadFile(filepath.Join(dir, "u_xdr.go"))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(out), ") String() string"); got != c.want {
			t.Errorf("sidecar %q, -with %s: String is there: %v", c.bind, c.flag, got)
		}
	}

	dir := writeFiles(t, map[string]string{"u.x": text, "go.mod": "module example.org/m\n"})
	if _, stderr, code := runCommand(t, "gen", "-o", filepath.Join(dir, "blanks"), "-with", "clone, equal", filepath.Join(dir, "u.x")); code != exitClean {
		t.Errorf("-with with a blank: exit code %d, %s", code, stderr)
	}
	for flag, want := range map[string]string{
		"strnig":      `-with: "strnig" is not an optional method; did you mean string?`,
		"json,,clone": "-with: a name is missing before or after a comma",
		"json, clon":  `-with: "clon" is not an optional method; did you mean clone?`,
		"string,xxxx": `-with: "xxxx" is not an optional method: use one of none, string, clone, equal, stream`,
	} {
		_, stderr, code := runCommand(t, "gen", "-o", filepath.Join(dir, "out"), "-with", flag, filepath.Join(dir, "u.x"))
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("-with %s: exit code %d, %s", flag, code, stderr)
		}
	}
	if exists(filepath.Join(dir, "out")) {
		t.Error("a refused flag wrote files")
	}
}
