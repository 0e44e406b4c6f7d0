package sema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// amendBase is a protocol in the form of NFSv4: operations in an enum, and two unions by operation.
const amendBase = `
enum op { OP_A = 1, OP_B = 2 };
enum stat { OK = 0, BAD = 1 };
struct A_args { int x; };
struct B_args { int y; };
union A_res switch (stat s) { case OK: int x; default: void; };
union B_res switch (stat s) { case OK: int y; default: void; };
union argop switch (op o) { case OP_A: A_args a; case OP_B: B_args b; };
union resop switch (op o) { case OP_A: A_res a; case OP_B: B_res b; };
struct args { argop ops<>; };
struct res { resop ops<>; };
struct apart { int z; };
typedef op ops<4>;
program P { version V { res DO(args) = 1; } = 1; } = 300000;
`

// amendExt adds an operation to amendBase.
const amendExt = `
#include "base/base.x"
struct C_args { apart z; };
union C_res switch (stat s) { case OK: int w; default: void; };
/* In op: */
OP_C = 3;
/* In argop: */
case OP_C: C_args c;
/* In resop: */
case OP_C: C_res c;
`

const amendLines = "amend op\namend argop\namend resop\n"

// places returns the findings as "rule file:line, file:line: message", with all places.
func places(r *Result) []string {
	var out []string
	at := func(d diag.Diagnostic) string {
		s := ""
		for i, p := range append([]diag.Related{{Span: d.Span}}, d.Related...) {
			if i > 0 {
				s += ", "
			}
			name := p.Span.File.Name
			s += fmt.Sprintf("%s:%d", name[strings.LastIndexByte(name, '/')+1:], p.Span.Position().Line)
		}
		return s
	}
	for _, d := range r.Diags {
		out = append(out, d.Rule.Info().Name+" "+at(d)+": "+d.Message)
	}
	return out
}

// amendUnit compiles a unit that includes base.
func amendUnit(t *testing.T, text, lines string) *Result {
	t.Helper()
	return compileFiles(t, Options{}, map[string]string{"base/base.x": amendBase, "ext/ext.x": text, "ext/ext.bind": lines}, "ext/ext.x")
}

// copies returns the names of the declarations that copy included ones.
func copies(u *ir.Unit) string {
	var out []string
	for _, d := range u.Decls {
		if d.Of != nil {
			out = append(out, d.Name)
		}
	}
	return strings.Join(out, " ")
}

func TestOnlyWhatContainsAnAmendedTypeIsCopied(t *testing.T) {
	r := amendUnit(t, amendExt, amendLines)
	if r.Unit == nil || len(r.Diags) > 0 {
		t.Fatal(places(r))
	}
	if got, want := copies(r.Unit), "op argop resop args res ops P"; got != want {
		t.Errorf("copies: %s\nwant:   %s", got, want)
	}
	if a := find(t, r.Unit, "argop").Arms; len(a) != 3 || a[2].Labels[0].Member.Name != "OP_C" || a[2].Field.Type.Ref.Name != "C_args" {
		t.Errorf("argop has %d arms", len(a))
	}
	if d := find(t, r.Unit, "C_args").Fields[0].Type.Ref; d.Import == nil {
		t.Error("apart was copied")
	}
}

