package sema

import (
	"fmt"
	"strings"
	"testing"
)

// Finding a suggestion compares all names, so in a file with many unknown names only the first ones
// get suggestions. Each name is reported all the same.
func TestSuggestionsAreLimited(t *testing.T) {
	text := "struct point { int x; };\n"
	for i := range maxSuggest + 10 {
		text += fmt.Sprintf("typedef poin%d t%d;\n", i, i)
	}
	r := compileFiles(t, Options{}, map[string]string{"u/u.x": text}, "u/u.x")
	helped := 0
	for _, d := range r.Diags {
		if d.Help != "" {
			helped++
		}
	}
	if len(r.Diags) != maxSuggest+10 || helped != maxSuggest {
		t.Errorf("%d findings, %d with help, expected %d and %d", len(r.Diags), helped, maxSuggest+10, maxSuggest)
	}
}

func TestEachUseOfACNameIsReportedOnRequest(t *testing.T) {
	const text = "struct s { uint32_t a; uint32_t b; uint32_t c; };\n"
	for every, want := range map[bool]int{false: 1, true: 3} {
		r := compileFiles(t, Options{Every: every}, map[string]string{"u/u.x": text}, "u/u.x")
		if len(r.Diags) != want {
			t.Errorf("Every %v: %v, expected %d findings", every, rules(r), want)
		}
	}
}

// The number of a program is computed where the program is declared: N is 7 there.
func TestNumberOfAnotherUnitUsesItsConstants(t *testing.T) {
	r := compileFiles(t, Options{}, map[string]string{
		"base/b.x": "const N = 7; program P { version V { void F(void) = 0; } = 1; } = N;\n",
		"u/u.x":    "#include \"base/b.x\"\nconst N = 9;\nconst X = P;\n",
	}, "u/u.x")
	for _, d := range r.Diags {
		if strings.Contains(d.Message, "P is a program, read as the constant 7") {
			return
		}
	}
	t.Errorf("findings %v, expected the constant 7 for P", r.Diags)
}
