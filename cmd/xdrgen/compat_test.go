package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/compat"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// compatLine has the members of a JSON line that the tests use.
type compatLine struct {
	V                                         int
	Type, Rule, Path, Wire, Source, Extension string
	Breaks                                    []string
	Old, New                                  *struct{ File string }
	Changes, Breaking                         int
	Reason, Section                           string
	OldReadsNew                               string `json:"old_reads_new"`
	NewReadsOld                               string `json:"new_reads_old"`
}

func parseCompat(t *testing.T, lines string) []compatLine {
	t.Helper()
	var out []compatLine
	for _, l := range strings.Split(strings.TrimSpace(lines), "\n") {
		var c compatLine
		if err := json.Unmarshal([]byte(l), &c); err != nil || c.V != 1 {
			t.Fatalf("line %q: %v", l, err)
		}
		out = append(out, c)
	}
	return out
}

func TestCompatReportsWhatBreaks(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"old/p.x":  "struct s { int a; };\nenum e { A = 0 };\n",
		"new/p.x":  "struct s { int a; int b; };\nenum e { A = 0, B = 1 };\n",
		"more/p.x": "struct s { int a; };\nenum e { A = 0 };\n", "more/q.x": "typedef hyper t;\n",
		"name/p.x": "struct s { int z; };\nenum e { A = 0 };\n",
		"bad/p.x":  "struct s { nothing a; };\n", "empty/p.txt": "",
	}))
	tests := []struct {
		args  string
		rules string
		code  int
	}{
		{"old/p.x old/p.x", "", exitClean},
		{"old/p.x new/p.x", "field-added member-added", exitFindings},
		{"old new", "field-added member-added", exitFindings},
		{"old more", "declaration-added", exitClean},
		{"more old", "declaration-removed", exitFindings},
		{"-allow source more old", "declaration-removed", exitClean},
		{"old/p.x name", "field-renamed", exitFindings},
		{"-allow field-renamed old/p.x name", "field-renamed", exitClean},
		{"-allow wire old new", "field-added member-added", exitFindings},
		{"-allow wire,extension old new", "field-added member-added", exitClean},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			stdout, stderr, code := runCommand(t, append([]string{"compat", "-format", "json"}, strings.Fields(tt.args)...)...)
			lines := parseCompat(t, stdout)
			var rules []string
			breaking := 0
			for _, l := range lines[:len(lines)-1] {
				rules = append(rules, l.Rule)
				if len(l.Breaks) > 0 {
					breaking++
				}
				if l.Type != "change" || l.Old == nil && l.New == nil || l.Reason == "" || l.Path == "" {
					t.Errorf("line %+v", l)
				}
			}
			last := lines[len(lines)-1]
			if last.Type != "summary" || last.Changes != len(rules) || last.Breaking != breaking {
				t.Errorf("last line %+v", last)
			}
			if got := strings.Join(rules, " "); code != tt.code || got != tt.rules || stderr != "" {
				t.Errorf("exit code %d, changes %s; expected %d, %s; stderr %s", code, got, tt.code, tt.rules, stderr)
			}
		})
	}
	for args, want := range map[string]string{
		"old bad":              "1: bad has errors, so it cannot be compared",
		"old none":             "1: open none: no such file",
		"old empty":            "1: empty: no .x files",
		"old":                  "2: NEW is missing",
		"-allow sources old o": `2: -allow: found "sources", expected source`,
		"git:HEAD git:HEAD":    "1: found git:HEAD, expected git:REF:path",
		"git:--x:old old":      "1: found git:--x:old, expected git:REF:path",
	} {
		_, stderr, code := runCommand(t, append([]string{"compat"}, strings.Fields(args)...)...)
		number, text, _ := strings.Cut(want, ": ")
		if code != int(number[0]-'0') || !strings.Contains(stderr, text) {
			t.Errorf("%s: exit code %d, expected %s\n%s", args, code, want, stderr)
		}
	}
}

