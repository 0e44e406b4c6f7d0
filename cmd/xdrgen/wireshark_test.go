package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWiresharkWritesADissector checks where the dissector goes, and the name of its protocol, and
// that two runs write the same.
func TestWiresharkWritesADissector(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"Two-Words.x": "program P { version V { int GET(string) = 1; } = 1; } = 0x20000001;",
		"9.x":         "program P { version V { void NULL(void) = 0; } = 1; } = 0x20000001;",
		"types.x":     "struct s { int a; };",
		"beat.x":      "#include \"rpcrdma2/common.x\"\nconst BEAT = 100;\nstruct beat { int at; };",
		"beat.bind":   "code header-type BEAT beat RPCRDMA2_F_RESPONSE",
		"both.x":      "#include \"rpcrdma2/common.x\"\nprogram P { version V { rpcrdma2_propval GET(void) = 1; } = 1; } = 0x20000001;",
		"bad.x":       "struct s { missing a; };",
	})
	file := func(name string) string { return filepath.Join(dir, name) }
	out := file("out.lua")
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{file("Two-Words.x")}, exitClean, `name = "two_words", known = false`, ""},
		{[]string{file("9.x")}, exitClean, `name = "xdr_9"`, ""},
		{[]string{"-name", "mine", "-known", file("9.x")}, exitClean, `name = "mine", known = true`, ""},
		{[]string{"-name", "Mine", file("9.x")}, exitUsage, "", "has a name of small letters"},
		{[]string{file("types.x")}, exitUsage, "", "the files declare no program, and no sidecar has a message line"},
		{[]string{"-I", "../../spec/x", file("beat.x")}, exitClean, `[100] = {name="BEAT",t={k="ref",ref="beat"},flags=1,payload=false}`, ""},
		{[]string{"-I", "../../spec/x", file("beat.x")}, exitClean, `from beat.x, unit rpcrdma2; DO`, ""},
		{[]string{"-I", "../../spec/x", file("beat.x")}, exitClean, `name = "rpcrdma2"`, ""},
		{[]string{"-I", "../../spec/x", "-name", "beat", file("beat.x")}, exitClean, `name = "beat"`, ""},
		{[]string{"-I", "../../spec/x", file("both.x")}, exitClean, `name = "both"`, ""},
		{[]string{"../../spec/x/rpcrdma2"}, exitClean, `[5] = {name="RDMA2_CONNPROP"`, ""},
		{[]string{file("bad.x")}, exitFindings, "", "missing"},
		{[]string{"-o", file("9.x"), file("9.x")}, exitFailed, "", "is a file to read"},
		{[]string{"-o", out, file("Two-Words.x")}, exitClean, "", ""},
		{[]string{"-o", filepath.Join(dir, "none", "out.lua"), file("Two-Words.x")}, exitFailed, "", "none"},
	} {
		stdout, stderr, code := runCommand(t, append([]string{"wireshark"}, tt.args...)...)
		if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stdout+stderr, tt.stderr) {
			t.Errorf("%v: code %d, want %d with %q and %q\n%.300s\n%s", tt.args, code, tt.code, tt.stdout, tt.stderr, stdout, stderr)
		}
	}
	written, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if again, _, _ := runCommand(t, "wireshark", file("Two-Words.x")); again != string(written) {
		t.Error("two runs write different dissectors")
	}
}
