package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// parse returns the tree of a text, the findings as "line:column rule", and the names of the
// files that it includes.
func parse(text string, macros map[string]string) (f *File, found, included []string) {
	if macros == nil {
		macros = map[string]string{}
	}
	f = NewParser().Parse(source.NewFile("t.x", []byte(text)), &Context{
		Macros: macros,
		Report: func(d diag.Diagnostic) {
			p := d.Span.Position()
			found = append(found, fmt.Sprintf("%d:%d %s", p.Line, p.Column, d.Rule.Info().Name))
		},
		Include: func(name string, _ source.Span) { included = append(included, name) },
	})
	return f, found, included
}

// outline returns a tree as one line per definition.
func outline(f *File) []string {
	var out []string
	for _, d := range f.Defs {
		s := d.Kind.String() + " " + d.Name.Name
		if d.Broken {
			s += " broken"
		}
		switch d.Kind {
		case Const:
			s += " = " + d.Value.Text
		case Enum:
			for _, m := range d.Members {
				s += " " + m.Name.Name
			}
		case Struct:
			for _, x := range d.Fields {
				s += " " + declText(x) + ";"
			}
		case Union:
			if d.Disc != nil {
				s += " (" + declText(d.Disc) + ")"
			}
			for _, a := range d.Arms {
				for _, v := range a.Labels {
					s += " " + v.Text
				}
				s += strings.Repeat(" default", len(a.Default)) + ":"
				for _, x := range a.Decls {
					s += " " + declText(x) + ";"
				}
			}
		case Typedef:
			if d.Decl != nil {
				s = "typedef " + declText(d.Decl)
			}
		case Program:
			for _, v := range d.Versions {
				for _, p := range v.Procs {
					s += fmt.Sprintf(" %s.%s(%d)=%s", v.Name.Name, p.Name.Name, len(p.Args), p.Number.Text)
				}
			}
		}
		out = append(out, s)
	}
	return out
}

func declText(d *Decl) string {
	s := d.Type.Name
	if d.Type.Tag != 0 {
		s = d.Type.Tag.String() + " " + s
	}
	if d.Type.Kind == Inline {
		s = d.Type.Body.Kind.String() + "{}"
	}
	if d.Star {
		s += " *"
	}
	s += " " + d.Name.Name
	bound := ""
	if d.Bound != nil {
		bound = d.Bound.Text
	}
	switch d.Shape {
	case Fixed:
		s += "[" + bound + "]"
	case Variable:
		s += "<" + bound + ">"
	}
	return strings.TrimSpace(s)
}

// TestEachFormOfTheGrammarIsParsed parses every form of RFC 4506 §6.3 and RFC 5531 §12.2.
func TestEachFormOfTheGrammarIsParsed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"const A = 1;", "const A = 1"},
		{"const A = -0x1F;", "const A = -0x1F"},
		{"const A = B;", "const A = B"},
		{"enum e { A = 1, B = C };", "enum e A B"},
		{"struct s { int a; unsigned int b; hyper c; unsigned hyper d; };", "struct s int a; unsigned int b; hyper c; unsigned hyper d;"},
		{"struct s { float a; double b; quadruple c; bool d; };", "struct s float a; double b; quadruple c; bool d;"},
		{"struct s { opaque a[4]; opaque b<>; opaque c<N>; string d<>; string e<8>; };", "struct s opaque a[4]; opaque b<>; opaque c<N>; string d<>; string e<8>;"},
		{"struct s { t a[4]; t b<>; t c<N>; t *d; };", "struct s t a[4]; t b<>; t c<N>; t * d;"},
		{"struct s { struct t a; union u b; enum e c; struct t *d; };", "struct s struct t a; union u b; enum e c; struct t * d;"},
		{"struct s { struct { int x; } a; enum { A = 1 } b; union switch (int k) { default: void; } c; };", "struct s struct{} a; enum{} b; union{} c;"},
		{"union u switch (int k) { case 1: void; };", "union u (int k) 1: void;"},
		{"union u switch (e k) { default: int a; case A: case B: opaque b<>; };", "union u (e k) default: int a; A B: opaque b<>;"},
		{"typedef int t;", "typedef int t"},
		{"typedef unsigned hyper t<4>;", "typedef unsigned hyper t<4>"},
		{"typedef struct s *t;", "typedef struct s * t"},
		{"typedef struct { int x; } t;", "typedef struct{} t"},
		{"typedef a unsigned int;", "typedef a unsigned int"},
		{"program P { version V { void f(void) = 0; t *g(int, struct s, u x) = 1; } = 1; version W { int h() = 2; } = 2; } = 3;", "program P V.f(1)=0 V.g(3)=1 W.h(0)=2"},
		{"struct program { int version; int program; };", "struct program int version; int program;"},
		{"struct s { long long a; unsigned char b[2]; u_int c; long int d; };", "struct s long long a; unsigned char b[2]; u_int c; long int d;"},
		{"\ufeffconst A = 1;\r\n", "const A = 1"},
	} {
		f, found, _ := parse(c.text, nil)
		for _, r := range found {
			if !strings.HasSuffix(r, "empty-arguments") {
				t.Errorf("%s: %s", c.text, r)
			}
		}
		if got := strings.Join(outline(f), " | "); got != c.want {
			t.Errorf("%s:\n found %s\n want  %s", c.text, got, c.want)
		}
	}
}