func TestCompatText(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"old.x": "struct s { opaque a<4>; };\n", "new.x": "const C = 1;\nstruct s { opaque a<8>; };\n",
	}))
	const change = `new.x:2:12: error: XDC0307 bound-raised: breaks extension: bound of struct s.a changed from 4 to 8
  |
2 | struct s { opaque a<8>; };
  |            ^^^^^^^^^^^
  ::: old.x:1:12
  |
1 | struct s { opaque a<4>; };
  |            ----------- old version
  = note: an old peer rejects data longer than its own bound
  = note: an old peer can read what a new one sends: only values that it knows; a new peer can read what an old one sends: yes
  = rule: RFC 4506 §4.10 to §4.13
  = help: undo the change, or allow it with -allow bound-raised
`
	stdout, stderr, _ := runCommand(t, "compat", "old.x", "new.x")
	if d := cmp.Diff(change, stdout); d != "" {
		t.Errorf("stdout (-want +got):\n%s", d)
	}
	if want := "xdrgen: 2 changes: 0 break the wire, 0 Go source, 1 extension; 1 not allowed\n"; stderr != want {
		t.Errorf("stderr %s, expected %s", stderr, want)
	}
	stdout, _, code := runCommand(t, "compat", "-all", "-allow", "extension", "old.x", "new.x")
	for _, want := range []string{
		"new.x:1:7: warning: XDC0101 declaration-added: breaks nothing: const C was added",
		"new.x:2:12: warning: XDC0307 bound-raised: breaks extension (allowed): bound of struct s.a changed",
	} {
		if code != exitClean || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, stdout %sexpected %s", code, stdout, want)
		}
	}
}

// TestCompatForms checks the changes as annotations and as SARIF: only those that break
// something are reported, each with its position.
func TestCompatForms(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"old.x": "struct s { int a; };\n", "new.x": "const C = 1;\nstruct s { hyper a; };\n",
	}))
	stdout, _, code := runCommand(t, "compat", "-format", "github", "old.x", "new.x")
	if want := "::error file=new.x,line=2,col=12,endColumn=17,title=XDC0301 type-wire::breaks the wire, Go source, extension: type of struct s.a changed from int to hyper%0Aold version: old.x:1:12%0A"; code != exitFindings ||
		!strings.HasPrefix(stdout, want) || strings.Count(stdout, "::error") != 1 {
		t.Errorf("exit code %d, %s\nexpected %s", code, stdout, want)
	}
	if stdout, _, _ := runCommand(t, "compat", "-format", "github", "-errors", "1", "new.x", "old.x"); strings.Count(stdout, "::error") != 2 {
		t.Errorf("-errors limits the annotations: %s", stdout)
	}
	stdout, stderr, _ := runCommand(t, "compat", "-errors", "1", "new.x", "old.x")
	if !strings.HasSuffix(stderr, "; 2 not allowed; 1 not shown (-errors 0 shows all)\n") || strings.Count(stdout, ": error: ") != 1 {
		t.Errorf("limited to one: %s%s", stdout, stderr)
	}
	stdout, _, code = runCommand(t, "compat", "-format", "sarif", "-allow", "type-wire", "old.x", "new.x")
	if code != exitClean || !strings.Contains(stdout, `"ruleId": "XDC0301"`) || !strings.Contains(stdout, `"level": "warning"`) || !strings.Contains(stdout, `"uri": "old.x"`) {
		t.Errorf("exit code %d, %s", code, stdout)
	}
}

