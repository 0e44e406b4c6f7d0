package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

// inSpecCopy runs the test in a folder that holds a copy of the project's spec folder.
func inSpecCopy(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "spec"), os.DirFS(specDir)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
}

// do runs the command and checks its exit code.
func do(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	if got := run(args, &out, &errs); got != code {
		t.Fatalf("extract %q: exit code %d, want %d\n%s%s", args, got, code, &out, &errs)
	}
	return out.String(), errs.String()
}

// replace replaces a text in a file, which must contain it.
func replace(t *testing.T, name, old, new string) {
	t.Helper()
	data := readFile(t, name)
	if !strings.Contains(data, old) {
		t.Fatalf("%s does not hold %q", name, old)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(data, old, new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tree returns the contents of all files in a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files[name] = readFile(t, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// summary holds the lines for the source documents' four units. Further documents add their own
// lines.
const summary = `rpcrdma1: 126 lines in the sections, 89 taken, 4 errata, 96 lines in rpcrdma1.x
rdmaconfig: 78 lines in the sections, 28 taken, 0 errata, 28 lines in rdmaconfig.x
rpcrdma2: 171 lines marked, 171 taken, 9 errata, 175 lines in common.x baseops.x
xchar: 109 lines marked, 109 taken, 3 errata, 111 lines in xchar.x
`

func TestWrite(t *testing.T) {
	inSpecCopy(t)
	byHand := filepath.Join("spec", "x", "myext", "myext.x")
	if err := os.MkdirAll(filepath.Dir(byHand), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(byHand, []byte("const A = 1;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := tree(t, "spec")
	clean, errs := do(t, exitOK)
	if !strings.HasPrefix(clean, summary) || strings.Contains(clean, "spec/x") || errs != "" {
		t.Errorf("nothing to do: got %q, stderr %q", clean, errs)
	}
	for _, name := range []string{"xchar.x", "xchar.x.origin"} {
		if err := os.Remove(filepath.Join("spec", "x", "xchar", name)); err != nil {
			t.Fatal(err)
		}
	}
	replace(t, filepath.Join("spec", "x", "rpcrdma2", "common.x"), "RDMA2_PROPID_BRS = 5", "RDMA2_PROPID_BRS = 9")

	if out, _ := do(t, exitOK, "-n"); out != "spec/x/rpcrdma2/common.x (not written)\nspec/x/xchar/xchar.x (not written)\nspec/x/xchar/xchar.x.origin (not written)\n"+clean {
		t.Errorf("dry run: got %s", out)
	}
	if out, _ := do(t, exitOK); out != "spec/x/rpcrdma2/common.x\nspec/x/xchar/xchar.x\nspec/x/xchar/xchar.x.origin\n"+clean {
		t.Errorf("write: got %s", out)
	}
	if diff := cmp.Diff(want, tree(t, "spec")); diff != "" {
		t.Errorf("spec folder (-before +after):\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	inSpecCopy(t)
	common := filepath.Join("spec", "x", "rpcrdma2", "common.x")
	replace(t, common, "RDMA2_PROPID_BRS = 5", "RDMA2_PROPID_BRS = 9")
	before := tree(t, "spec")
	out, errs := do(t, exitFindings, "-check")
	const want = "--- spec/x/rpcrdma2/common.x\n+++ spec/x/rpcrdma2/common.x (as extracted)\n@@ -95,1 +95,1 @@\n-const RDMA2_PROPID_BRS = 9;\n+const RDMA2_PROPID_BRS = 5;\n"
	if !strings.HasPrefix(out, want+summary) {
		t.Errorf("got %s", out)
	}
	if errs != "extract: 1 findings; without -check, extract writes the files that differ\n" {
		t.Errorf("stderr %q", errs)
	}
	if diff := cmp.Diff(before, tree(t, "spec")); diff != "" {
		t.Errorf("-check wrote (-before +after):\n%s", diff)
	}
}

func TestStale(t *testing.T) {
	inSpecCopy(t)
	replace(t, filepath.Join("spec", "MANIFEST"), "unit    xchar", "unit    other")
	do(t, exitOK)
	out, _ := do(t, exitFindings, "-check")
	if want := "spec/x/xchar/xchar.x: was extracted earlier, and no document of the manifest yields it now; delete it and its .origin\n"; !strings.HasPrefix(out, want) {
		t.Errorf("got %s, want %s", out, want)
	}
	if _, err := os.Stat(filepath.Join("spec", "x", "xchar", "xchar.x")); err != nil {
		t.Errorf("the stale file was touched: %v", err)
	}
}

func TestChecksum(t *testing.T) {
	inSpecCopy(t)
	replace(t, filepath.Join("spec", docV2), "RDMA2_PROPID_BRS = 5", "RDMA2_PROPID_BRS = 9")
	before := tree(t, "spec")
	const names = " but spec/MANIFEST:15 names 749051a1fe3d940b845ad65f37cd01d1389dd6914876bc1fbbb48125a8694484; restore the document if the change was an accident; for a new revision, review its errata and enter the new sum in the manifest\n"
	out, errs := do(t, exitFailed)
	if !strings.HasPrefix(errs, "extract: spec/"+docV2+": its sha256 is ") || !strings.HasSuffix(errs, names) || out != "" {
		t.Errorf("write: stdout %q, stderr %q", out, errs)
	}
	if diff := cmp.Diff(before, tree(t, "spec")); diff != "" {
		t.Errorf("something was written (-before +after):\n%s", diff)
	}
	out, _ = do(t, exitFindings, "-check")
	if !strings.HasPrefix(out, "spec/"+docV2+": its sha256 is ") || !strings.Contains(out, names) || strings.Contains(out, "rpcrdma2:") || strings.Contains(out, "was extracted earlier") {
		t.Errorf("check: %s", out)
	}
}

func TestBuildErrors(t *testing.T) {
	tests := []struct{ name, file, old, new, want string }{
		{"document missing", "MANIFEST", "document rfc8167.txt", "document rfc8168.txt", "document rfc8168.txt of spec/MANIFEST:30: open spec/rfc8168.txt: no such file or directory"},
		{"section missing", "MANIFEST", "rpcrdma1.x 4.3", "rpcrdma1.x 4.9", "spec/" + docV1 + ": file rpcrdma1.x: section 4.9: no such heading; the document has 1 2 3 3.1"},
		{"section without XDR", "MANIFEST", "rpcrdma1.x 4.3", "rpcrdma1.x 4.1", "file rpcrdma1.x: section 4.1: holds no XDR definition"},
		{"file not in the document", "MANIFEST", "file baseops.x", "file extra.x", `spec/` + docV2 + `: the manifest names the files ["common.x" "extra.x"], the marks of the document name ["common.x" "baseops.x"]; name exactly those in the manifest, in this order`},
		{"erratum for another file", "errata/" + docXchar, "file    xchar.x", "file    char.x", `spec/errata/` + docXchar + `: line 5: erratum P5-undefined-uint32: the document yields no file "char.x"`},
		{"erratum does not match", "errata/" + docV2, "-typedef rpcrdma2_propid uint32;", "-typedef rpcrdma2_propid  uint32;", "spec/errata/" + docV2 + `: line 42: erratum P4-reversed-typedef: the old text has no match, expected exactly one; nearest to "typedef rpcrdma2_propid  uint32;": document line 920: "typedef rpcrdma2_propid uint32;"`},
		{"errata syntax", "errata/" + docV2, "section 7.3", "chapter 7.3", "spec/errata/" + docV2 + `:7: "chapter": unknown word, expected erratum, file, section, reason or a hunk`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inSpecCopy(t)
			replace(t, filepath.Join("spec", tt.file), tt.old, tt.new)
			if out, errs := do(t, exitFailed); !strings.Contains(errs, tt.want) || out != "" {
				t.Errorf("got  %s%s\nwant %s", out, errs, tt.want)
			}
		})
	}
	t.Run("stray errata", func(t *testing.T) {
		inSpecCopy(t)
		if err := os.WriteFile(filepath.Join("spec", "errata", "rfc8167.txt"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		_, errs := do(t, exitFailed)
		if want := "extract: spec/errata/rfc8167.txt: no document of the manifest with XDR has this name; expected errata to have the name of their document\n"; errs != want {
			t.Errorf("got %s, want %s", errs, want)
		}
	})
}

func TestExtractDocumentErrors(t *testing.T) {
	tests := []struct{ mode, doc, want string }{
		{modeNone, "a\n/// b\n", "mode none, but 1 lines begin with ///, the first at line 2; use mode marked"},
		{modeMarked, "a\n", "mode marked, but no line begins with ///; use mode sections or none"},
	}
	for _, tt := range tests {
		if _, err := extractDocument(&document{mode: tt.mode}, xdrdoc.Lines([]byte(tt.doc))); err == nil || err.Error() != tt.want {
			t.Errorf("mode %s: got %v, want %s", tt.mode, err, tt.want)
		}
	}
}

func TestFree(t *testing.T) {
	inSpecCopy(t)
	out, errs := do(t, exitOK, "-doc", "spec/"+docV1, "-mode", "sections", "-section", "6.2")
	if out != readFile(t, "spec/x/rdmaconfig/rdmaconfig.x") || errs != "" {
		t.Errorf("section 6.2: got %s, stderr %s", out, errs)
	}
	if out, _ = do(t, exitOK, "-doc", "spec/"+docV2, "-o", "out"); out != "out/common.x\nout/baseops.x\n" {
		t.Errorf("two files: got %s", out)
	}
	if out, _ = do(t, exitOK, "-doc", "spec/"+docXchar, "-o", "out"); out != "out/draft-dnoveck-nfsv4-rpcrdma-xcharext-01.x\n" {
		t.Errorf("one file: got %s", out)
	}
	if got := readFile(t, "out/baseops.x.origin"); got != "xdr-origin 1 "+docV2+"\n1-66 "+docV2+" 953\n" {
		t.Errorf("origin map %q", got)
	}
	if err := os.WriteFile("marks.txt", []byte("/// /* both */\n/// @@FILE one.x\n/// const A = 1;\n/// @@FILE two.x\n/// const A = 2;\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, errs = do(t, exitOK, "-doc", "marks.txt"); out != "/* both */\nconst A = 1;\nconst A = 2;\n" ||
		!strings.Contains(errs, "marks.txt: the document divides its XDR into the files one.x, two.x, which do not compile as one: use -o DIR") {
		t.Errorf("files that begin: got %s, stderr %s", out, errs)
	}
	if do(t, exitOK, "-doc", "marks.txt", "-o", "out"); readFile(t, "out/two.x") != "/* both */\nconst A = 2;\n" ||
		readFile(t, "out/two.x.origin") != "xdr-origin 1 marks.txt\n1 marks.txt 1\n2 marks.txt 5\n" {
		t.Errorf("two.x: %q, %q", readFile(t, "out/two.x"), readFile(t, "out/two.x.origin"))
	}
	failures := []struct {
		want string
		args []string
	}{
		{"extract: open none.txt: no such file or directory\n", []string{"-doc", "none.txt"}},
		{"found no XDR: no line begins with ///, and no line begins a definition\n", []string{"-doc", "spec/rfc8167.txt"}},
		{"found no line that begins with ///, which -mode marked needs; try -mode sections\n", []string{"-doc", "spec/" + docV1, "-mode", "marked"}},
		{"section 99: no such heading; the document has 1 2", []string{"-doc", "spec/" + docV1, "-mode", "sections", "-section", "99"}},
	}
	for _, tt := range failures {
		if _, errs := do(t, exitFailed, tt.args...); !strings.Contains(errs, tt.want) {
			t.Errorf("%q: stderr %s, want %s", tt.args, errs, tt.want)
		}
	}
}

func TestUsage(t *testing.T) {
	tests := []struct {
		want string
		args []string
	}{
		{`unknown flag "-color"`, []string{"-color"}}, {`unknown flag "-docc"; did you mean -doc?`, []string{"-docc", "a.txt"}},
		{`unexpected argument "a.txt"; a single document is given with -doc`, []string{"a.txt"}},
		{"-check cannot be used with -doc, which reads no manifest", []string{"-doc", "a", "-check"}},
		{"-mode needs -doc; otherwise the manifest gives it", []string{"-mode", "marked"}},
		{`-mode: found "none", expected marked or sections`, []string{"-doc", "a", "-mode", "none"}},
		{"-section needs -mode sections", []string{"-doc", "a", "-section", "4"}},
		{`-format: found "xml", expected text or json`, []string{"-format", "xml"}},
		{"-check, -n and -report exclude each other", []string{"-check", "-report"}},
		{"-o -: stdout takes one document only; use -doc", []string{"-o", "-"}},
	}
	for _, tt := range tests {
		if out, errs := do(t, exitUsage, tt.args...); errs != "extract: "+tt.want+"; see -help\n" || out != "" {
			t.Errorf("%q: got %s%s, want %s", tt.args, out, errs, tt.want)
		}
	}
}

// TestHelp runs every example of the help text.
func TestHelp(t *testing.T) {
	out, errs := do(t, exitOK, "-help")
	if errs != "" || !strings.Contains(out, "Exit codes:") || !strings.Contains(out, "-manifest") {
		t.Errorf("help on stdout: %s, on stderr: %s", out, errs)
	}
	inSpecCopy(t)
	examples := 0
	for _, l := range strings.Split(strings.ReplaceAll(out, " \\\n     ", ""), "\n") {
		rest, ok := strings.CutPrefix(l, "  go run ./tools/extract")
		if !ok {
			continue
		}
		args, _, _ := strings.Cut(rest, "   ")
		do(t, exitOK, strings.Fields(args)...)
		examples++
	}
	if examples < 4 {
		t.Errorf("%d examples, want 4", examples)
	}
}

// TestJSON checks that stdout holds one object per line and nothing else, also with findings and
// failures.
func TestJSON(t *testing.T) {
	inSpecCopy(t)
	events := func(code int, args ...string) map[string]int {
		t.Helper()
		out, _ := do(t, code, append(args, "-format", "json")...)
		types := map[string]int{}
		for _, l := range fileLines(out) {
			var e event
			if err := json.Unmarshal([]byte(l), &e); err != nil || e.V != 1 || e.Type == "" {
				t.Fatalf("line %q: %v", l, err)
			}
			if e.Type == "unit" && (e.Unit.Name == "" || e.Unit.Target == "") {
				t.Errorf("unit %+v", e.Unit)
			}
			types[e.Type]++
		}
		return types
	}
	check := func(want, got map[string]int) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	manifest := readFile(t, "spec/MANIFEST")
	units, docs := strings.Count(manifest, "\tunit "), strings.Count(manifest, "\ndocument ")
	check(map[string]int{"unit": units}, events(exitOK))
	check(map[string]int{"document": docs}, events(exitOK, "-report"))
	replace(t, "spec/x/xchar/xchar.x", "xcharspec", "charspec")
	check(map[string]int{"finding": 1, "unit": units}, events(exitFindings, "-check"))
	check(map[string]int{"changed": 1, "unit": units}, events(exitOK))
	replace(t, "spec/MANIFEST", "mode    none", "mode    marked")
	check(map[string]int{"error": 1}, events(exitFailed))
}

func TestReport(t *testing.T) {
	inSpecCopy(t)
	out, _ := do(t, exitOK, "-report")
	for _, want := range []string{
		docV1 + ", version 08, mode sections: 2074 lines, 0 marked\n",
		"  unit rdmaconfig for gen/rdmaconfig: 28 lines taken, 0 errata\n    rdmaconfig.x: document lines 1537-1564\n",
		"    rpcrdma1.x: document lines 1131-1169 1182-1216 1238-1252\n",
		"      P2-struct-without-brace (section 7.3): RFC 4506 §4.14: the body of a struct begins with a brace.\n",
		"rfc8167.txt, version rfc8167, mode none: 360 lines, 0 marked\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("report lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestDiff(t *testing.T) {
	many := strings.Repeat("x\n", 30)
	tests := []struct{ have, want, out string }{
		{"a\nb\nc\n", "a\nc\n", "@@ -2,1 +2,0 @@\n-b\n"},
		{"", "a\n", "@@ -1,0 +1,1 @@\n+a\n"},
		{"a\n", "a\n" + many, "@@ -2,0 +2,30 @@\n" + strings.Repeat("+x\n", 20) + "+ ... 10 more lines\n"},
	}
	for _, tt := range tests {
		if got := diff("f", []byte(tt.have), []byte(tt.want)); got != "--- f\n+++ f (as extracted)\n"+tt.out {
			t.Errorf("diff(%q, %.20q) = %q", tt.have, tt.want, got)
		}
	}
}

// TestHelpFitsIn80Columns counts a tab as eight columns.
func TestHelpFitsIn80Columns(t *testing.T) {
	out, _ := do(t, exitOK, "-help")
	for line := range strings.Lines(out) {
		if n := len(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestErrorsOfWritingNameTheFileAskedFor writes in place of a folder.
func TestErrorsOfWritingNameTheFileAskedFor(t *testing.T) {
	inSpecCopy(t)
	if err := os.MkdirAll("out/common.x/inside", 0o777); err != nil {
		t.Fatal(err)
	}
	if _, errs := do(t, exitFailed, "-doc", "spec/"+docV2, "-o", "out"); errs != "extract: write out/common.x: is a directory\n" && errs != "extract: write out/common.x: file exists\n" {
		t.Errorf("stderr %q", errs)
	}
}