// TestFormsOfAnAdditionMeanTheSame compiles one extension in each form.
func TestFormsOfAnAdditionMeanTheSame(t *testing.T) {
	head := "#include \"base/base.x\"\nstruct C_args { apart z; };\nunion C_res switch (stat s) { case OK: int w; default: void; };\n"
	for name, x := range map[string]struct{ text, lines string }{
		"loose":     {amendExt, amendLines},
		"declared":  {head + "enum op { OP_C = 3 }; union argop switch (op o) { case OP_C: C_args c; }; union resop switch (op o) { case OP_C: C_res c; };", amendLines},
		"commas":    {head + "OP_C = 3,\n/* added to argop */ case OP_C: C_args c; /* added to resop */ case OP_C: C_res c;", amendLines},
		"bare":      {head + "OP_C = 3\n/* argop */\n\ncase OP_C: C_args c;\n\n/* Then: */\n/* resop */\n/* the arm. */\ncase OP_C: C_res c;", amendLines},
		"constant":  {head + "const OP_C = 3;\n/* argop */ case OP_C: C_args c;\n/* resop */ case OP_C: C_res c;", "amend op OP_C\namend argop\namend resop\n"},
		"replaced":  {head + "enum op { OP_A = 1, OP_B = 2, OP_C = 3 };\n/* argop */ case OP_C: C_args c;\n/* resop */ case OP_C: C_res c;", "replace op\namend argop\namend resop\n"},
		"by labels": {head + "OP_C = 3;\ncase OP_C: C_args c;\n/* resop */ case OP_C: C_res c;", amendLines},
	} {
		r := amendUnit(t, x.text, x.lines)
		warned := len(r.Diags) == 1 && r.Diags[0].Rule == diag.AmendGuess
		if r.Unit == nil || len(r.Diags) > 0 && (name != "by labels" || !warned) {
			t.Errorf("%s: %v", name, places(r))
			continue
		}
		if a, b := find(t, r.Unit, "argop"), find(t, r.Unit, "resop"); len(a.Arms) != 3 || a.Arms[2].Field.Type.Ref.Name != "C_args" || len(b.Arms) != 3 || b.Arms[2].Field.Type.Ref.Name != "C_res" {
			t.Errorf("%s: other arms", name)
		}
		if e := find(t, r.Unit, "op"); len(e.Members) != 3 || e.Members[2].Value != 3 {
			t.Errorf("%s: other members", name)
		}
	}
}

// TestAnOpenEnumIsNotCopiedIntoItsUsers checks that types with an enum that is open where it is
// declared are not copied for its sake: they accept the new members as they are.
func TestAnOpenEnumIsNotCopiedIntoItsUsers(t *testing.T) {
	for lines, want := range map[string]string{"": "stat A_res B_res resop res P", "open stat": "stat"} {
		r := compileFiles(t, Options{}, map[string]string{
			"base/base.x": amendBase, "base/base.bind": lines, "ext/ext.x": "#include \"base/base.x\"\nWORSE = 9;\n", "ext/ext.bind": "amend stat",
		}, "ext/ext.x")
		if r.Unit == nil {
			t.Fatal(places(r))
		}
		if got := copies(r.Unit); got != want {
			t.Errorf("%q: copies %s, want %s", lines, got, want)
		}
		if d := find(t, r.Unit, "stat"); d.Open != (lines != "") {
			t.Errorf("%q: open %v", lines, d.Open)
		}
	}
}

// TestAnArmCanHaveFurtherLabels adds a label to an arm that exists, as RFC 9754 does.
func TestAnArmCanHaveFurtherLabels(t *testing.T) {
	r := amendUnit(t, "#include \"base/base.x\"\nOP_C = 3;\ncase OP_C: A_args a;\n", "amend op\namend argop")
	if r.Unit == nil || len(r.Diags) > 0 {
		t.Fatal(places(r))
	}
	if a := find(t, r.Unit, "argop").Arms; len(a) != 2 || len(a[0].Labels) != 2 {
		t.Errorf("%d arms, the first has %d labels", len(a), len(a[0].Labels))
	}
}

func TestProgramsTakeProceduresAndVersions(t *testing.T) {
	r := amendUnit(t, `#include "base/base.x"
program P { version V { void MORE(args) = 2; } = 1; version W { void NEW(int) = 0; } = 2; } = 300000;
`, "amend P")
	if r.Unit == nil || len(r.Diags) > 0 {
		t.Fatal(places(r))
	}
	p := find(t, r.Unit, "P").Program
	if len(p.Versions) != 2 || len(p.Versions[0].Procs) != 2 || p.Versions[0].Procs[1].Number != 2 || p.Versions[1].Number != 2 {
		t.Errorf("%+v", p)
	}
	if got := copies(r.Unit); got != "P" {
		t.Errorf("copies: %s", got)
	}
	for _, d := range r.Unit.Imports[0].Decls {
		if d.Kind == ir.Program && len(d.Program.Versions[0].Procs) != 1 {
			t.Error("the included program has the procedure too")
		}
	}
	for _, f := range compileFiles(t, Options{}, map[string]string{
		"base/base.x": amendBase, "one/one.x": "#include \"base/base.x\"\nprogram P { version V { void ONE(int) = 2; } = 1; } = 300000;\n", "one/one.bind": "amend P",
		"two/two.x": "#include \"base/base.x\"\nprogram P { version V { void TWO(int) = 2; } = 1; } = 300000;\n", "two/two.bind": "amend P",
		"u/u.x": "#include \"one/one.x\"\n#include \"two/two.x\"\nconst C = 1;\n",
	}, "u/u.x").Diags {
		t.Errorf("one unit's procedure is in the other's version: %s", f.Message)
	}
}

