package sema

import (
	"strings"
	"testing"
)

// namesUnits are two units that declare the same names. left and right differ in the types, in
// SIZE, in the members' values, and in VERS; they agree in SAME and in word.
var namesUnits = map[string]string{
	"left/left.x": `
typedef unsigned int word;
const SIZE = 4;
const SAME = 7;
enum op { OP_A = 1 };
struct pt { int x; };
union arg switch (op o) { case OP_A: pt p; };
struct keep { arg a; };
program LEFT { version VERS { void NUL(void) = 0; } = 1; } = 300001;
`,
	"right/right.x": `
typedef unsigned int word;
const SIZE = 8;
const SAME = 7;
enum op { OP_A = 2 };
struct pt { hyper x; };
union arg switch (op o) { case OP_A: pt p; };
program RIGHT { version VERS { void NUL(void) = 0; } = 2; } = 300002;
`,
}

const namesHead = "#include \"left/left.x\"\n#include \"right/right.x\"\n"

// compileNames compiles a text that includes left and right.
func compileNames(t *testing.T, text, lines string) *Result {
	t.Helper()
	files := map[string]string{"u/u.x": text}
	if lines != "" {
		files["u/u.bind"] = lines
	}
	for name, text := range namesUnits {
		files[name] = text
	}
	return compileFiles(t, Options{}, files, "u/u.x")
}

func TestNameOfTwoIncludedUnitsNeedsAChoice(t *testing.T) {
	for _, tt := range []struct{ name, text, lines, want, help string }{
		{"type", "struct s { pt p; };", "", "ambiguous-name u.x:3, left.x:6, right.x:6: pt is declared by the included units left and right, and the declarations differ", `add to the sidecar u.bind the line that says which one is meant: "from left pt", or "from right pt"`},
		{"enum", "struct s { op p; };", "", "ambiguous-name u.x:3, left.x:5, right.x:5: op is declared by the included units left and right, and the declarations differ", `"from left op", or "from right op"`},
		{"constant", "struct s { opaque p[SIZE]; };", "", "ambiguous-name u.x:3, left.x:3, right.x:3: SIZE is declared", `"from left SIZE"`},
		{"member", "struct s { opaque p[OP_A]; };", "", "ambiguous-name u.x:3, left.x:5, right.x:5: OP_A is declared", `"from left op", or "from right op"`},
		{"version", "struct s { opaque p[VERS]; };", "", "not-a-constant u.x:3, left.x:9, right.x:8: VERS stands for two numbers, 1 and 2", `"from left VERS", or "from right VERS"`},
		{"union", "union w switch (op o) { case OP_A: void; };", "", "ambiguous-name u.x:3, left.x:5, right.x:5: op is declared", ""},
		{"value of a constant", "const TWICE = SIZE;", "", "ambiguous-name u.x:3, left.x:3, right.x:3: SIZE is declared", ""},
		{"argument", "program P { version V { pt F(void) = 1; } = 1; } = 300000;", "", "ambiguous-name u.x:3, left.x:6, right.x:6: pt is declared", ""},
		{"code", "const C = 1;", "code property C pt\n", "ambiguous-name u.bind:1, left.x:6, right.x:6: pt is declared", ""},
		{"amend", "OP_B = 3;", "amend op\n", "ambiguous-name u.bind:1, left.x:5, right.x:5: op is declared", ""},
		{"replace", "struct pt { int x; int y; };", "replace pt\n", "ambiguous-name u.bind:1, left.x:6, right.x:6: pt is declared", ""},
		{"unit", "struct s { int p; };", "from leff pt\n", "bind-unknown-name u.bind:1: no unit leff is included", "did you mean left?"},
		{"name", "struct s { int p; };", "from left ptt\n", "bind-unknown-name u.bind:1: unit left does not declare ptt", "did you mean pt?"},
		{"twice", "struct s { pt p; };", "from left pt\nfrom right pt\n", "bind-duplicate u.bind:2, u.bind:1: second unit for the name pt", ""},
	} {
		r := compileNames(t, namesHead+tt.text, tt.lines)
		got := places(r)
		if len(got) != 1 || !strings.HasPrefix(got[0], tt.want) || !strings.Contains(r.Diags[0].Help, tt.help) {
			t.Errorf("%s: %q, help %q\nwant %q, help %q", tt.name, got, helps(r), tt.want, tt.help)
		}
	}
}