// TestCompatGit compares the working copy with commits, from the root of the repository and
// from a folder. The file includes another unit.
func TestCompatGit(t *testing.T) {
	witness.Program(t, "git")
	dir := writeFiles(t, map[string]string{
		"p.x": "struct r { int a; };\n", "x/one/one.x": "struct s { int a; };\n", "x/two/two.x": "#include \"one/one.x\"\nstruct t { s a; };\n",
	})
	t.Chdir(dir)
	for _, args := range []string{"init -q", "add .", "-c user.name=n -c user.email=e@example.org commit -q -m one", "tag old"} {
		if out, err := exec.Command("git", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	for name, text := range map[string]string{"p.x": "struct r { hyper a; };\n", "q.x": "struct r { hyper a; };\n", "x/one/one.x": "struct s { int a; int b; };\n"} {
		if err := os.WriteFile(filepath.FromSlash(name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct{ in, args, rules string }{
		{".", "git:old:p.x p.x", "type-wire"},
		{".", "git:old p.x", "type-wire"},
		{".", "git:old:p.x q.x", "type-wire"}, // the file has another name now
		{"x", "git:HEAD one", "field-added"},
		{".", "git:HEAD:x/one x/one", "field-added"},
		{".", "-I x git:old:x/two/two.x x/two/two.x", "field-added"},
		{"x", "git:old:one/one.x one/one.x", "field-added"},
		{"x/two", "git:old:../../p.x ../../p.x", "type-wire"},
		{"x/two", "-I .. git:old:. .", "field-added"},
		{".", "git:old:x/one git:HEAD:x/one", ""},
	}
	for _, tt := range tests {
		t.Run(tt.in+" "+tt.args, func(t *testing.T) {
			t.Chdir(filepath.Join(dir, filepath.FromSlash(tt.in)))
			stdout, stderr, code := runCommand(t, append([]string{"compat", "-format", "json"}, strings.Fields(tt.args)...)...)
			if code == exitFailed {
				t.Fatal(stderr)
			}
			var rules []string
			for _, l := range parseCompat(t, stdout) {
				if l.Type == "change" {
					rules = append(rules, l.Rule)
				}
			}
			if got := strings.Join(rules, " "); got != tt.rules {
				t.Errorf("changes %q, expected %q", got, tt.rules)
			}
		})
	}
	for args, want := range map[string]string{
		"git:nothing:p.x p.x": "git ls-tree:",
		"git:old:none.x p.x":  "none.x: file does not exist",
		"git:old:../p.x p.x":  "is outside the repository",
		"git:old:none p.x":    "file does not exist",
	} {
		if _, stderr, code := runCommand(t, append([]string{"compat"}, strings.Fields(args)...)...); code != exitFailed || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, expected %s\n%s", args, code, want, stderr)
		}
	}
}

func TestHelpCompatRules(t *testing.T) {
	text, _, code := runCommand(t, "help", "compat-rules")
	for _, r := range compat.Rules() {
		if code != exitClean || !strings.Contains(text, r.Code+"  "+r.Name) || !strings.Contains(strings.Join(strings.Fields(text), " "), r.Reason) {
			t.Errorf("the help does not mention %s", r.Name)
		}
	}
}

// TestCompatBind checks that -bind applies to both versions, also for Go names.
func TestCompatBind(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	old, now := write("old/k.x", "struct s { int a; };\n"), write("new/k.x", "struct t { int a; };\n")
	same := write("names.bind", "type other int\n")
	if _, stderr, code := runCommand(t, "compat", old, now); code != exitFindings {
		t.Errorf("without a sidecar: exit code %d, %s", code, stderr)
	}
	if _, stderr, code := runCommand(t, "compat", "-bind", same, old, now); code != exitFindings {
		t.Errorf("a sidecar for both: exit code %d, %s", code, stderr)
	}
	// Only one version has a name that the sidecar renames.
	if _, stderr, code := runCommand(t, "compat", "-bind", write("s.bind", "rename s Thing\n"), old, now); code != exitFailed || !strings.Contains(stderr, "the unit has no s to rename") {
		t.Errorf("a sidecar for the old version only: exit code %d, %s", code, stderr)
	}
	now = write("new/k.x", "struct s { int a; };\n")
	write("new/k.bind", "rename s Other\n")
	if _, stderr, code := runCommand(t, "compat", old, now); code != exitFindings {
		t.Errorf("a sidecar beside one version: exit code %d, %s", code, stderr)
	}
	if stdout, stderr, code := runCommand(t, "compat", "-bind", filepath.Join(dir, "s.bind"), old, now); code != exitClean {
		t.Errorf("the same sidecar for both: exit code %d, %s%s", code, stdout, stderr)
	}
}