// TestParsingContinuesAfterFaults checks the findings and the tree of texts with faults.
func TestParsingContinuesAfterFaults(t *testing.T) {
	for _, c := range []struct {
		name, text  string
		found, want []string
	}{
		{
			"a faulty definition does not affect the next",
			"struct a { int ; ; };\nstruct b { int x; };\nconst = 1;\nconst C = 2;\n",
			[]string{"1:18 extra-semicolon", "3:7 syntax-error"},
			[]string{"struct a int;", "struct b int x;", "const C = 2"},
		},
		{
			"two faults in one struct",
			"struct a {\n int 5;\n int ok;\n case x;\n hyper y;\n};\n",
			[]string{"2:6 syntax-error", "4:2 syntax-error"},
			[]string{"struct a broken int ok; hyper y;"},
		},
		{
			"missing semicolons",
			"struct a {\n  opaque x<4>\n  int y;\n}\nconst A = 1\nenum e { B = 1 }\n",
			[]string{"4:2 missing-semicolon", "2:14 missing-semicolon", "5:12 missing-semicolon", "6:17 missing-semicolon"},
			[]string{"struct a broken opaque x<4>; int y;", "const A = 1", "enum e B"},
		},
		{
			"missing brace before structs",
			"struct a\n  struct b x;\n  struct c y;\n};\nstruct b { int z; };\n",
			[]string{"1:8 missing-brace"},
			[]string{"struct a struct b x; struct c y;", "struct b int z;"},
		},
		{
			"missing brace of a version",
			"program P {\n  version V\n    void f(void) = 0;\n  } = 1;\n} = 2;\n",
			[]string{"2:11 missing-brace"},
			[]string{"program P V.f(1)=0"},
		},
		{
			"unclosed struct",
			"struct a {\n  int x;\nstruct b {\n  int y;\n};\nconst A = 1;\n",
			[]string{"1:10 unclosed-brace"},
			[]string{"struct a int x;", "struct b int y;", "const A = 1"},
		},
		{
			"const inside braces ends the definition",
			"enum e {\n  A = 1,\n  B = 2\nconst C = 3;\n",
			[]string{"1:8 unclosed-brace"},
			[]string{"enum e A B", "const C = 3"},
		},
		{
			"extra brace",
			"struct a { int x; };\n};\nstruct b { int y; };\n",
			[]string{"2:1 syntax-error"},
			[]string{"struct a int x;", "struct b int y;"},
		},
		{
			"broken enum keeps its members",
			"enum e {\n  A = 1,\n  B + 2,\n  C = 3\n};\n",
			[]string{"3:5 bad-character", "3:7 syntax-error"},
			[]string{"enum e broken A C"},
		},
		{
			"text between definitions",
			"const A = 1;\nhello world;\nconst B = 2;\n",
			[]string{"2:1 syntax-error"},
			[]string{"const A = 1", "const B = 2"},
		},
		{
			"no value",
			"const A;\nconst B = ;\nconst C 3;\n",
			[]string{"1:7 syntax-error", "2:9 syntax-error", "3:7 missing-equals"},
			[]string{"const A broken = ", "const B broken = ", "const C broken = 3"},
		},
	} {
		f, found, _ := parse(c.text, nil)
		if diff := cmp.Diff(c.found, found); diff != "" {
			t.Errorf("%s: found (- expected, + found)\n%s", c.name, diff)
		}
		if diff := cmp.Diff(c.want, outline(f)); diff != "" {
			t.Errorf("%s: tree (- expected, + found)\n%s", c.name, diff)
		}
	}
}

