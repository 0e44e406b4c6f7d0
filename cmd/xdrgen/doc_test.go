package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/golden"
)

// TestDocWritesAPage checks the forms of the command, where the output goes, and its refusals.
func TestDocWritesAPage(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"a.x":         "const C = 8;\nstruct entry { opaque b<C>; };\nprogram P { version V { entry GET(int) = 1; } = 1; } = 0x20000001;",
		"a.bind":      "ddp P.V.GET result b\n",
		"draft-a.txt": "1.  One\n\n   /// struct in_draft {\n   ///   int x;\n   /// };\n",
		"bad.x":       "struct s { missing a; };",
		"none.x":      "const C = 1;",
	})
	file := func(name string) string { return filepath.Join(dir, name) }
	out := file("out.html")
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{file("a.x")}, exitClean, "DDP-eligible: result b", ""},
		{[]string{"-text", file("a.x")}, exitClean, "result: entry, 4 to 12 bytes\n      DDP-eligible: result b\n", ""},
		{[]string{"-text", "-only", "entry", "-only", "C", file("a.x")}, exitClean, "entry\n   struct, 4 to 12 bytes, a.x:2\n", ""},
		{[]string{"-svg", "-only", "entry", file("a.x")}, exitClean, `<svg xmlns="http://www.w3.org/2000/svg" class="packet"`, ""},
		{[]string{file("draft-a.txt")}, exitClean, `<a href="#L3">draft-a.txt:3</a>; section 1</p>`, ""},
		{[]string{file("none.x")}, exitClean, `<tr id="const-C">`, ""},
		{[]string{"-svg", file("a.x")}, exitUsage, "", "name it with -only NAME"},
		{[]string{"-svg", "-text", "-only", "entry", file("a.x")}, exitUsage, "", "leave out -text"},
		{[]string{"-svg", "-only", "C", file("a.x")}, exitUsage, "", `-only "C": only types have packet pictures`},
		{[]string{"-only", "entri", file("a.x")}, exitUsage, "", `-only "entri": the unit has no such declaration; did you mean entry?`},
		{[]string{"-only", "qqqqqq", file("a.x")}, exitUsage, "", `-only "qqqqqq": the unit has no such declaration`},
		{[]string{file("bad.x")}, exitFindings, "", "missing"},
		{[]string{file("absent.x")}, exitFailed, "", "absent"},
		{[]string{"-o", out, file("a.x")}, exitClean, "", ""},
		{[]string{"-o", file("none/out.html"), file("a.x")}, exitFailed, "", "none"},
	} {
		stdout, stderr, code := runCommand(t, append([]string{"doc"}, tt.args...)...)
		if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stdout+stderr, tt.stderr) || tt.stdout == "" && tt.code == exitClean && stdout != "" {
			t.Errorf("%v: code %d, want %d with %q and %q\n%.1500s\n%s", tt.args, code, tt.code, tt.stdout, tt.stderr, stdout, stderr)
		}
	}
	written, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if again, _, _ := runCommand(t, "doc", file("a.x")); again != string(written) {
		t.Error("two runs write different pages")
	}
}

// TestDocPageIsTrue runs the commands of docs/doc.md in the folder of the repository, and compares
// what they print, and its picture.
func TestDocPageIsTrue(t *testing.T) {
	page := readText(t, "../../docs/doc.md")
	t.Chdir("../..")
	commands := 0
	for i, block := range strings.Split(page, "```\n") {
		if i%2 == 0 {
			continue
		}
		command, want, _ := strings.Cut(block, "\n")
		stdout, stderr, code := runCommand(t, strings.Fields(strings.TrimPrefix(command, "$ xdrgen "))...)
		if stdout+stderr != want || code != exitClean {
			t.Errorf("%s: exit code %d; the page shows\n%sthe command prints\n%s%s", command, code, want, stdout, stderr)
		}
		commands++
	}
	if commands != 1 {
		t.Errorf("%d commands", commands)
	}
	stdout, stderr, code := runCommand(t, "doc", "-svg", "-only", "rpc_msg", "spec/x/oncrpc/oncrpc.x")
	if code != exitClean {
		t.Error(stderr)
	}
	golden.Check(t, "docs/img/packet.svg", []byte(stdout))
}

// TestEachDocumentIsDescribed describes the documents of the corpus. Each page has at most one MiB,
// and no line of text has more than 72 columns unless it is one word.
func TestEachDocumentIsDescribed(t *testing.T) {
	n := 0
	for _, name := range []string{"rfc5403.txt", "rfc5662.txt", "rfc7531.txt", "rfc7863.txt", "rfc8166.txt"} {
		file := corpusDocument(t, name)
		html, stderr, code := runCommand(t, "doc", file)
		if code != exitClean || len(html) > 1<<20 || len(html) < 10_000 || !strings.Contains(html, `<a href="https://www.rfc-editor.org/rfc/`+strings.TrimSuffix(name, ".txt")+"#section-") {
			t.Errorf("%s: exit code %d, %d bytes: %s", name, code, len(html), stderr)
		}
		text, stderr, code := runCommand(t, "doc", "-text", file)
		if code != exitClean {
			t.Errorf("%s: %s", name, stderr)
		}
		for line := range strings.Lines(text) {
			if n++; len(strings.TrimRight(line, "\n")) > 72 && len(strings.Fields(line)) > 1 {
				t.Errorf("%s: %d columns: %s", name, len(line), line)
			}
		}
	}
	t.Log(n, "lines")
}
