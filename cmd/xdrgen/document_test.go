package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const marksOfDocument = "1.  Introduction\n\n   This is a protocol.\n\n   /// const SIZE = 4;\n   /// struct blob {\n   ///     opaque data[SIZE];\n   /// };\n"

// TestADocumentNamesTheCommandThatCompilesIt runs the command in the message.
func TestADocumentNamesTheCommandThatCompilesIt(t *testing.T) {
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin+"/", ".", "../../tools/extract").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+"/usr/bin:/bin")
	for _, args := range [][]string{
		{"gen", "-o", "kv", "-package", "kv", "my draft.txt"},
		{"check", "my draft.txt"},
		{"lint", "-D", "A=1", "my draft.txt"},
	} {
		t.Chdir(writeFiles(t, map[string]string{"my draft.txt": marksOfDocument}))
		_, stderr, code := runCommand(t, args...)
		message, command, found := strings.Cut(stderr, "\n  ")
		if code != exitUsage || !strings.Contains(message, "my draft.txt is a document: its XDR is in 4 lines that begin with ///") || !found {
			t.Fatalf("%v: exit code %d, %s", args, code, stderr)
		}
		command, _, _ = strings.Cut(command, "\n")
		if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", command, err, out)
		}
		if args[0] == "gen" && !exists("kv/kv_xdr.go") {
			t.Errorf("%s wrote no package", command)
		}
	}
}

// TestInterfaceFilesWithThreeSlashesAreNoDocuments compiles files that have such lines as comments,
// and others that are not named .x.
func TestInterfaceFilesWithThreeSlashesAreNoDocuments(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"a.x":   "/// struct old { int x; }; is gone {\nstruct a { int x; };\n",
		"b.xdr": "/// const values are below\nstruct a { int x; };\n",
		"c.txt": "struct a { int x; };\n",
	}))
	for _, name := range []string{"a.x", "b.xdr", "c.txt"} {
		if stdout, stderr, code := runCommand(t, "check", name); code != exitClean {
			t.Errorf("%s: exit code %d, %s%s", name, code, stdout, stderr)
		}
	}
}