// TestCommentsNameTheTypeOfTheLinesBelow checks which comment counts: the last one above that names
// an amended type, not one at the end of a line, and not across a definition.
func TestCommentsNameTheTypeOfTheLinesBelow(t *testing.T) {
	const lines = "amend op\namend stat\n"
	for text, want := range map[string]string{
		"/* In this run: */\n/* it is op that gets */\nX = 9;":                          "op",
		"/* stat has no part in this: it is op that gets */\nX = 9;":                    "",
		"/* In op: */\nOP_C = 3;\n/* stat, as op has it: */\nX = 9;":                    "",
		"/* In op: */\n/* In stat: */\nX = 9;":                                          "stat",
		"/* In op: */\nOP_C = 3, /* not in stat */\nX = 9":                              "op",
		"/* In op: */ OP_C = 3, /* In stat: */ X = 9":                                   "stat",
		"/* In stat: */\nWORSE = 8;\n\n/* The next one, for opera. */\nX = 9;":          "stat",
		"/* In op: */\nOP_C = 3;\n/* In stat: */\nWORSE = 8;\nconst Q = 1;\nX = 9;":     "",
		"/* In argop: */\n/* In stat, */\n#define Q 1\nX = 9;\n/* In op: */\nOP_C = 3;": "stat",
	} {
		r := amendUnit(t, "#include \"base/base.x\"\n"+text+"\n", lines)
		got := ""
		if r.Unit != nil || len(r.Diags) == 1 && r.Diags[0].Rule == diag.AmendUnknown {
			r = amendUnit(t, "#include \"base/base.x\"\nenum op { OP_FILL = 77 };\nenum stat { FILL = 78 };\n"+text+"\n", lines)
			for _, name := range []string{"op", "stat"} {
				for _, m := range find(t, r.Unit, name).Members {
					if m.Name == "X" {
						got = name
					}
				}
			}
		} else if r.Diags[0].Rule != diag.AmendWhich {
			t.Errorf("%q: %v", text, places(r))
		}
		if got != want {
			t.Errorf("%q: X is in %q, want %q", text, got, want)
		}
	}
}

// TestTwoReplacementsOfOneType includes two units that replace the same struct.
func TestTwoReplacementsOfOneType(t *testing.T) {
	files := map[string]string{
		"base/base.x": amendBase,
		"one/one.x":   "#include \"base/base.x\"\nstruct A_args { int x; int y; };\n", "one/one.bind": "replace A_args",
		"two/two.x": "#include \"base/base.x\"\nstruct A_args { int x; hyper z; };\n", "two/two.bind": "replace A_args",
		"u/u.x": "#include \"one/one.x\"\n#include \"two/two.x\"\nOP_C = 3;\ncase OP_C: int c;\n", "u/u.bind": "amend op\namend argop\n",
		"three/three.x": "#include \"base/base.x\"\nstruct args { argop ops<>; int x; };\n", "three/three.bind": "replace args",
		"four/four.x": "#include \"base/base.x\"\nstruct args { argop ops<>; int y; };\n", "four/four.bind": "replace args",
		"w/w.x": "#include \"three/three.x\"\n#include \"four/four.x\"\nOP_C = 3;\ncase OP_C: int c;\n", "w/w.bind": "amend op\namend argop\n",
		"v/v.x": "#include \"one/one.x\"\n#include \"two/two.x\"\nstruct A_args { int x; int y; hyper z; };\n", "v/v.bind": "replace A_args\n",
	}
	r := compileFiles(t, Options{}, files, "u/u.x")
	if got := places(r); len(got) != 1 || got[0] != "amend-conflict u.bind:1, base.x:8: units one and two both amend A_args, or what it contains" || !strings.Contains(r.Diags[0].Help, "replace A_args") {
		t.Errorf("%v", got)
	}
	r = compileFiles(t, Options{}, files, "w/w.x")
	if got := places(r); len(got) != 1 || got[0] != "amend-conflict four.x:2, three.x:2, four.x:2: units three and four both replace args" {
		t.Errorf("%v", got)
	}
	r = compileFiles(t, Options{}, files, "v/v.x")
	if r.Unit == nil {
		t.Fatal(places(r))
	}
	if f := find(t, r.Unit, "argop").Arms[0].Field.Type.Ref.Fields; len(f) != 3 {
		t.Errorf("argop has A_args with %d fields", len(f))
	}
}

