package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExtensionsAreProvedPure compares the extensions of testdata/ok/units/ops with it. opstwo
// replaces a struct by one with a further field.
func TestExtensionsAreProvedPure(t *testing.T) {
	const units = "testdata/ok/units"
	for name, want := range map[string]string{
		"opsone": units + "/opsone is a pure extension of " + units + "/ops: 9 changes, all allowed;",
		"opstwo": units + "/opstwo is not a pure extension of " + units + "/ops: 1 change of ",
	} {
		stdout, stderr, code := runCommand(t, "compat", "-extends", "-I", units, units+"/ops", units+"/"+name)
		pure := name == "opsone"
		if !strings.Contains(stdout, want) || (code == exitClean) != pure {
			t.Errorf("%s: code %d, %s%s", name, code, stdout, stderr)
		}
		if strings.Contains(stdout, "field fast of struct apart was added") == pure {
			t.Errorf("%s: %s", name, stdout)
		}
	}
}

// TestWhatIsNoExtensionIsNamed has a change for each rule that an extension must not break.
func TestWhatIsNoExtensionIsNamed(t *testing.T) {
	const base = "enum op { A = 1, B = 2 };\nstruct s { int x; opaque d<8>; };\nunion u switch (op o) { case A: s a; case B: void; };\n" +
		"union v switch (op o) { case A: s a; default: void; };\nprogram P { version V { u DO(v) = 1; } = 1; } = 300000;\n"
	for name, x := range map[string]struct{ from, to, want string }{
		"nothing":        {"", "", ""},
		"member":         {"B = 2", "B = 2, C = 3", ""},
		"case":           {"B = 2 };\n", "B = 2, C = 3 };\nstruct t { hyper y; };\n", ""},
		"procedure":      {"u DO(v) = 1;", "u DO(v) = 1; void MORE(s) = 2;", ""},
		"version":        {"} = 1; } = 300000", "} = 1; version W { void NO(void) = 0; } = 2; } = 300000", ""},
		"number":         {"B = 2", "B = 3", "member-value"},
		"member gone":    {"case B: void; };\n", "};\n", "arm-removed"},
		"field":          {"int x;", "int x; int z;", "field-added"},
		"bound":          {"d<8>", "d<9>", "bound-raised"},
		"lower bound":    {"d<8>", "d<7>", "bound-lowered"},
		"default gone":   {"default: void; };\nprogram", "};\nprogram", "default-removed"},
		"other data":     {"case B: void;", "case B: int b;", "void-changed"},
		"program":        {"300000", "300001", "program-number"},
		"procedure gone": {"u DO(v) = 1;", "u OTHER(v) = 3;", "procedure-removed"},
	} {
		dir := t.TempDir()
		old, now := filepath.Join(dir, "old.x"), filepath.Join(dir, "new.x")
		for file, text := range map[string]string{old: base, now: strings.Replace(base, x.from, x.to, 1)} {
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		stdout, stderr, code := runCommand(t, "compat", "-extends", old, now)
		if (code == exitClean) != (x.want == "") || !strings.Contains(stdout, x.want) || !strings.Contains(stdout, "pure extension") {
			t.Errorf("%s: code %d, want %q: %s%s", name, code, x.want, stdout, stderr)
		}
	}
}

// TestACaseInPlaceOfADefaultIsNoExtension adds a member with an arm to a union that has a default:
// an old peer may read the default for it (RFC 8178 section 4.2).
func TestACaseInPlaceOfADefaultIsNoExtension(t *testing.T) {
	dir := t.TempDir()
	old, now := filepath.Join(dir, "old.x"), filepath.Join(dir, "new.x")
	for file, text := range map[string]string{
		old: "enum e { A = 0 };\nunion u switch (e d) { case A: int a; default: void; };\n",
		now: "enum e { A = 0, B = 1 };\nunion u switch (e d) { case A: int a; case B: int b; default: void; };\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if stdout, _, code := runCommand(t, "compat", "-extends", old, now); code != exitFindings || !strings.Contains(stdout, "XDC0507") {
		t.Errorf("code %d: %s", code, stdout)
	}
}
