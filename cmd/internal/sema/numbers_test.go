package sema

import (
	"slices"
	"strings"
	"testing"
)

// TestNumbersAsConstants uses the names of programs, versions and procedures as constants, as in C,
// including the names in an included unit. Each gives a warning.
func TestNumbersAsConstants(t *testing.T) {
	const base = "program P { version V1 { void NONE(void) = 0; void GET(void) = 1; } = 1;" +
		" version V2 { void NONE(void) = 0; void GET(void) = 2; } = 2; } = 99;\n"
	for text, want := range map[string]struct {
		value uint64 // of X, where there are warnings only
		rules string
	}{
		base + "const X = P;":                                                              {99, "number-as-constant"},
		base + "const X = V2;":                                                             {2, "number-as-constant"},
		base + "const X = NONE;":                                                           {0, "number-as-constant"},
		base + "const X = GET;":                                                            {0, "not-a-constant"},
		base + "const X = P; const Y = P;":                                                 {99, "number-as-constant"},
		"#include \"base/b.x\"\nconst X = LAST;":                                           {7, "number-as-constant"},
		"const LAST = 3;\nconst X = LAST;":                                                 {3, ""},
		"enum e { LAST = 3 };\nconst X = LAST;":                                            {3, ""},
		"const X = Q; program Q { version V { void f(void) = 1; } = 1; } = Q;":             {0, "constant-cycle"},
		"const X = f; program Q { version V { void f(void) = X; } = 1; } = 1;":             {0, "constant-cycle"},
		base + "const X = NOWHERE;":                                                        {0, "undefined-constant"},
		base + "typedef GET get; const X = 1;":                                             {0, "undefined-type"},
		base + "struct s { P x; }; const X = 1;":                                           {0, "not-a-type"},
		base + "enum e { A = 0 }; union u switch (e d) { case NONE: void; }; const X = 1;": {1, "number-as-constant"},
	} {
		r := compileFiles(t, Options{}, map[string]string{
			"u/u.x": text, "base/b.x": "program OTHER { version O { void LAST(void) = 7; } = 1; } = 98;\n",
		}, "u/u.x")
		if got := strings.Join(slices.Compact(rules(r)), " "); got != want.rules {
			t.Errorf("%s: found %q, want %q", text, got, want.rules)
			continue
		}
		if r.Unit != nil && find(t, r.Unit, "X").Value.Abs != want.value {
			t.Errorf("%s: %d, want %d", text, find(t, r.Unit, "X").Value.Abs, want.value)
		}
	}
	if r := compileFiles(t, Options{}, map[string]string{"u/u.x": base + "const X = P; const Y = P;"}, "u/u.x"); len(r.Diags) != 1 {
		t.Errorf("found %d findings, expected one for each name", len(r.Diags))
	}
}

// TestLanguageNames declares names of the language, with the values of the language and with
// others.
func TestLanguageNames(t *testing.T) {
	for text, want := range map[string]string{
		"const TRUE = 1;":                      "declared-by-language",
		"const FALSE = 0x0;":                   "declared-by-language",
		"const TRUE = 0;":                      "duplicate-name",
		"const TRUE = -1;":                     "duplicate-name",
		"const ONE = 1; const TRUE = ONE;":     "duplicate-name",
		"enum bool { FALSE = 0, TRUE = 1 };":   "declared-by-language",
		"enum bool { TRUE = 1, FALSE = 0 };":   "declared-by-language",
		"enum bool { FALSE, TRUE };":           "declared-by-language",
		"enum bool { FALSE = 0, TRUE = 2 };":   "duplicate-name",
		"enum bool { FALSE = 0, FALSE = 0 };":  "duplicate-name",
		"enum bool { FALSE = 0 };":             "duplicate-name",
		"enum bool { NO = 0, YES = 1 };":       "duplicate-name",
		"enum answer { FALSE = 0, TRUE = 1 };": "declared-by-language",
		"enum answer { TRUE = 0, FALSE = 1 };": "duplicate-name",
		"typedef int TRUE;":                    "duplicate-name",
		"struct FALSE { int x; };":             "duplicate-name",
	} {
		r := compileFiles(t, Options{}, map[string]string{"u/u.x": text + " struct s { bool b; opaque x[TRUE]; };"}, "u/u.x")
		got := slices.DeleteFunc(rules(r), func(s string) bool { return s == "member-without-value" })
		if strings.Join(slices.Compact(got), " ") != want {
			t.Errorf("%s: found %v, want %s", text, got, want)
		}
	}
}