// TestTheDefaultStaysLast adds an arm to a union whose last arm is the default.
func TestTheDefaultStaysLast(t *testing.T) {
	r := amendUnit(t, "#include \"base/base.x\"\nLATE = 2;\ncase LATE: int when;\n", "amend stat\namend A_res")
	if r.Unit == nil || len(r.Diags) > 0 {
		t.Fatal(places(r))
	}
	if a := find(t, r.Unit, "A_res").Arms; len(a) != 3 || !a[2].Default {
		t.Errorf("%d arms", len(a))
	}
}

// TestFaultsOfAmendmentsHaveBothPlaces has each fault of an amendment with all its places.
func TestFaultsOfAmendmentsHaveBothPlaces(t *testing.T) {
	for name, x := range map[string]struct {
		text, lines string
		want        []string
	}{
		"unknown type":     {"OP_C = 3;", "amend opp", []string{"amend-unknown ext.bind:1, base.x:2: no included unit declares opp"}},
		"no enum or union": {"struct apart { int y; };", "amend apart", []string{"amend-kind ext.bind:1, base.x:12: apart is a struct, and only enums, unions and programs can have additions"}},
		"a typedef":        {"OP_C = 3;", "amend ops", []string{"amend-kind ext.bind:1, base.x:13: ops is a typedef, and only enums, unions and programs can have additions"}},
		"a member":         {"", "amend OP_A", []string{"amend-kind ext.bind:1, base.x:2: OP_A is a member of enum op, expected a type or program at top level"}},
		"another kind":     {"struct op { int y; };", "amend op", []string{"amend-kind ext.x:2, base.x:2: op is declared as struct, and adds to the enum op"}},
		"taken number":     {"OP_C = 2;", "amend op", []string{"amend-conflict ext.x:2, base.x:2: OP_C has the number of OP_B, 2, in enum op"}},
		"taken name":       {"OP_B = 3;", "amend op", []string{"amend-conflict ext.x:2, base.x:2: enum op has a member OP_B already"}},
		"taken label":      {"case OP_B: apart q;", "amend argop", []string{"duplicate-case ext.x:2, base.x:8: case OP_B (2) of union argop occurs twice"}},
		"taken arm":        {"OP_C = 3; case OP_C: apart b;", "amend op\namend argop", []string{"duplicate-arm-name ext.x:2, base.x:8: union argop has two arms named b"}},
		"no member":        {"case 7: apart q;", "amend argop", []string{"case-not-in-enum ext.x:2, base.x:2: case 7 is not a member of enum op"}},
		"nothing added":    {"const Q = 1;", "amend op", []string{"amend-unknown ext.bind:1, base.x:2: the unit adds nothing to op"}},
		"not declared":     {"const Q = 1;", "replace op", []string{"amend-unknown ext.bind:1, base.x:2: the unit does not declare op"}},
		"no such constant": {"OP_C = 3;", "amend op OP_D", []string{"amend-unknown ext.bind:1: the unit declares no constant OP_D"}},
		"twice":            {"OP_C = 3;", "amend op\nreplace op", []string{"bind-duplicate ext.bind:2, ext.bind:1: second amend or replace of op"}},
		"which enum":       {"X_C = 3;", "amend op\namend stat", []string{"amends-which ext.x:2: this line adds a member to an enum of an included unit: which one?"}},
		"which union":      {"case OP_A: int q;", "amend argop\namend resop", []string{"amends-which ext.x:2: this line adds an arm to a union of an included unit: which one?"}},
		"no data":          {"OP_C = 3;\ncase OP_C: A_args q;\ncase OP_C: void;", "amend op\namend argop\namend resop", []string{"amend-guess ext.x:3, base.x:8: ", "amends-which ext.x:4: this line adds an arm to a union of an included unit: which one?"}},
		"no line":          {"OP_C = 3;\nOP_D = 4;", "", []string{"amends-which ext.x:2: these 2 lines add members to an enum of an included unit: which one?"}},
		"discriminant":     {"union argop switch (stat o) { case BAD: int q; };", "amend argop", []string{"amend-conflict ext.x:2, base.x:8: union argop has the discriminant stat o here, and op o where it is declared", "duplicate-case ext.x:2, base.x:8: case BAD (1) of union argop occurs twice"}},
		"program number":   {"program P { version W { void N(int) = 0; } = 2; } = 300001;", "amend P", []string{"amend-conflict ext.x:2, base.x:14: program P has the number 300001 here, and 300000 where it is declared"}},
		"version number":   {"program P { version V { void N(int) = 0; } = 2; } = 300000;", "amend P", []string{"amend-conflict ext.x:2, base.x:14: version V has the number 2 here, and 1 where it is declared"}},
		"taken procedure":  {"program P { version V { void N(int) = 1; } = 1; } = 300000;", "amend P", []string{"duplicate-procedure ext.x:2, base.x:14: version V has two procedures with number 1"}},
		"redeclared":       {"enum op { OP_A = 1, OP_C = 3 };", "", []string{"duplicate-name ext.x:2, base.x:2: op is already declared by unit base"}},
	} {
		r := amendUnit(t, "#include \"base/base.x\"\n"+x.text+"\n", x.lines)
		got := places(r)
		same := len(got) == len(x.want)
		for i := 0; same && i < len(got); i++ {
			same = strings.HasPrefix(got[i], x.want[i])
		}
		if !same || r.Unit != nil {
			t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, "\n     "), strings.Join(x.want, "\n     "))
		}
	}
}

