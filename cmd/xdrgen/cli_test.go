package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestExitCodes checks the exit codes, and flags with one dash and with two.
func TestExitCodes(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"ok/ok.x":     "struct a { int x; };\n",
		"warn/warn.x": "struct a { unsigned x; };\n",
		"bad/bad.x":   "struct a { nothing x; };\n",
		"def/def.x":   "struct a { opaque x[LEN]; };\n",
	})
	file := func(name string) string { return filepath.Join(dir, name, name+".x") }
	for _, c := range []struct {
		args string
		code int
	}{
		{"check " + file("ok"), exitClean},
		{"check -strict " + file("ok"), exitClean},
		{"check " + file("warn"), exitClean},
		{"check -strict " + file("warn"), exitFindings},
		{"check --strict " + file("warn"), exitFindings},
		{"check " + file("warn") + " -strict", exitFindings},
		{"check " + file("ok") + " -strict " + file("warn") + " -errors 3", exitFindings},
		{"check " + file("bad"), exitFindings},
		{"check -format json " + file("bad"), exitFindings},
		{"check -format=json " + file("bad"), exitFindings},
		{"check -D LEN=4 " + file("def"), exitClean},
		{"check -DLEN=4 " + file("def"), exitClean},
		{"check -errors 1 -color never -I " + dir + " " + file("def"), exitFindings},
		{"check " + filepath.Join(dir, "none.x"), exitFailed},
		{"check -- -none.x", exitFailed},
		{"check", exitUsage},
		{"check -nonsense " + file("ok"), exitUsage},
		{"check -format yaml " + file("ok"), exitUsage},
		{"check -D 4=x " + file("ok"), exitUsage},
		{"nonsense", exitUsage},
		{"help nonsense", exitUsage},
		{"gen " + file("ok"), exitUsage},
		{"gen -o " + filepath.Join(dir, "out") + " -package 4x " + file("ok"), exitUsage},
		{"gen -o " + filepath.Join(dir, "out") + " -package bad " + file("bad"), exitFindings},
		{"gen -o " + filepath.Join(dir, "ok", "ok.x") + " -package ok " + file("ok"), exitUsage},
		{"gen -o " + filepath.Join(dir, "ok", "ok.x", "below") + " -package ok " + file("ok"), exitFailed},
		{"version", exitClean},
		{"help", exitClean},
		{"help check", exitClean},
		{"check -help", exitClean},
		{"gen -h", exitClean},
		{"-help", exitClean},
		{"", exitClean},
	} {
		_, stderr, code := runCommand(t, strings.Fields(c.args)...)
		if code != c.code {
			t.Errorf("xdrgen %s: exit code %d, expected %d\n%s", c.args, code, c.code, stderr)
		}
		if code == exitUsage && !strings.Contains(stderr, "xdrgen help") {
			t.Errorf("xdrgen %s: the message does not mention help: %s", c.args, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("gen created its folder although there are errors")
	}
}

// TestFindingsGoToStdout checks that the findings of check go to stdout, which holds nothing but
// JSON with -format json.
func TestFindingsGoToStdout(t *testing.T) {
	dir := writeFiles(t, map[string]string{"u.x": "struct a { nothing x; unsigned y; };\n"})
	file := filepath.Join(dir, "u.x")
	stdout, stderr, _ := runCommand(t, "check", file)
	if !strings.Contains(stdout, "XDR0101 undefined-type") || !strings.Contains(stdout, "XDR0702 bare-unsigned") {
		t.Errorf("stdout: %s", stdout)
	}
	if stderr != "xdrgen: 1 error, 1 warning\n" {
		t.Errorf("stderr: %q", stderr)
	}
	stdout, stderr, _ = runCommand(t, "check", "-format", "json", file)
	fs := parseFindings(t, stdout)
	if len(fs) != 3 || fs[2].Errors != 1 || fs[2].Warnings != 1 || stderr != "" {
		t.Errorf("json %+v, stderr %q", fs, stderr)
	}
	for format, start := range map[string]string{"sarif": "{\n  \"$schema\": ", "github": "::error file="} {
		stdout, stderr, code := runCommand(t, "check", "-format", format, file)
		if code != exitFindings || !strings.HasPrefix(stdout, start) || stderr != "xdrgen: 1 error, 1 warning\n" {
			t.Errorf("%s: exit code %d, %s%s", format, code, stdout, stderr)
		}
	}
	stdout, stderr, _ = runCommand(t, "gen", "-o", filepath.Join(dir, "out"), "-package", "u", file)
	if stdout != "" || !strings.Contains(stderr, "undefined-type") {
		t.Errorf("gen: stdout %q, stderr %q", stdout, stderr)
	}
}

func TestErrorLimit(t *testing.T) {
	text := ""
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		text += "struct s_" + string(c) + " { none_" + string(c) + string(c) + string(c) + string(c) + " x; };\n"
	}
	file := filepath.Join(writeFiles(t, map[string]string{"u.x": text}), "u.x")
	for args, want := range map[string]int{"": 20, "-errors 3": 3, "-errors 0": 26} {
		stdout, stderr, _ := runCommand(t, append(append([]string{"check"}, strings.Fields(args)...), file)...)
		if n := strings.Count(stdout, "undefined-type"); n != want {
			t.Errorf("%q: %d shown, expected %d", args, n, want)
		}
		if (want < 26) != strings.Contains(stderr, "not shown") {
			t.Errorf("%q: %s", args, stderr)
		}
	}
}