func TestDirectivesAreObeyed(t *testing.T) {
	for _, c := range []struct {
		text, want string
		found      []string
	}{
		{"#ifdef A\nconst X = 1;\n#else\nconst X = 2;\n#endif\n", "const X = 2", nil},
		{"#define A\n#ifdef A\nconst X = 1;\n#endif\n", "const X = 1", nil},
		{"#define A 5\n#undef A\n#ifndef A\nconst X = 1;\n#endif\n", "const A = 5 | const X = 1", nil},
		{"#define A 0x40 /* bytes */\n", "const A = 0x40", nil},
		{"#if N == 3 && (M || !defined(K)) && L != 2\nconst X = 1;\n#endif\n", "const X = 1", nil},
		{"#if N\n#if M\nconst A = 1;\n#else\nconst B = 1;\n#endif\n#elif 1\nconst C = 1;\n#endif\n", "const B = 1", nil},
		{"#if UNKNOWN\n#if 1\nconst A = 1;\n#else\nconst B = 1;\n#endif\n#else\nconst C = 1;\n#endif\n", "const C = 1", nil},
		{"#if 0\n/* #endif\n*/ const A = 1;\n#endif\nconst B = 1;\n", "const B = 1", nil},
		{"#if 0\n% it's /* no comment\n#endif\nconst B = 1;\n", "const B = 1", nil},
		{"#if 0 /* a comment\n goes on */\nconst A = 1;\n#endif\nconst B = 1;\n", "const B = 1", nil},
		{"  # define A 7\n#ident \"x\"\n", "const A = 7", []string{"2:1 ignored-directive"}},
		{"#define f(x) x\n#define T unsigned char *\n", "", []string{"1:1 ignored-directive", "2:1 ignored-directive"}},
		{"%const A = 1;\n%two \\\nlines\nconst B = 1;\n", "const B = 1", nil},
		{"#if 1 ==\n#endif\n", "", []string{"1:1 bad-directive"}},
		{"#if 1 2\n#endif\n", "", []string{"1:1 bad-directive"}},
		{"#include \"a/b.x\"\n#include \"c.h\"\n#include nothing\n", "", []string{"2:1 ignored-directive", "3:1 bad-directive"}},
	} {
		f, found, included := parse(c.text, map[string]string{"N": "3", "L": "1"})
		if got := strings.Join(outline(f), " | "); got != c.want {
			t.Errorf("%q: %s, expected %s", c.text, got, c.want)
		}
		if diff := cmp.Diff(c.found, found); diff != "" {
			t.Errorf("%q:\n%s", c.text, diff)
		}
		if strings.Contains(c.text, "a/b.x") && (len(included) != 1 || included[0] != "a/b.x") {
			t.Errorf("%q: included %v", c.text, included)
		}
	}
}

func TestNumbersAreRead(t *testing.T) {
	for _, c := range []struct {
		text string
		neg  bool
		abs  uint64
		ok   bool
	}{
		{"0", false, 0, true},
		{"10", false, 10, true},
		{"010", false, 8, true},
		{"0x1f", false, 31, true},
		{"0XFF", false, 255, true},
		{"-1", true, 1, true},
		{"-0", false, 0, true},
		{"18446744073709551615", false, 1<<64 - 1, true},
		{"-010", true, 8, true},
		{"18446744073709551616", false, 0, false},
		{"09", false, 0, false},
		{"0x", false, 0, false},
		{"1_000", false, 0, false},
		{"0b1", false, 0, false},
		{"12ab", false, 0, false},
		{"", false, 0, false},
		{"--1", false, 0, false},
		{"1u", false, 0, false},
	} {
		neg, abs, err := Number(c.text)
		if (err == nil) != c.ok || c.ok && (neg != c.neg || abs != c.abs) {
			t.Errorf("%q: %v %d %v", c.text, neg, abs, err)
		}
	}
}

// TestLinesForOneOutputAreChosen checks which lines for one output of rpcgen are read: those for
// the output that -D names, or those for all outputs.
func TestLinesForOneOutputAreChosen(t *testing.T) {
	const text = `#ifdef RPC_HDR
const HEADER = 1;
#else
const OTHERS = 2;
#endif
#if defined(RPC_XDR) || defined(RPC_SVC)
%int only_c;
#else
const CLIENT = 3;
#endif
#ifndef RPC_HDR
const NO_HEADER = 4;
#endif
`
	for _, tt := range []struct {
		macros map[string]string
		want   string
	}{
		{nil, "HEADER CLIENT NO_HEADER"},
		{map[string]string{"OTHER": ""}, "HEADER CLIENT NO_HEADER"},
		{map[string]string{"RPC_HDR": ""}, "HEADER CLIENT"},
		{map[string]string{"RPC_XDR": "1"}, "OTHERS NO_HEADER"},
	} {
		f, _, _ := parse(text, tt.macros)
		var got []string
		for _, d := range f.Defs {
			got = append(got, d.Name.Name)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%v: %s, expected %s", tt.macros, s, tt.want)
		}
	}
}