// TestProposedLinesAreEnough adds the lines that the findings propose, and compiles again.
func TestProposedLinesAreEnough(t *testing.T) {
	text := "#include \"base/base.x\"\nstruct C_args { apart z; };\nunion C_res switch (stat s) { case OK: int w; default: void; };\n" +
		"OP_C = 3;\nOP_D = 4;\ncase OP_C: C_args c;\ncase OP_D: void;\ncase OP_C: C_res c;\ncase OP_D: void;\n"
	r := amendUnit(t, text, "")
	lines := ""
	for _, d := range r.Diags {
		for i, word := range strings.Split(d.HelpText(), `"`) {
			if i%2 == 1 {
				lines += word + "\n"
			}
		}
	}
	if lines != "amend op\namend argop\namend resop\n" {
		t.Fatalf("proposed %q: %v", lines, places(r))
	}
	r = amendUnit(t, text, lines)
	if r.Unit == nil {
		t.Fatal(places(r))
	}
	for _, name := range []string{"argop", "resop"} {
		if a := find(t, r.Unit, name).Arms; len(a) != 4 || a[3].Field != nil {
			t.Errorf("%s has %d arms", name, len(a))
		}
	}
}

// TestAProgramDeclaredAgainIsAnAddition checks that the finding proposes a line for a program too.
func TestAProgramDeclaredAgainIsAnAddition(t *testing.T) {
	for more, want := range map[string]string{"void MORE(args) = 2;": "amend P", "res DO(args) = 1; void MORE(args) = 2;": "replace P"} {
		r := amendUnit(t, "#include \"base/base.x\"\nprogram P { version V { "+more+" } = 1; } = 300000;\n", "")
		if len(r.Diags) != 1 || !strings.Contains(r.Diags[0].Help, `the line "`+want+`"`) {
			t.Errorf("%s: %v", more, r.Diags)
		}
	}
}

// TestCommentsMayNameTypesThatAreNotAmended has lines below a comment with a type that the sidecar
// leaves out. They do not go to the only type that it has.
func TestCommentsMayNameTypesThatAreNotAmended(t *testing.T) {
	base := "enum op4 { OP_A = 1 };\nenum stat4 { OK = 0 };\nenum class { C = 1 };\nunion arg4 switch (op4 o) { case OP_A: void; };\nunion res4 switch (op4 o) { case OP_A: void; };\n"
	for _, tt := range []struct{ text, lines, want, help string }{
		{"/* op4 */ OP_B = 2;\n/* Added to stat4: */\nBAD = 9;", "amend op4\n", "amends-which ext.x:4, base.x:2: the comment above says that this line adds to enum stat4, which the sidecar does not amend", `add to the sidecar ext.bind the line "amend stat4"`},
		{"OP_B = 2;\n/* in arg4 */\ncase OP_B: int b;\n/* in res4 */\ncase OP_B: int b;", "amend op4\namend arg4\n", "amends-which ext.x:6, base.x:5: the comment above says that this line adds to union res4, which the sidecar does not amend", `"amend res4"`},
		{"/* One class. */\nOP_B = 2;", "amend op4\n", "", ""},
		{"/* stat4 has no such number; in op4: */\nOP_B = 2;", "amend op4\n", "", ""},
	} {
		r := compileFiles(t, Options{}, map[string]string{"base/base.x": base, "ext/ext.x": "#include \"base/base.x\"\n" + tt.text + "\n", "ext/ext.bind": tt.lines}, "ext/ext.x")
		if tt.want == "" {
			if len(r.Diags) > 0 {
				t.Errorf("%s: %q", tt.text, places(r))
			}
			continue
		}
		if got := places(r); len(got) != 1 || got[0] != tt.want || !strings.Contains(r.Diags[0].Help, tt.help) {
			t.Errorf("%s: %q %q", tt.text, got, helps(r))
		}
	}
}

