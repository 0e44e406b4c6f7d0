package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

const marksOfDocument = "1.  Introduction\n\n   This is a protocol.\n\n   /// const SIZE = 4;\n   /// struct blob {\n   ///     opaque data[SIZE];\n   /// };\n"

// forms are documents of all forms with the XDR of marksOfDocument.
var forms = map[string]string{
	"my draft.txt": marksOfDocument,
	"draft.md":     "# Blobs\n\n~~~ xdr\nconst SIZE = 4;\nstruct blob {\n    opaque data[SIZE];\n};\n~~~\n",
	"quoted.eml":   "> /// const SIZE = 4;\n> /// struct blob {\n> ///     opaque data[SIZE];\n> /// };\n",
	"draft.xml":    "<rfc>\n<sourcecode type=\"xdr\">\nconst SIZE = 4;\nstruct blob {\n    opaque data[SIZE]; /* &lt; 5 */\n};\n</sourcecode>\n</rfc>\n",
	"rfc1.txt":     "1. Blobs\n\n   const SIZE = 4;\n\n   struct blob {\n\n\nOne                                   [Page 1]\n\f\nRFC 1    Blobs    1999\n\n\n       opaque data[SIZE];\n   };\n\n2. End\n",
}

// TestCommandsTakeDocuments runs the commands on documents of all forms.
func TestCommandsTakeDocuments(t *testing.T) {
	for name, text := range forms {
		t.Run(name, func(t *testing.T) {
			dir := writeFiles(t, map[string]string{name: text, "old.x": "const SIZE = 4;\nstruct blob { opaque data[SIZE]; };\n"})
			t.Chdir(dir)
			if stdout, stderr, code := runCommand(t, "check", "-strict", name); code != exitClean || stdout+stderr != "" {
				t.Errorf("check: exit code %d\n%s%s", code, stdout, stderr)
			}
			if stdout, stderr, code := runCommand(t, "gen", "-o", "kv", "-package", "kv", name); code != exitClean || stdout != "kv/kv_xdr.go\n" {
				t.Errorf("gen: exit code %d\n%s%s", code, stdout, stderr)
			}
			if stdout, stderr, code := runCommand(t, "diff", "-o", "kv", "-package", "kv", name); code != exitClean || stdout != "" {
				t.Errorf("diff: exit code %d\n%s%s", code, stdout, stderr)
			}
			if stdout, stderr, code := runCommand(t, "lint", name); code != exitClean {
				t.Errorf("lint: exit code %d\n%s%s", code, stdout, stderr)
			}
			if stdout, stderr, code := runCommand(t, "compat", "-allow", "source", "old.x", name); code != exitClean {
				t.Errorf("compat: exit code %d\n%s%s", code, stdout, stderr)
			}
			if stdout, stderr, code := runCommand(t, "dump", "-type", "blob", "-hex", "01020304", name); code != exitClean || !strings.Contains(stdout, "01 02 03 04") {
				t.Errorf("dump: exit code %d\n%s%s", code, stdout, stderr)
			}
			if stdout, stderr, code := runCommand(t, "json", "-type", "blob", "-hex", "01020304", name); code != exitClean || !strings.Contains(stdout, `"01020304"`) {
				t.Errorf("json: exit code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}

// TestFindingsNameTheDocumentsPlaces misspells a word in documents of all forms, and checks that
// the finding has the line and column of the word.
func TestFindingsNameTheDocumentsPlaces(t *testing.T) {
	for name, text := range forms {
		for _, word := range []string{"data", "SIZE]"} {
			broken := strings.Replace(text, word, "9"+word, 1)
			before, _, _ := strings.Cut(broken, "9"+word)
			t.Chdir(writeFiles(t, map[string]string{name: broken}))
			stdout, _, code := runCommand(t, "check", name)
			want := fmt.Sprintf("%s:%d:%d: error:", name, strings.Count(before, "\n")+1, len(before)-strings.LastIndex(before, "\n"))
			if code != exitFindings || !strings.HasPrefix(stdout, want) {
				t.Errorf("%s: exit code %d, %s\nwant %s", name, code, stdout, want)
			}
		}
	}
	// Entities are wider in the document than in the XDR.
	t.Chdir(writeFiles(t, map[string]string{"e.xml": "<rfc>\n<artwork>\nstruct s {\n\topaque a&lt;4&gt;; opaque b&#60;N&#62;;\n};\n</artwork>\n"}))
	stdout, _, _ := runCommand(t, "check", "e.xml")
	if column := len("\topaque a&lt;4&gt;; opaque b&#60;") + 1; !strings.HasPrefix(stdout, fmt.Sprintf("e.xml:4:%d: error", column)) {
		t.Errorf("want column %d:\n%s", column, stdout)
	}
}

// TestGeneratedCodeIsTheSameAsFromTheFile compares the package of a document with the package of
// its extracted XDR.
func TestGeneratedCodeIsTheSameAsFromTheFile(t *testing.T) {
	doc := "   /// /*\n   ///  * Redistribution is permitted.\n   ///  */\n\n   /// /*\n   ///  * Blobs have a size:\n   ///  *    four\n   ///  */\n\n\nA page                [Page 1]\n\n   /// struct blob {\n   ///     int size; /* 4 -> four */\n   /// };\n"
	parsed, err := xdrdoc.Extract([]byte(doc), xdrdoc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := ""
	for _, l := range parsed.Parts[0].Lines {
		x += l.Text + "\n"
	}
	t.Chdir(writeFiles(t, map[string]string{"d.txt": doc, "d.x": x}))
	for _, name := range []string{"d.txt", "d.x"} {
		if _, stderr, code := runCommand(t, "gen", "-o", name+".out", "-package", "d", name); code != exitClean {
			t.Fatalf("%s: exit code %d\n%s", name, code, stderr)
		}
	}
	fromDoc, fromFile := readText(t, "d.txt.out/d_xdr.go"), readText(t, "d.x.out/d_xdr.go")
	sum := func(text string) string { return sha256Hex(text) + " d." }
	if diff := cmp.Diff(strings.ReplaceAll(strings.Replace(fromFile, sum(x), sum(doc), 1), "d.x", "d.txt"), fromDoc); diff != "" {
		t.Errorf("-file +document\n%s", diff)
	}
	if !strings.Contains(fromDoc, "-o . -package d ../d.txt") {
		t.Errorf("the command is not in\n%.600s", fromDoc)
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocumentsHaveSidecars reads draft.bind with draft.txt.
func TestDocumentsHaveSidecars(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{"draft.txt": marksOfDocument, "draft.bind": "rename blob Lump\n"}))
	if stdout, stderr, code := runCommand(t, "gen", "-names", "draft.txt"); code != exitClean || !strings.Contains(stdout, "Lump") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// TestFilesOfOneDocumentAreChosen compiles documents that have several files.
func TestFilesOfOneDocumentAreChosen(t *testing.T) {
	ends := "/// const A = 1;\n/// /* FILE ENDS: one.x; */\n/// const B = A;\n/// /* FILE ENDS: two.x; */\n"
	alone := "/// typedef int both;\n/// @@FILE one.x\n/// struct a { both x; };\n/// @@FILE two.x\n/// struct a { hyper x; both y; };\n"
	sections := "1. One\n\n  struct a { int x; };\n\n2. Two\n\n  struct a { hyper x; };\n"
	t.Chdir(writeFiles(t, map[string]string{"ends.txt": ends, "alone.txt": alone, "sections.txt": sections}))
	for _, tt := range []struct {
		args, stdout, stderr string
		code                 int
	}{
		{"check ends.txt", "", "", exitClean},
		{"check -file one.x ends.txt", "", "", exitClean},
		{"check -file two.x ends.txt", "ends.txt:3:15: error: XDR0102", "", exitFindings},
		{"check alone.txt", "", "alone.txt: the document divides its XDR into the files one.x, two.x, which are compiled one by one: name one of them, such as -file one.x", exitUsage},
		{"check -file two.x alone.txt", "", "", exitClean},
		{"dump -type a -file one.x -hex 00000007 alone.txt", "x = 7", "", exitClean},
		{"dump -type a -file two.x -hex 000000000000000700000008 alone.txt", "y = 8", "", exitClean},
		{"check -file three.x alone.txt", "", "found -file three.x, but the document has the files one.x, two.x", exitUsage},
		{"check -file one.x sections.txt", "", `found -file one.x, but the document does not divide its XDR into files by lines "@@FILE NAME.x"`, exitUsage},
		{"check sections.txt", "sections.txt:7:10: error: XDR0103", "", exitFindings},
		{"check -section 2 sections.txt", "", "", exitClean},
		{"check -section 3 sections.txt", "", "sections.txt: section 3: no such heading; the document has 1 2", exitFailed},
		{"compat -section 2 sections.txt sections.txt", "", "", exitClean},
		{"gen -o out -package one -file one.x alone.txt", "out/one_xdr.go", "", exitClean},
	} {
		stdout, stderr, code := runCommand(t, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("%s: exit code %d\n%s%s", tt.args, code, stdout, stderr)
		}
	}
	if text := readText(t, "out/one_xdr.go"); !strings.Contains(text, "-file one.x") {
		t.Errorf("the command lacks -file:\n%.400s", text)
	}
}

// TestMarksWithoutMeaningAreWarnings finds lines that look like marks between files.
func TestMarksWithoutMeaningAreWarnings(t *testing.T) {
	for _, mark := range []string{"@@BEGIN two.x", "@FILE two.x", "/* FILE BEGINS: two.x */", "/* FILE ENDS two.x */", "/* END OF FILE two.x */", "<CODE BEGINS>", "--- two.x"} {
		t.Chdir(writeFiles(t, map[string]string{"d.txt": "/// const A = 1;\n/// " + mark + "\n/// const B = 2;\n"}))
		stdout, stderr, code := runCommand(t, "check", "-strict", "d.txt")
		if code != exitFindings || !strings.Contains(stdout, "d.txt:2:5: warning: XDR0609") && !strings.Contains(stdout, "d.txt:2:1: warning: XDR0609") {
			t.Errorf("%s: exit code %d\n%s%s", mark, code, stdout, stderr)
		}
	}
	for _, text := range []string{"/* A file of the server, in C: vfs.h */", "/* The end. */", "/*", " * @author of two.x", " */"} {
		t.Chdir(writeFiles(t, map[string]string{"d.txt": "/// const A = 1;\n/// /*\n/// " + strings.Trim(text, "/*") + "\n/// */\n"}))
		if stdout, stderr, code := runCommand(t, "check", "-strict", "d.txt"); code != exitClean {
			t.Errorf("%s: exit code %d\n%s%s", text, code, stdout, stderr)
		}
	}
}

// TestUnknownMarksAreLeftOut has marks in a document. They are not compiled, unless they are
// comments, and the finding shows the document's line.
func TestUnknownMarksAreLeftOut(t *testing.T) {
	for _, mark := range []string{"@@WHAT x", "@FILE two.x", "<CODE BEGINS>", "--- two.x", "/* FILE BEGINS: two.x */"} {
		t.Chdir(writeFiles(t, map[string]string{"d.txt": "/// const A = 1;\n/// " + mark + "\n/// const B = 2;\n"}))
		stdout, stderr, code := runCommand(t, "check", "d.txt")
		if code != exitClean || strings.Count(stdout, ": warning: ") != 1 || !strings.Contains(stdout, mark+"\n") {
			t.Errorf("%s: exit code %d\n%s%s", mark, code, stdout, stderr)
		}
	}
}

// TestDefinitionsThatNeverCloseAreErrors cuts documents off within a definition.
func TestDefinitionsThatNeverCloseAreErrors(t *testing.T) {
	for name, at := range map[string]string{"my draft.txt": "6:20:", "draft.md": "5:", "rfc1.txt": "5:"} {
		text, _, _ := strings.Cut(forms[name], "opaque")
		if name == "my draft.txt" {
			text = strings.TrimSuffix(forms[name], "   /// };\n") + "   ///\n"
		}
		t.Chdir(writeFiles(t, map[string]string{name: text + "\n2. End\n"}))
		if stdout, stderr, code := runCommand(t, "check", name); code != exitFindings || !strings.HasPrefix(stdout, name+":"+at) {
			t.Errorf("%s: exit code %d\n%s%s", name, code, stdout, stderr)
		}
		if stdout, stderr, code := runCommand(t, "gen", "-o", "out", "-package", "p", name); code != exitFindings || stdout != "" {
			t.Errorf("%s: gen: exit code %d\n%s%s", name, code, stdout, stderr)
		}
	}
}

// TestTextsThatAreNoDocuments gives the commands texts without XDR and data.
func TestTextsThatAreNoDocuments(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"prose.txt":  "1. Introduction\n\n   Nothing here.\n\n2. End\n",
		"binary.txt": "1. Introduction\n\n2. End\n\x00/// const A = 1;\n",
		"large.txt":  strings.Repeat("garbage; { /* \"\\ &lt; 0x", 430_000), // 10 MB
		"wide.md":    "# Title\n# More\n~~~\nstruct a { int b; };\n" + strings.Repeat("struct ", 1_500_000),
		"utf16.txt":  "\xff\xfe/\x00/\x00/\x00",
		"empty.txt":  "",
		"d.txt":      marksOfDocument,
		"data.txt":   "01020304\n",
		"old.x":      "const A = 1;\n",
	}))
	for _, tt := range []struct {
		args, out string
		code      int
	}{
		{"check prose.txt", "xdrgen: prose.txt: found no XDR: no line begins with ///", exitFailed},
		{"check binary.txt", "binary.txt is not text: found a zero byte", exitFindings},
		{"check large.txt", "large.txt:1:1: error", exitFindings},
		{"check wide.md", "", exitClean},
		{"check utf16.txt", "utf16.txt is in UTF-16", exitFindings},
		{"check empty.txt", "XDR0731", exitClean},
		{"check -fix d.txt", "-fix does not change a document, such as d.txt: extract -doc d.txt -o DIR", exitUsage},
		{"dump -type blob data.txt d.txt", "01 02 03 04", exitClean},
		{"dump -type blob d.txt prose.txt", "no data: expected a file", exitUsage},
		{"check -file a.x old.x", "found -file or -section, which choose the XDR of a document", exitUsage},
	} {
		stdout, stderr, code := runCommand(t, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(stdout+stderr, tt.out) {
			t.Errorf("%s: exit code %d\n%.600s%.600s", tt.args, code, stdout, stderr)
		}
	}
}

// TestInterfaceFilesWithThreeSlashesAreNoDocuments compiles files that have such lines as comments,
// and files that are not named .x.
func TestInterfaceFilesWithThreeSlashesAreNoDocuments(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"a.x":   "/// struct old { int x; }; is gone {\nstruct a { int x; };\n",
		"b.xdr": "/// const values are below\nstruct a { int x; };\n",
		"c.txt": "/*\n1. One\n2. Two\n*/\n# 1 \"c.x\"\n# 2 \"c.x\"\nstruct a { int x; };\n",
	}))
	for _, name := range []string{"a.x", "b.xdr", "c.txt"} {
		if stdout, stderr, code := runCommand(t, "check", name); code != exitClean {
			t.Errorf("%s: exit code %d, %s%s", name, code, stdout, stderr)
		}
	}
}
