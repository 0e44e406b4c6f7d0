package sema

import (
	"strings"
	"testing"
)

// TestCodesOfUnits checks that two included units must not use one number in one space.
func TestCodesOfUnits(t *testing.T) {
	for own, want := range map[string]string{"property": "property B_P has the number 7, which unit a uses", "error": ""} {
		r := compileFiles(t, Options{ImportRoot: "example.org"}, map[string]string{
			"a/a.x": "const A_P = 7;\n", "a/a.bind": "code property A_P void\n",
			"b/b.x": "#include \"a/a.x\"\nconst A_MORE = A_P;\n", "b/b.bind": "",
			"d/d.x": "const B_P = 7;\n", "d/d.bind": "code " + own + " B_P void\n",
			"ext/ext.x": "#include \"b/b.x\"\n#include \"a/a.x\"\n#include \"d/d.x\"\nconst X = B_P; const Y = A_P; const Z = A_MORE;\n",
		}, "ext/ext.x")
		var got []string
		for _, d := range r.Diags {
			got = append(got, d.Message)
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s: found %q, want %q", own, s, want)
		}
	}
}

// TestCodeNumbersHaveOneMeaning checks the numbers in an extension against the numbers in the unit
// that it includes (R322). Each number has only one meaning.
func TestCodeNumbersHaveOneMeaning(t *testing.T) {
	const base = "const MSG = 0; const ERR = 4; const F_MORE = 2; const E_VERS = 1; struct body { int x; };\n"
	const baseBind = "code header-type MSG body F_MORE\ncode header-type ERR void\ncode flag F_MORE void\ncode error E_VERS void\n"
	const ext = "#include \"base/base.x\"\nconst HINT = 9; const TAKEN = 4; const F_HINT = 4; const F_BOTH = 6; const NONE = 0; const NEG = -1;\n"
	for line, want := range map[string]string{
		"code header-type HINT body F_MORE F_HINT": "",
		"code flag F_HINT void":                    "",
		"code error TAKEN void":                    "",
		"code property TAKEN void":                 "",
		"code header-type TAKEN body":              "bind-duplicate: header-type TAKEN has the number 4, which unit base uses",
		"code header-type MSG body":                "bind-duplicate: header-type MSG has the number 0, which unit base uses",
		"code error E_VERS void":                   "bind-duplicate: error E_VERS has the number 1, which unit base uses",
		"code flag F_MORE void":                    "bind-duplicate: flag F_MORE has the number 2, which unit base uses",
		"code flag F_BOTH void":                    "bind-code: flag F_BOTH is 0x6, expected a number with one bit",
		"code flag NONE void":                      "bind-code: flag NONE is 0x0, expected a number with one bit",
		"code flag NEG void":                       "bind-code: NEG is -1, expected a value from 0 to 4294967295",
		"code header-type HINT body F_BOTH":        "bind-code: flag F_BOTH is 0x6, expected a number with one bit",
		"code header-type HINT body F_MORE F_MORE": "bind-duplicate: second flag 0x2 of HINT",
		"code header-type HINT body F_MISSING":     "bind-unknown-name: found no constant F_MISSING",
	} {
		r := compileFiles(t, Options{ImportRoot: "example.org"}, map[string]string{
			"base/base.x": base, "base/base.bind": baseBind, "ext/ext.x": ext, "ext/ext.bind": line + "\n",
		}, "ext/ext.x")
		var got []string
		for _, d := range r.Diags {
			got = append(got, d.Rule.Info().Name+": "+d.Message)
			if strings.Contains(d.Message, "unit base") && (len(d.Related) != 1 || d.Related[0].Span.File.Base() != "base.bind") {
				t.Errorf("%s: the place in base.bind is missing: %v", line, d.Related)
			}
		}
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%s: found %q, want %q", line, s, want)
		}
		if strings.HasSuffix(line, "F_HINT") && (r.Bind == nil || r.Bind.Codes[0].Mask != 6) {
			t.Errorf("%s: %+v, want the mask 6", line, r.Bind)
		}
	}
}