// TestArmsGoWhereTheirLabelBelongs has arms without a comment. One union alone switches on the enum
// that has their label; the types of their data end like another union's.
func TestArmsGoWhereTheirLabelBelongs(t *testing.T) {
	base := "enum how { H_A = 0, H_B = 1 };\nenum kind { K_A = 1, K_B = 2 };\nstruct in_args { int x; };\nstruct up_args { int x; };\n" +
		"union inner switch (how h) { case H_A: void; case H_B: int b; };\nunion outer switch (kind k) { case K_A: in_args a; case K_B: up_args b; };\n"
	for _, members := range []string{"/* how */ H_C = 2;\n/* kind */ K_C = 3;\n", "enum how { H_C = 2 };\nenum kind { K_C = 3 };\n"} {
		r := compileFiles(t, Options{}, map[string]string{
			"base/base.x": base, "ext/ext.bind": "amend how\namend kind\namend inner\namend outer\n",
			"ext/ext.x": "#include \"base/base.x\"\n" + members + "case H_C: in_args deep;\ncase K_C: void;\n",
		}, "ext/ext.x")
		if r.Unit == nil || len(r.Diags) > 0 {
			t.Fatal(places(r))
		}
		if a, b := find(t, r.Unit, "inner").Arms, find(t, r.Unit, "outer").Arms; len(a) != 3 || len(b) != 3 || a[2].Field.Name != "deep" {
			t.Errorf("inner has %d arms, outer %d", len(a), len(b))
		}
	}
}

// TestVersionsOutsideProgramsProposeTheAmendment has versions and procedures as documents print
// them.
func TestVersionsOutsideProgramsProposeTheAmendment(t *testing.T) {
	for text, want := range map[string]string{
		"version W { int F(void) = 0; } = 2;\nversion X { int G(void) = 0; } = 3;": "version W is in no program",
		"res MORE(args) = 2;\nunsigned int LESS(args, int) = 3;":                   "procedure MORE is in no program",
		"void MORE(void) = NUMBER;":                                                "procedure MORE is in no program",
	} {
		r := amendUnit(t, "#include \"base/base.x\"\n"+text+"\nstruct s { int x; };\n", "amend P\n")
		if got := places(r); len(got) != 1 || got[0] != "amends-which ext.x:2: "+want || !strings.Contains(r.Diags[0].Help, `add to the sidecar the line "amend NAME"`) {
			t.Errorf("%s: %q %q", text, got, helps(r))
		}
	}
	for _, text := range []string{"int f(int);", "int f(int) { return 1; }", "version 2 {", "int f(", "int f(int) ="} {
		r := amendUnit(t, text, "")
		for _, d := range r.Diags {
			if d.Rule == diag.AmendWhich {
				t.Errorf("%s: %q", text, places(r))
			}
		}
	}
	r := amendUnit(t, "#include \"base/base.x\"\nprogram P { version W { int F(void) = 0; } = 2; } = 300000;\n", "")
	if len(r.Diags) != 1 || !strings.Contains(r.Diags[0].Help, `the line "amend P"`) {
		t.Errorf("%q %q", places(r), helps(r))
	}
}