func helps(r *Result) []string {
	var out []string
	for _, d := range r.Diags {
		out = append(out, d.Help)
	}
	return out
}

// TestNamesWithOneMeaningAreSilent includes both units, and uses no name that they differ about, or
// one that has only one reading.
func TestNamesWithOneMeaningAreSilent(t *testing.T) {
	for _, text := range []string{
		"struct s { int x; };",
		"struct s { word x; opaque y[SAME]; keep z; };",
		"struct u { keep z; }; const PT = 1;",
		"typedef keep k; union w switch (int o) { case SAME: k x; default: void; };",
	} {
		if r := compileNames(t, namesHead+text, ""); len(r.Diags) > 0 {
			t.Errorf("%s: %q", text, places(r))
		}
	}
}

func TestLineFromChoosesTheUnit(t *testing.T) {
	const text = namesHead + "struct s { pt p; opaque a[SIZE]; opaque v[VERS]; opaque m[OP_A]; };\nunion w switch (op o) { case OP_A: void; };\n"
	for unit, n := range map[string]uint64{"left": 1, "right": 2} {
		for _, lines := range []string{"from " + unit + " pt op SIZE VERS\n", "from " + unit + " op pt\nfrom " + unit + " SIZE\nfrom " + unit + " VERS\n"} {
			r := compileNames(t, text, lines)
			if r.Unit == nil || strings.Join(rules(r), " ") != "number-as-constant" {
				t.Fatalf("%s: %q", lines, places(r))
			}
			s, w := find(t, r.Unit, "s").Fields, find(t, r.Unit, "w")
			if got := s[0].Type.Ref.Import.Unit; got != unit {
				t.Errorf("from %s: pt is in %s", unit, got)
			}
			if s[1].Type.Len != 4*n || s[2].Type.Len != n || s[3].Type.Len != n || w.Disc.Type.Ref.Import.Unit != unit || w.Arms[0].Labels[0].Value.Abs != n {
				t.Errorf("from %s: lengths %d and %d, op of %s, case %d", unit, s[1].Type.Len, s[2].Type.Len, w.Disc.Type.Ref.Import.Unit, w.Arms[0].Labels[0].Value.Abs)
			}
		}
	}
}

// TestCasesBelongToTheDiscriminant has cases with names that two units declare. The discriminant
// chooses one.
func TestCasesBelongToTheDiscriminant(t *testing.T) {
	for unit, n := range map[string]uint64{"left": 1, "right": 2} {
		files := map[string]string{"mid/mid.x": "#include \"" + unit + "/" + unit + ".x\"\ntypedef op my_op;\n", "u/u.x": namesHead + "#include \"mid/mid.x\"\nunion w switch (my_op o) { case OP_A: void; };\n"}
		for name, text := range namesUnits {
			files[name] = text
		}
		r := compileFiles(t, Options{}, files, "u/u.x")
		if r.Unit == nil || len(r.Diags) > 0 {
			t.Fatal(places(r))
		}
		if l := find(t, r.Unit, "w").Arms[0].Labels[0]; l.Value.Abs != n || l.Member == nil || l.Member.Value != int32(n) {
			t.Errorf("%s: case OP_A is %d", unit, l.Value.Abs)
		}
	}
}

