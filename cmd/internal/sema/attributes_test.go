package sema

import (
	"fmt"
	"strings"
	"testing"
)

const attributesText = `
typedef unsigned int bitmap<>;
struct holder { bitmap mask; opaque values<>; };
struct bounded { bitmap mask; opaque values<8>; };
struct signed { int mask<>; opaque values<>; };
struct three { bitmap mask; opaque values<>; int more; };
const A_SIZE = 4;
const A_NAME = 1;
typedef hyper a_size;
typedef string a_name<>;
const B_NONE = 1;
const C_SIZE = 4;
const C_TWICE = 4;
typedef int c_size;
typedef int c_twice;
const D_LARGE = 4096;
const D_NEGATIVE = -1;
typedef int d_large;
typedef int d_negative;
const E_CONST = 1;
const e_const = 2;
`

// A unit has the attributes of those that it includes, too, in the order of their numbers.
func TestAttributesAreFoundInIncludedUnits(t *testing.T) {
	r := compileFiles(t, Options{}, map[string]string{
		"u/u.x":    attributesText,
		"v/v.x":    "#include \"u/u.x\"\nconst A_MORE = 2;\nstruct a_more { int x; };\nenum e { A_MEMBER = 3 };\n",
		"v/v.bind": "attributes holder A_ Attrs\n",
	}, "v/v.x")
	if r.Unit == nil {
		t.Fatal(r.Diags)
	}
	a := r.Bind.Attributes[0]
	var got []string
	for _, x := range a.Items {
		got = append(got, fmt.Sprintf("%d %s %s", x.Number, x.Const.Name, x.Type.Name))
	}
	if want := "1 A_NAME a_name, 2 A_MORE a_more, 4 A_SIZE a_size"; a.Decl.Name != "holder" || strings.Join(got, ", ") != want {
		t.Errorf("%s %v", a.Decl.Name, got)
	}
}

func TestFaultyAttributesAreReported(t *testing.T) {
	for line, want := range map[string]string{
		"attributes none A_ X":    "bind-unknown-name: found no struct none",
		"attributes a_size A_ X":  "bind-path: a_size is not a struct of a bitmap and values",
		"attributes bounded A_ X": "bind-path: bounded is not a struct of a bitmap and values",
		"attributes signed A_ X":  "bind-path: signed is not a struct of a bitmap and values",
		"attributes three A_ X":   "bind-path: three is not a struct of a bitmap and values",
		"attributes holder Z_ X":  "bind-unknown-name: no constant begins with Z_",
		"attributes holder B_ X":  "bind-unknown-name: found no type b_none for attribute B_NONE",
		"attributes holder C_ X":  "bind-duplicate: attributes C_SIZE and C_TWICE have the same number 4",
		"attributes holder D_ X":  "bind-code: D_LARGE is 4096, expected a number from 0 to 4095; bind-code: D_NEGATIVE is -1, expected a number from 0 to 4095",
		"attributes holder E_ X":  "bind-unknown-name: found no type e_const for attribute E_CONST",
	} {
		r := compileFiles(t, Options{}, map[string]string{"u/u.x": attributesText, "u/u.bind": line + "\n"}, "u/u.x")
		var got []string
		for _, d := range r.Diags {
			got = append(got, d.Rule.Info().Name+": "+d.Message)
		}
		if s := strings.Join(got, "; "); s != want || r.Unit != nil {
			t.Errorf("%s\ngot  %s\nwant %s", line, s, want)
		}
	}
}