func TestColorFollowsTheFlag(t *testing.T) {
	file := filepath.Join(writeFiles(t, map[string]string{"u.x": "struct a { nothing x; };\n"}), "u.x")
	for _, c := range []struct {
		mode, vars     string
		terminal, want bool
	}{
		{"auto", "TERM=xterm", true, true},
		{"auto", "TERM=xterm", false, false},
		{"auto", "TERM=xterm NO_COLOR=1", true, false},
		{"auto", "TERM=dumb", true, false},
		{"auto", "TERM=xterm CLICOLOR=0", true, false},
		{"auto", "TERM=dumb CLICOLOR_FORCE=1", false, true},
		{"auto", "TERM=xterm CLICOLOR_FORCE=0", false, false},
		{"auto", "TERM=xterm CLICOLOR_FORCE=1 NO_COLOR=1", true, false},
		{"always", "TERM=dumb NO_COLOR=1", false, true},
		{"never", "TERM=xterm CLICOLOR_FORCE=1", true, false},
	} {
		var out strings.Builder
		env := environment{stdout: &out, stderr: io.Discard, terminal: func(io.Writer) bool { return c.terminal }}
		vars := map[string]string{}
		for _, v := range strings.Fields(c.vars) {
			name, value, _ := strings.Cut(v, "=")
			vars[name] = value
		}
		env.getenv = func(name string) string { return vars[name] }
		run([]string{"check", "-color", c.mode, file}, env)
		if got := strings.Contains(out.String(), "\x1b["); got != c.want {
			t.Errorf("%+v: colour %v", c, got)
		}
	}
}

// TestNotedOnce checks that text output has each note once, and other formats every time.
func TestNotedOnce(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{"u.x": "struct a { nothing x; something y; opaque z<N>; };\n"}))
	for format, want := range map[string]int{"text": 1, "json": 2, "sarif": 2, "github": 2} {
		stdout, _, _ := runCommand(t, "check", "-format", format, "u.x")
		if n := strings.Count(stdout, "XDRTYPE', such as"); n != want {
			t.Errorf("%s: the advice is there %d times, expected %d\n%s", format, n, want, stdout)
		}
		if !strings.Contains(stdout, "-D N=VALUE") {
			t.Errorf("%s: the note of another rule is missing", format)
		}
	}
}

