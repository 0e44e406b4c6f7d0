package main

import (
	"os"
	"strings"
	"testing"
)

// TestGenNames prints the table of Go names. It writes no file, also with -o.
func TestGenNames(t *testing.T) {
	t.Chdir(writeFiles(t, map[string]string{
		"t.x": "enum snap { SNAP_OPT_NONE = 0, SNAP_OPT_ALL = 1 };\nstruct snap_all { int sa_id; };\n" +
			"program PROG { version VERS {\n  void GET(void) = 1; } = 1; } = 9;\n",
		"t.bind":  "rename PROG.VERS.GET ProcFetch\n",
		"twice.x": "struct a { int x; };\nstruct A { int y; };\n",
	}))
	const want = `kind        XDR name            Go name     why        place
enum        snap                Snap        rule       t.x:1
enumerator  snap.SNAP_OPT_NONE  Gone        rename     t.x:1
enumerator  snap.SNAP_OPT_ALL   SnapOptAll  collision  t.x:1
struct      snap_all            SnapAll     rule       t.x:2
field       snap_all.sa_id      ID          rule       t.x:2
program     PROG                Prog        rule       t.x:3
version     PROG.VERS           ProgVers    rule       t.x:3
procedure   PROG.VERS.GET       ProcFetch   rename     t.x:4
`
	stdout, stderr, code := runCommand(t, "gen", "-names", "-o", "out", "-rename", "SNAP_OPT_NONE=Gone", "t.x")
	if stdout != want {
		t.Errorf("got\n%s", stdout)
	}
	if code != exitClean || strings.Contains(stderr, "error") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
	if _, err := os.Stat("out"); err == nil {
		t.Error("it writes files")
	}

	stdout, stderr, code = runCommand(t, "gen", "-names", "-rename", "A=A", "twice.x")
	if code != exitFindings || !strings.Contains(stderr, "go-name-clash") || strings.Count(stdout, "\n") != 5 {
		t.Errorf("names that collide: exit code %d, %s%s", code, stdout, stderr)
	}
	for args, want := range map[string]string{
		"gen -format json -o out t.x":      "found -format json without -names",
		"gen -names -format xml t.x":       "xml",
		"gen -names":                       "FILE is missing",
		"gen t.x":                          "-o is missing",
		"gen -names -rename t=u t.x":       "expected NAME=GoName",
		"diff -names -o out t.x":           "-names",
		"gen -names -rename NONE=Gone t.x": "the unit has no NONE to rename",
	} {
		if _, stderr, code := runCommand(t, strings.Fields(args)...); code == exitClean || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s", args, code, stderr)
		}
	}
}

// TestGenNamesStubs checks the names of clients and servers: in the first program's lowest version
// they have no prefix unless it is renamed. A rename to Version1 names the constant alone.
func TestGenNamesStubs(t *testing.T) {
	const x = "program LG { version LG_V1 { void A(void) = 1; } = 1; version LG_V2 { void A(void) = 1; } = 2; } = 9;\n"
	t.Chdir(writeFiles(t, map[string]string{"t.x": x}))
	for _, c := range []struct{ flags, want string }{
		{"-rpc", "client LG.LG_V1 Client rule, server LG.LG_V1 Server rule, client LG.LG_V2 LgV2Client rule, server LG.LG_V2 LgV2Server rule"},
		{"-rpc -rename LG.LG_V1=V1 -rename LG_V2=V2", "client LG.LG_V1 V1Client rename, server LG.LG_V1 V1Server rename, client LG.LG_V2 V2Client rename, server LG.LG_V2 V2Server rename"},
		{"-rpc -rename LG.LG_V1=Version1", "client LG.LG_V1 Client rule, server LG.LG_V1 Server rule, client LG.LG_V2 LgV2Client rule, server LG.LG_V2 LgV2Server rule"},
		{"-rpc -rename LG.LG_V2=New", "client LG.LG_V1 Client rule, server LG.LG_V1 Server rule, client LG.LG_V2 NewClient_ rename, server LG.LG_V2 NewServer_ rename"},
		{"", ""},
	} {
		stdout, stderr, code := runCommand(t, append(append([]string{"gen", "-names"}, strings.Fields(c.flags)...), "t.x")...)
		var got []string
		for l := range strings.Lines(stdout) {
			if w := strings.Fields(l); w[0] == "client" || w[0] == "server" {
				got = append(got, strings.Join(w[:4], " "))
			}
		}
		if code != exitClean || strings.Join(got, ", ") != c.want {
			t.Errorf("%s: exit code %d, %s%s", c.flags, code, stdout, stderr)
		}
	}
}

// TestCompatOldNames compares a unit with names that an earlier xdrgen recorded.
func TestCompatOldNames(t *testing.T) {
	const x = "struct CREATE_SESSION4args { int csa_flags; };\n"
	t.Chdir(writeFiles(t, map[string]string{"t.x": x, "text.txt": "kind  XDR name\n", "empty.json": "", "bad.json": `{"v":1,"type":"name","name":"a","go":"not a name"}` + "\n"}))
	names, _, code := runCommand(t, "gen", "-names", "-format", "json", "t.x")
	if code != exitClean {
		t.Fatal(names)
	}
	for file, text := range map[string]string{"same.json": names, "old.json": strings.Replace(names, `"go":"Flags"`, `"go":"CsaFlags"`, 1)} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		file, want string
		code       int
	}{
		{"same.json", "", exitClean},
		{"old.json", "breaks Go source: Go name of CREATE_SESSION4args.csa_flags changed from CsaFlags to Flags", exitFindings},
		{"text.txt", `text.txt:1: found "kind  XDR name", expected a line that xdrgen gen -names -format json wrote`, exitFailed},
		{"bad.json", "bad.json:1: found", exitFailed},
		{"empty.json", "empty.json is empty", exitFailed},
		{"none.json", "none.json", exitFailed},
	} {
		stdout, stderr, code := runCommand(t, "compat", "-old-names", c.file, "t.x", "t.x")
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s: exit code %d\n%s%s", c.file, code, stdout, stderr)
		}
	}
}
