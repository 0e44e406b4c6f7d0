package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// regenerateCases are command lines of gen, run in a folder with regenerateFiles.
var regenerateCases = map[string][]string{
	"plain":   {"-o", "gen/blob", "x/blob.x"},
	"here":    {"-o", ".", "-package", "other", "x/blob.x"},
	"flags":   {"-o", "gen/blob", "-rpc", "-async", "-tests", "-views", "-with", "json,clone", "-with", "equal", "x/blob.x"},
	"include": {"-o", "gen/ext", "-I", "x", "-import-root", "example.org/m/gen", "x/ext/ext.x"},
	"bind":    {"-o", "gen/blob", "-bind", "binds/other.bind", "x/blob.x"},
	"names":   {"-o", "gen/blob", "-rename", "blob.name=Title", "-D", "EXTRA=1", "-type", "given=opaque<9>", "x/blob.x"},
	"two":     {"-o", "gen/two", "x/two/b.x", "x/two/a.x"},
	"folder":  {"-o", "gen/two", "x/two"},
	"blank":   {"-o", "gen/blob", "-package", "p", "x/with blank.x"},
}

var regenerateFiles = map[string]string{
	"go.mod":           "module example.org/m\n",
	"x/blob.x":         "struct blob { string name<>; };\n#ifdef EXTRA\nstruct extra { given g; };\n#endif\nprogram BLOB { version BLOB_V1 { blob GET(int) = 1; } = 1; } = 0x20000888;\n",
	"x/with blank.x":   "struct a { int b; };\n",
	"x/base/base.x":    "struct base { int v; };\n",
	"x/ext/ext.x":      "#include \"base/base.x\"\nstruct ext { base b; };\n",
	"x/two/a.x":        "struct a { b x; };\n",
	"x/two/b.x":        "struct b { int x; };\n",
	"binds/other.bind": "rename blob Parcel\n",
}

// TestRegenerateLineMakesTheSameFiles runs the command line in the comment of a generated package,
// in its folder in a copy of the tree, after the generated files were removed, and expects the same
// files.
func TestRegenerateLineMakesTheSameFiles(t *testing.T) {
	for name, args := range regenerateCases {
		t.Run(name, func(t *testing.T) {
			t.Chdir(writeFiles(t, regenerateFiles))
			if _, stderr, code := runCommand(t, append([]string{"gen"}, args...)...); code != exitClean {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			made := generatedFiles(t)
			command := regenerateLine(t, args[1], made)

			elsewhere := writeFiles(t, regenerateFiles)
			if err := os.MkdirAll(filepath.Join(elsewhere, args[1]), 0o777); err != nil {
				t.Fatal(err)
			}
			t.Chdir(filepath.Join(elsewhere, args[1]))
			words := shellWords(t, command)
			if words[0] != "xdrgen" {
				t.Fatalf("the command is %q", command)
			}
			if _, stderr, code := runCommand(t, words[1:]...); code != exitClean {
				t.Fatalf("%s: exit code %d: %s", command, code, stderr)
			}
			t.Chdir(elsewhere)
			if diff := cmp.Diff(made, generatedFiles(t)); diff != "" {
				t.Errorf("%s (-first +again):\n%s", command, diff)
			}
		})
	}
}

// generatedFiles returns the generated files below the current folder.
func generatedFiles(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".go") {
			text, err := os.ReadFile(name)
			out[filepath.ToSlash(name)] = string(text)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// regenerateLine returns the command in the package comment of the package in a folder.
func regenerateLine(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		_, after, found := strings.Cut(text, "//\txdrgen gen ")
		if filepath.Dir(name) != filepath.Clean(dir) || !found {
			continue
		}
		command := "xdrgen gen "
		for line := range strings.Lines(after) {
			line = strings.TrimSpace(strings.TrimPrefix(line, "//"))
			part, more := strings.CutSuffix(line, "\\")
			if command += part; !more {
				return command
			}
		}
	}
	t.Fatalf("%s has no command: %d files", dir, len(files))
	return ""
}

// shellWords returns the words of a command as a shell divides it.
func shellWords(t *testing.T, command string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", "printf '%s\\n' "+command).Output()
	if err != nil {
		t.Skipf("no shell: %v", err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// TestRegenerateLineNamesNoFoldersOfTheMachine checks paths from folders that have only the root in
// common, and the width of the comment.
func TestRegenerateLineNamesNoFoldersOfTheMachine(t *testing.T) {
	for _, c := range []struct{ out, name, want string }{
		{"/a/b/out", "/a/b/x.x", "../x.x"},
		{"/a/b/out", "/a/x.x", "../../x.x"},
		{"/a/b/out", "/home/me/x.x", "x.x"},
		{"/a", "/x.x", "x.x"},
		{"/a/b", "/a/b/c/x.x", "c/x.x"},
		{"/a/b", "-", "-"},
		{"/a/b", "/a/x../../x.x", "../x.x"},
		{"/a/b", "/a/x..", "../x.."},
	} {
		if got := (&genFlags{Out: c.out}).fromOutput(c.name); got != c.want {
			t.Errorf("%s from %s: %s, want %s", c.name, c.out, got, c.want)
		}
	}
	for word, want := range map[string]string{"a/b.x": "a/b.x", "it's": `'it'\''s'`, "a b": "'a b'", "string<8>": "'string<8>'"} {
		if got := quoted(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
	t.Chdir(writeFiles(t, regenerateFiles))
	if _, stderr, code := runCommand(t, append([]string{"gen"}, regenerateCases["flags"]...)...); code != exitClean {
		t.Fatal(stderr)
	}
	for name, text := range generatedFiles(t) {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "//\t") && len(line) > 100 {
				t.Errorf("%s: %d columns: %s", name, len(line), line)
			}
		}
	}
}