func TestGenWritesThePackage(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"go.mod":     "module example.org/m\n",
		"x/u/u.x":    "struct a { int x; };\n",
		"x/v/v.x":    "#include \"u/u.x\"\nstruct b { a x; };\n",
		"out/doc.go": "// Package u is ours.\npackage u\n",
	})
	out := filepath.Join(dir, "out")
	args := []string{"gen", "-o", out, "-package", "u", filepath.Join(dir, "x/u/u.x")}
	stdout, stderr, code := runCommand(t, args...)
	if code != exitClean || stdout != filepath.ToSlash(out)+"/u_xdr.go\n" {
		t.Fatalf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	text, err := os.ReadFile(filepath.Join(out, "u_xdr.go"))
	if err != nil || !strings.HasPrefix(string(text), "// Code generated by xdrgen from u.x. DO NOT EDIT.") || strings.Contains(string(text), dir) {
		t.Errorf("%v\n%s", err, text)
	}
	if stdout, _, code = runCommand(t, args...); code != exitClean || stdout != "" {
		t.Errorf("second run: exit code %d, stdout %q", code, stdout)
	}
	if entries, err := os.ReadDir(out); err != nil || len(entries) != 2 {
		t.Errorf("%v: %d files", err, len(entries))
	}

	// Views come by the flag or the sidecar, and their file is stale without them.
	views := filepath.ToSlash(out) + "/u_view_xdr.go"
	if stdout, _, code = runCommand(t, append(args, "-views")...); code != exitClean || stdout != views+"\n" {
		t.Errorf("-views: exit code %d, stdout %q", code, stdout)
	}
	if _, stderr, code = runCommand(t, args...); code != exitClean || !strings.Contains(stderr, views+" is stale") {
		t.Errorf("without -views: exit code %d, stderr %q", code, stderr)
	}
	sidecar := filepath.Join(dir, "x/u/u.bind")
	if err := os.WriteFile(sidecar, []byte("views\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code = runCommand(t, args...); code != exitClean || stdout != "" || stderr != "" {
		t.Errorf("line views: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if err := os.Remove(sidecar); err != nil {
		t.Fatal(err)
	}

	// gen needs the Go package of an imported unit.
	args = []string{"gen", "-I", filepath.Join(dir, "x"), "-o", filepath.Join(dir, "v"), "-package", "v", filepath.Join(dir, "x/v/v.x")}
	if _, stderr, code = runCommand(t, args...); code != exitFindings || !strings.Contains(stderr, "import-package") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if _, stderr, code = runCommand(t, append(args, "-import-root", "example.org/m/gen")...); code != exitClean {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

// TestNameClash checks that two names with the same Go name are reported at their positions in
// the XDR, and that nothing is written (D3).
func TestNameClash(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"u.x":    "struct two_words { int x; };\nstruct twoWords { int x; };\n",
		"u.bind": "rename twoWords TwoWords\n", // without it, the second is TwoWords_
	})
	out := filepath.Join(dir, "out")
	_, stderr, code := runCommand(t, "gen", "-o", out, "-package", "u", filepath.Join(dir, "u.x"))
	if code != exitFindings || !strings.Contains(stderr, "go-name-clash") || !strings.Contains(stderr, "u.x:2:8:") {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
	if exists(out) {
		t.Error("gen wrote files although there are errors")
	}
	stdout, _, code := runCommand(t, "check", filepath.Join(dir, "u.x"))
	if code != exitClean || !strings.Contains(stdout, "warning: XDR0901 go-name-clash") || !strings.Contains(stdout, "gen rejects the unit") {
		t.Errorf("check: exit code %d, stdout %s", code, stdout)
	}
	if _, _, code := runCommand(t, "check", "-strict", filepath.Join(dir, "u.x")); code != exitFindings {
		t.Errorf("check -strict: exit code %d", code)
	}
	// The proposed rename resolves the clash, as a flag and as a line of the sidecar.
	flag := regexp.MustCompile(`-rename \S+=\w+`).FindString(stderr)
	args := append([]string{"gen", "-o", out, "-package", "u", filepath.Join(dir, "u.x")}, strings.Fields(flag)...)
	if _, stderr, code := runCommand(t, args...); flag == "" || code != exitClean {
		t.Errorf("%q: exit code %d, stderr %s", flag, code, stderr)
	}
	line := regexp.MustCompile(`"(rename .*)"`).FindStringSubmatch(stderr)
	if err := os.WriteFile(filepath.Join(dir, "u.bind"), []byte(line[1]+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := runCommand(t, args[:6]...); code != exitClean {
		t.Errorf("%q: exit code %d, stderr %s", line[1], code, stderr)
	}
	for _, c := range []struct {
		flag string
		code int
	}{{"twoWords=lower", exitUsage}, {"twoWords", exitUsage}, {"nothing=Name", exitFindings}} {
		if _, _, code := runCommand(t, append(args[:6:6], "-rename", c.flag)...); code != c.code {
			t.Errorf("-rename %s: exit code %d, expected %d", c.flag, code, c.code)
		}
	}
}

func TestImportPath(t *testing.T) {
	dir := writeFiles(t, map[string]string{"go.mod": "// ours\nmodule example.org/m // and so on\n"})
	for _, c := range []struct{ dir, declared, want string }{
		{"gen/u", "", "example.org/m/gen/u"},
		{"", "", "example.org/m"},
		{"gen/u", "example.org/other", "example.org/other"},
	} {
		if got := importPath(filepath.Join(dir, c.dir), c.declared); got != c.want {
			t.Errorf("%s: %q, expected %q", c.dir, got, c.want)
		}
	}
}

// TestNotText checks that a file that is not text gets one finding, not thousands.
func TestNotText(t *testing.T) {
	file := filepath.Join(writeFiles(t, map[string]string{"u.x": "\x7fELF\x00\x01\x02" + strings.Repeat("\x00\xff", 999)}), "u.x")
	stdout, _, code := runCommand(t, "check", "-format", "json", file)
	if fs := parseFindings(t, stdout); code != exitFindings || len(fs) != 2 || fs[0].Rule != "not-text" {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}

// TestGoodFilesHaveNoFindings checks that the files of testdata/ok have no findings. Those that
// show extensions may have warnings.
func TestGoodFilesHaveNoFindings(t *testing.T) {
	files, err := filepath.Glob("testdata/ok/*.x")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	files = append(files, "testdata/import/ext/ext.x")
	for _, f := range files {
		args := []string{"check", "-strict", "-I", "testdata/import", "-I", "testdata/ok/units", f}
		if base := filepath.Base(f); base == "dialect.x" || base == "program.x" || base == "discriminants.x" {
			args = append(args[:1], args[2:]...)
		}
		if stdout, _, code := runCommand(t, args...); code != exitClean {
			t.Errorf("%s: exit code %d\n%s", f, code, stdout)
		}
	}
}

// TestExtractedFilesPassStrictly checks that the extracted files pass check -strict (D4).
func TestExtractedFilesPassStrictly(t *testing.T) {
	units, err := filepath.Glob("../../spec/x/*")
	if err != nil || len(units) == 0 {
		t.Fatalf("%d units, %v", len(units), err)
	}
	for _, u := range units {
		files, err := filepath.Glob(filepath.Join(u, "*.x"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", u, len(files), err)
		}
		args := append([]string{"check", "-strict", "-I", "../../spec/x"}, files...)
		if stdout, _, code := runCommand(t, args...); code != exitClean {
			t.Errorf("%s: exit code %d\n%s", u, code, stdout)
		}
	}
}