// TestCopiesKeepTheirMeaning amends a declaration of one unit, with another unit that has the same
// names. The copies mean the same as the originals.
func TestCopiesKeepTheirMeaning(t *testing.T) {
	for _, unit := range []string{"left", "right"} {
		for _, head := range []string{namesHead, "#include \"right/right.x\"\n#include \"left/left.x\"\n"} {
			r := compileNames(t, head+"OP_B = 3;\ncase OP_B: word w;\n", "from "+unit+" op arg\namend op\namend arg\n")
			if r.Unit == nil || len(r.Diags) > 0 {
				t.Fatalf("%s: %q", unit, places(r))
			}
			arg, op := find(t, r.Unit, "arg"), find(t, r.Unit, "op")
			if len(arg.Arms) != 2 || arg.Arms[0].Field.Type.Ref.Import.Unit != unit || arg.Disc.Type.Ref != op || len(op.Members) != 2 {
				t.Errorf("%s: the copied arg has pt from %s", unit, arg.Arms[0].Field.Type.Ref.Import.Unit)
			}
			if got, want := arg.Arms[0].Labels[0].Value.Abs, uint64(op.Members[0].Value); got != want || op.Of.Import.Unit != unit {
				t.Errorf("%s: case OP_A is %d, the member %d", unit, got, want)
			}
			want := map[string]string{"left": "op arg keep", "right": "op arg"}[unit]
			if got := copies(r.Unit); got != want {
				t.Errorf("%s: copies %s, want %s", unit, got, want)
			}
		}
	}
}

// TestCopyOfAChangedNameIsAmbiguousToo uses a name that one unit declares and another one copies.
func TestCopyOfAChangedNameIsAmbiguousToo(t *testing.T) {
	r := compileNames(t, namesHead+"OP_B = 3;\ncase OP_B: void;\nstruct s { arg a; };\n", "from left op\nfrom left arg\namend op\namend arg\n")
	if r.Unit == nil || len(r.Diags) > 0 || find(t, r.Unit, "s").Fields[0].Type.Ref != find(t, r.Unit, "arg") {
		t.Fatal(places(r))
	}
	files := map[string]string{
		"ext/ext.x": "#include \"left/left.x\"\nOP_B = 3;\ncase OP_B: void;\n", "ext/ext.bind": "amend op\namend arg\n",
		"u/u.x": "#include \"ext/ext.x\"\n#include \"right/right.x\"\nstruct s { arg a; };\n",
	}
	for name, text := range namesUnits {
		files[name] = text
	}
	want := "ambiguous-name u.x:3, left.x:7, right.x:7: arg is declared by the included units ext and right, and the declarations differ"
	if r := compileFiles(t, Options{}, files, "u/u.x"); len(r.Diags) != 1 || places(r)[0] != want {
		t.Errorf("%q", places(r))
	}
	for unit, n := range map[string]int{"ext": 2, "left": 2, "right": 1} {
		files["u/u.bind"] = "from " + unit + " arg\n"
		r := compileFiles(t, Options{}, files, "u/u.x")
		if r.Unit == nil || len(r.Diags) > 0 {
			t.Fatalf("%s: %q", unit, places(r))
		}
		if got := len(find(t, r.Unit, "s").Fields[0].Type.Ref.Arms); got != n {
			t.Errorf("from %s: arg has %d arms, expected %d", unit, got, n)
		}
	}
}

// TestAmendmentsOfAnotherNamesakeDoNotCount amends an enum, with an extension that amends the other
// enum with that name.
func TestAmendmentsOfAnotherNamesakeDoNotCount(t *testing.T) {
	files := map[string]string{
		"ext/ext.x": "#include \"left/left.x\"\nOP_B = 3;\ncase OP_B: void;\n", "ext/ext.bind": "amend op\namend arg\n",
		"u/u.x":    "#include \"ext/ext.x\"\n#include \"right/right.x\"\nOP_C = 4;\ncase OP_C: void;\n",
		"u/u.bind": "from right op arg\namend op\namend arg\n",
	}
	for name, text := range namesUnits {
		files[name] = text
	}
	r := compileFiles(t, Options{}, files, "u/u.x")
	if r.Unit == nil || len(r.Diags) > 0 {
		t.Fatal(places(r))
	}
	if op, arg := find(t, r.Unit, "op"), find(t, r.Unit, "arg"); len(op.Members) != 2 || len(arg.Arms) != 2 || copies(r.Unit) != "op arg" {
		t.Errorf("op has %d members, arg %d arms, copies %s", len(op.Members), len(arg.Arms), copies(r.Unit))
	}
}