// TestWholeTypesUnderAmendAreOneFinding repeats what the base has.
func TestWholeTypesUnderAmendAreOneFinding(t *testing.T) {
	for _, tt := range []struct{ text, lines, want, help, fix string }{
		{"enum op { OP_A = 1, OP_B = 2, OP_C = 3 };", "amend op\n", "amend-conflict ext.x:2, base.x:2: enum op has the members OP_A, OP_B already", "this is the whole enum: write replace op in the sidecar", "replace"},
		{"enum op { OP_B = 2, OP_C = 3 };", "amend op\n", "amend-conflict ext.x:2, base.x:2: enum op has the member OP_B already", "remove the parts that are there; or, if this is the whole enum, write replace op in the sidecar", ""},
		{
			"union argop switch (op o) { case OP_A: A_args a; case OP_B: B_args b; case OP_C: void; };\nOP_C = 3;", "amend argop\namend op\n",
			"amend-conflict ext.x:2, base.x:8: union argop has the cases OP_A, OP_B already", "this is the whole union: write replace argop in the sidecar", "replace",
		},
		{
			"union argop switch (op o) { case OP_A: case OP_C: int w; };\nOP_C = 3;", "amend argop\namend op\n",
			"amend-conflict ext.x:2, base.x:8: union argop has the case OP_A already", "remove the parts that are there", "",
		},
		{
			"program P { version V { res DO(args) = 1; res MORE(args) = 2; } = 1; } = 300000;", "amend P\n",
			"amend-conflict ext.x:2, base.x:14: program P has the procedure V.DO already", "this is the whole program: write replace P in the sidecar", "replace",
		},
	} {
		r := amendUnit(t, "#include \"base/base.x\"\n"+tt.text+"\n", tt.lines)
		if got := places(r); len(got) != 1 || got[0] != tt.want || !strings.HasPrefix(r.Diags[0].Help, tt.help) {
			t.Errorf("%s: %q %q", tt.text, got, helps(r))
			continue
		}
		if fix := r.Diags[0].Fix; (len(fix) == 1) != (tt.fix != "") || len(fix) == 1 && (fix[0].Text != tt.fix || fix[0].Span.Text() != "amend") {
			t.Errorf("%s: fix %v", tt.text, fix)
		}
	}
}

// third compiles a unit that includes two extensions of base.
func third(t *testing.T, one, two, text, lines string) *Result {
	t.Helper()
	sidecar := func(text string) (out string) {
		for _, name := range []string{"op", "argop"} {
			if strings.Contains(text, "In "+name) {
				out += "amend " + name + "\n"
			}
		}
		return out
	}
	return compileFiles(t, Options{}, map[string]string{
		"base/base.x": amendBase, "one/one.x": one, "one/one.bind": sidecar(one), "two/two.x": two, "two/two.bind": sidecar(two),
		"both/both.x": "#include \"one/one.x\"\n#include \"two/two.x\"\n" + text, "both/both.bind": lines,
	}, "both/both.x")
}

const (
	extOne = "#include \"base/base.x\"\nstruct C_args { int c; };\n/* In op: */\nOP_C = 3;\n/* In argop: */\ncase OP_C: C_args c;\n"
	extTwo = "#include \"base/base.x\"\nstruct D_args { int d; };\n/* In op: */\nOP_D = 4;\n/* In argop: */\ncase OP_D: D_args d;\n"
)

func TestTwoExtensionsOfOneBase(t *testing.T) {
	r := third(t, extOne, extTwo, "struct user { args both; };\n", "amend op\namend argop\n")
	if r.Unit == nil {
		t.Fatal(places(r))
	}
	if got := copies(r.Unit); got != "op argop resop args res ops P" {
		t.Errorf("copies: %s", got)
	}
	if a := find(t, r.Unit, "argop").Arms; len(a) != 4 || a[2].Field.Name != "c" || a[3].Field.Name != "d" {
		t.Errorf("argop has %d arms", len(a))
	}
	if find(t, r.Unit, "user").Fields[0].Type.Ref.Import != nil {
		t.Error("user has the args of an included unit")
	}
	for name, x := range map[string]struct{ two, text, lines, want string }{
		"number": {strings.ReplaceAll(extTwo, "= 4", "= 3"), "", "amend op\namend argop\n", "amend-conflict two.x:4, one.x:4: OP_D has the number of OP_C, 3, in enum op"},
		"member": {strings.ReplaceAll(extTwo, "OP_D", "OP_C"), "", "amend op\namend argop\n", "amend-conflict two.x:4, one.x:4: enum op has a member OP_C already"},
		"arm":    {strings.NewReplacer("D_args d;\n", "C_args c;\n", "D_args", "C_args").Replace(extTwo), "", "amend op\namend argop\n", "duplicate-arm-name two.x:6, one.x:6: union argop has two arms named c"},
		"unsaid": {extTwo, "struct user { args both; };", "", "amend-conflict both.x:3: units one and two both amend args, or what it contains"},
	} {
		r := third(t, extOne, x.two, x.text, x.lines)
		if name == "unsaid" && r.Diags[0].Help != `to amend with both, add to the sidecar both.bind the line "amend argop" and the line "amend op"` {
			t.Errorf("help: %s", r.Diags[0].Help)
		}
		if got := places(r); len(got) == 0 || got[0] != x.want {
			t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, "\n     "), x.want)
		}
	}
}