// TestArmsWithTypesOfTwoUnitsDiffer adds an arm whose name and type are spelled as in an arm that
// is there. The type is another unit's.
func TestArmsWithTypesOfTwoUnitsDiffer(t *testing.T) {
	const text = namesHead + "OP_B = 3;\ncase OP_B: pt p;\n"
	r := compileNames(t, text, "from left op arg\nfrom right pt\namend op\namend arg\n")
	if got := places(r); len(got) != 1 || got[0] != "duplicate-arm-name u.x:4, left.x:7: union arg has two arms named p" {
		t.Errorf("%q", got)
	}
	r = compileNames(t, text, "from left op arg pt\namend op\namend arg\n")
	if r.Unit == nil || len(find(t, r.Unit, "arg").Arms) != 1 || len(find(t, r.Unit, "arg").Arms[0].Labels) != 2 {
		t.Errorf("%q", places(r))
	}
}

// TestLatestCopyIsMeant includes an extension, and then an extension of that one.
func TestLatestCopyIsMeant(t *testing.T) {
	files := map[string]string{
		"left/left.x": namesUnits["left/left.x"],
		"one/one.x":   "#include \"left/left.x\"\nOP_B = 3;\ncase OP_B: void;\n", "one/one.bind": "amend op\namend arg\n",
		"two/two.x": "#include \"one/one.x\"\nOP_C = 4;\ncase OP_C: void;\n", "two/two.bind": "amend op\namend arg\n",
	}
	for _, head := range []string{
		"#include \"one/one.x\"\n#include \"two/two.x\"\n", "#include \"two/two.x\"\n#include \"one/one.x\"\n",
		"#include \"left/left.x\"\n#include \"two/two.x\"\n", "#include \"two/two.x\"\n",
	} {
		files["u/u.x"] = head + "struct s { arg a; keep k; op o; };\n"
		r := compileFiles(t, Options{}, files, "u/u.x")
		if r.Unit == nil || len(r.Diags) > 0 {
			t.Fatalf("%s: %q", head, places(r))
		}
		for _, f := range find(t, r.Unit, "s").Fields {
			if f.Type.Ref.Import.Unit != "two" {
				t.Errorf("%s: %s is in %s", head, f.Type.Ref.Name, f.Type.Ref.Import.Unit)
			}
		}
	}
}