// TestTypesOfOneNameInTwoExtensions has two extensions that declare types with the same name. Each
// arm has the type that its own extension declares.
func TestTypesOfOneNameInTwoExtensions(t *testing.T) {
	r := third(t, extOne, strings.ReplaceAll(extTwo, "D_args", "C_args"), "", "amend op\namend argop\n")
	if r.Unit == nil || len(r.Diags) > 0 {
		t.Fatal(places(r))
	}
	a := find(t, r.Unit, "argop").Arms
	if len(a) != 4 || a[2].Field.Type.Ref.Import.Unit != "one" || a[3].Field.Type.Ref.Import.Unit != "two" {
		t.Errorf("argop has %d arms, the last two with types of %s and %s", len(a), a[2].Field.Type.Ref.Import.Unit, a[3].Field.Type.Ref.Import.Unit)
	}
}

// TestAnExtensionOfAnExtension amends what an included unit has amended, and uses it without
// amending it.
func TestAnExtensionOfAnExtension(t *testing.T) {
	files := map[string]string{
		"base/base.x": amendBase, "one/one.x": extOne, "one/one.bind": "amend op\namend argop\n",
		"next/next.x":    "#include \"base/base.x\"\n#include \"one/one.x\"\nOP_E = 5;\ncase OP_E: args more;\n",
		"next/next.bind": "amend op\namend argop\n",
		"user/user.x":    "#include \"base/base.x\"\n#include \"next/next.x\"\nstruct user { args all; argop one; };\n",
	}
	r := compileFiles(t, Options{}, files, "next/next.x")
	if r.Unit == nil {
		t.Fatal(places(r))
	}
	if a := find(t, r.Unit, "argop").Arms; len(a) != 4 {
		t.Errorf("argop has %d arms", len(a))
	}
	r = compileFiles(t, Options{}, files, "user/user.x")
	if r.Unit == nil {
		t.Fatal(places(r))
	}
	for _, f := range find(t, r.Unit, "user").Fields {
		if imp := f.Type.Ref.Import; imp == nil || imp.Unit != "next" {
			t.Errorf("%s is of %v", f.Name, imp)
		}
	}
	if len(r.Unit.Imports) != 3 || r.Unit.Imports[0].Unit != "base" || r.Unit.Imports[2].Unit != "next" {
		t.Error("an import comes before what it amends")
	}
}

// TestLinesOfTheBaseHoldForCopies checks that a sidecar's lines about programs hold for the copies.
func TestLinesOfTheBaseHoldForCopies(t *testing.T) {
	base := "enum op { OP_A = 1 }; struct A_args { opaque data<>; }; union argop switch (op o) { case OP_A: A_args a; };\n" +
		"struct args { argop one; unsigned int most; }; struct res { opaque r<>; };\nprogram P { version V { res DO(args) = 1; } = 1; } = 300000;\n"
	r := compileFiles(t, Options{}, map[string]string{
		"base/base.x": base, "base/base.bind": "ddp P.V.DO args one.a.data\nonce P.V.DO\nnonblocking P.V.DO\nreply P.V.DO most\n",
		"ext/ext.x": "#include \"base/base.x\"\nOP_C = 3;\ncase OP_C: int c;\n", "ext/ext.bind": "amend op\namend argop\nonce P.V.DO\n",
	}, "ext/ext.x")
	if r.Unit == nil {
		t.Fatal(places(r))
	}
	p := find(t, r.Unit, "P").Program.Versions[0].Procs[0]
	if !p.NonBlocking || len(r.Bind.NonBlocking) != 1 {
		t.Errorf("nonblocking %v, %d lines", p.NonBlocking, len(r.Bind.NonBlocking))
	}
	if !p.Once || len(p.Limit) != 1 || len(r.Bind.Once) != 1 || len(r.Bind.DDP) != 1 || r.Bind.DDP[0].Owner.Import == nil {
		t.Errorf("once %v, limit %d, %d once, %d ddp", p.Once, len(p.Limit), len(r.Bind.Once), len(r.Bind.DDP))
	}
}