// TestChangesInOneTypeAreJoinedByALine includes two units that change different types, which a
// third type contains. The help names a line, and with that line the unit has both changes.
func TestChangesInOneTypeAreJoinedByALine(t *testing.T) {
	files := map[string]string{
		"base/base.x": "enum k { A = 1 };\nunion left switch (k k) { case A: int a; };\nstruct right { int r; };\nstruct whole { left l; right r; };\nstruct third { int t; };\nstruct wide { right r; third t; };\n",
		"one/one.x":   "#include \"base/base.x\"\nB = 2;\ncase B: hyper b;\n", "one/one.bind": "amend k\namend left\n",
		"two/two.x": "#include \"base/base.x\"\nstruct right { int r; int s; };\n", "two/two.bind": "replace right\n",
		"three/three.x": "#include \"base/base.x\"\nstruct third { int t; int u; };\n", "three/three.bind": "replace third\n",
	}
	for _, tt := range []struct{ text, want, help, more, lines string }{
		{"#include \"one/one.x\"\n#include \"two/two.x\"\nstruct s { whole w; };\n", "amend-conflict u.x:3: units one and two both amend whole, or what it contains", `to amend with both, add to the sidecar u.bind the line "amend k"`, "", "amend k\n"},
		{
			"#include \"two/two.x\"\n#include \"three/three.x\"\nstruct s { wide w; };\n", "amend-conflict u.x:3: units two and three both amend wide, or what it contains",
			`to amend with both, declare right here as the unit does that replaces it, and add to the sidecar u.bind the line "replace right"`, "struct right { int r; int s; };\n", "replace right\n",
		},
	} {
		files["u/u.x"] = tt.text
		delete(files, "u/u.bind")
		r := compileFiles(t, Options{}, files, "u/u.x")
		if got := places(r); len(got) != 1 || got[0] != tt.want || r.Diags[0].Help != tt.help {
			t.Errorf("%q %q", got, helps(r))
		}
		files["u/u.x"], files["u/u.bind"] = tt.text+tt.more, tt.lines
		r = compileFiles(t, Options{}, files, "u/u.x")
		if r.Unit == nil || len(r.Diags) > 0 {
			t.Fatal(places(r))
		}
		for _, f := range find(t, r.Unit, "s").Fields[0].Type.Ref.Fields {
			if n := len(f.Type.Ref.Fields) + len(f.Type.Ref.Arms); n != 2 {
				t.Errorf("%s has %d parts", f.Name, n)
			}
		}
	}
}

// TestAddedMemberMustBeNew adds a member with the name of another unit's constant.
func TestAddedMemberMustBeNew(t *testing.T) {
	r := compileNames(t, namesHead+"SIZE = 3;\ncase SIZE: void;\n", "from left op arg\namend op\namend arg\n")
	if got := places(r); len(got) != 1 || got[0] != "duplicate-name u.x:3, left.x:3: SIZE is already declared by unit left" {
		t.Errorf("%q", got)
	}
}

// TestTwoCopiesOfOneNameAreRefused amends two enums in such a way that types with the same name
// must be copied.
func TestTwoCopiesOfOneNameAreRefused(t *testing.T) {
	files := map[string]string{
		"left/left.x": namesUnits["left/left.x"],
		"far/far.x":   "enum fop { F_A = 1 };\nstruct keep { fop f; };\n",
		"u/u.x":       "#include \"left/left.x\"\n#include \"far/far.x\"\nenum op { OP_B = 3 };\nenum fop { F_B = 2 };\n", "u/u.bind": "amend op\namend fop\n",
	}
	r := compileFiles(t, Options{}, files, "u/u.x")
	if got := places(r); len(got) != 1 || !strings.HasPrefix(got[0], "amend-conflict u.bind:1, left.x:8, far.x:2: two declarations named keep must be copied") {
		t.Errorf("%q", got)
	}
}

// TestLinesOfAnotherUnitAreNotInherited has a sidecar line about a program that has the name of the
// copied one.
func TestLinesOfAnotherUnitAreNotInherited(t *testing.T) {
	base := func(n string) string {
		return "enum op" + n + " { OP" + n + "_A = 1 };\nprogram P { version V { void GO(op" + n + ") = 1; void STOP(void) = 2; } = 1; } = 30000" + n + ";\n"
	}
	files := map[string]string{
		"a/a.x": base("1"), "a/a.bind": "once P.V.GO\n", "b/b.x": base("2"), "b/b.bind": "once P.V.STOP\n",
		"u/u.x": "#include \"b/b.x\"\n#include \"a/a.x\"\nOP1_B = 2;\n", "u/u.bind": "amend op1\n",
	}
	r := compileFiles(t, Options{}, files, "u/u.x")
	if r.Unit == nil || len(r.Diags) > 0 {
		t.Fatal(places(r))
	}
	if once := r.Bind.Once; len(once) != 1 || once[0].Proc != "GO" || find(t, r.Unit, "P").Of.Program.Number != 300001 {
		t.Errorf("once lines %v", once)
	}
}
