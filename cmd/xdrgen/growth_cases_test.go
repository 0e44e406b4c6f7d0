package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/growth"
)

// growthCase is a command on files that are large in one way. DIR in its arguments is the
// folder of the files.
type growthCase struct {
	name   string
	n      int
	before string // a command that is run first and not measured
	args   string
	files  func(n int) map[string]string
}

// files returns n files, each with a text, and a last one with n lines.
func files(n int, name, text, last, line string) map[string]string {
	files := map[string]string{last: repeat(n, line)}
	for i := range n {
		number := strings.NewReplacer("{i}", fmt.Sprint(i), "{i+1}", fmt.Sprint(i+1))
		files[number.Replace(name)] = number.Replace(text)
	}
	return files
}

func growthCases() []growthCase {
	findings := func(n int) map[string]string {
		return map[string]string{"p.x": repeat(n, "struct s{i} { unsigned a; nope{i} b; };\n")}
	}
	return []growthCase{
		{"includes in a row", 200, "", "check -I DIR DIR/p/p.x", func(n int) map[string]string {
			return files(n, "u{i}/a.x", "struct s{i} { int a; };\n", "p/p.x", "#include \"u{i}/a.x\"\n")
		}},
		{"includes that are missing", 300, "", "check -errors 0 -I DIR DIR/p/p.x", func(n int) map[string]string {
			return files(n, "u/a{i}.x", "", "p/p.x", "#include \"u/b{i}.x\"\n")
		}},
		{"fmt of many files", 40, "", "fmt -l DIR", func(n int) map[string]string {
			return files(n, "a{i}.x", "struct s{i} { s{i+1} *a; };\n", "a.x", "")
		}},
		{"amendments of one type each", 100, "", "check -errors 0 -I DIR DIR/p/p.x", func(n int) map[string]string {
			return map[string]string{
				"b/b.x":    repeat(n, "enum e{i} { A{i} = 1 };\nunion u{i} switch (e{i} d) { case A{i}: int a; };\nstruct s{i} { u{i} u; };\n"),
				"p/p.x":    "#include \"b/b.x\"\n" + repeat(n, "/* In e{i}: */\nB{i} = 2;\n") + repeat(n, "/* In u{i}: */\ncase B{i}: hyper b;\n"),
				"p/p.bind": repeat(n, "amend e{i}\namend u{i}\n"),
			}
		}},
		{"amendments of one type", 200, "", "check -errors 0 -I DIR DIR/p/p.x", func(n int) map[string]string {
			return map[string]string{
				"b/b.x":    "enum e { A = 0 };\nunion u switch (e d) { case A: int a; };\n" + repeat(n, "struct s{i} { u u; };\n"),
				"p/p.x":    "#include \"b/b.x\"\n" + repeat(n, "const C{i} = 1;\nB{i} = {i+1};\ncase B{i}: hyper b{i};\n"),
				"p/p.bind": "amend e\namend u\n",
			}
		}},
		{"amendments without lines", 200, "", "check -errors 0 -I DIR DIR/p/p.x", func(n int) map[string]string {
			return map[string]string{
				"b/b.x": repeat(n, "enum e{i} { A{i}_1 = 1 };\n"),
				"p/p.x": "#include \"b/b.x\"\n" + repeat(n, "const C{i} = 1;\nA{i}_2 = 2;\n"),
			}
		}},
		{"amendments with taken numbers", 200, "", "check -errors 0 -I DIR DIR/p/p.x", func(n int) map[string]string {
			return map[string]string{
				"b/b.x":    "enum e { " + repeat(n, "A{i} = {i}, ") + "Z = -1 };\n",
				"p/p.x":    "#include \"b/b.x\"\n" + repeat(n, "B{i} = {i};\n"),
				"p/p.bind": "amend e\n",
			}
		}},
		{"extensions together", 20, "", "check -errors 0 -I DIR DIR/p/p.x", func(n int) map[string]string {
			out := files(n, "x{i}/x.x", "#include \"b/b.x\"\nstruct s{i} { int a; };\nB{i} = {i+1};\ncase B{i}: s{i} b{i};\n", "p/p.x", "#include \"x{i}/x.x\"\n")
			for i := range n {
				out[fmt.Sprintf("x%d/x%d.bind", i, i)] = "amend e\namend u\n"
			}
			out["p/p.bind"], out["b/b.x"] = "amend e\namend u\n", "enum e { A = 0 };\nunion u switch (e d) { case A: int a; };\n"
			return out
		}},
		{"types of C", 500, "", "check -errors 0 DIR/p.x", func(n int) map[string]string {
			return map[string]string{"p.x": repeat(n, "%typedef struct foo{i} bar{i};\n") + repeat(n, "struct s{i} { nope{i} a; };\n")}
		}},
		{"findings as JSON", 300, "", "check -errors 0 -format json DIR/p.x", findings},
		{"findings as SARIF", 300, "", "check -errors 0 -format sarif DIR/p.x", findings},
		{"findings for GitHub", 300, "", "check -errors 0 -format github DIR/p.x", findings},
		{"fixes of an extract", 200, "", "check -fix DIR/p.x", func(n int) map[string]string {
			return map[string]string{
				"p.x":        repeat(n, "struct s{i} {\n    unsigned a;\n};\n"),
				"p.x.origin": fmt.Sprintf("xdr-origin 1 d.txt\n1-%d d.txt 100\n", 3*n),
			}
		}},
		{"diff of changed types", 50, "gen -o DIR -package p DIR/old/p.x", "diff -o DIR -package p DIR/new/p.x", func(n int) map[string]string {
			return map[string]string{"old/p.x": repeat(n, "struct s{i} { int a; };\n"), "new/p.x": repeat(n, "struct s{i} { int b; };\n")}
		}},
		{"code points", 400, "", "lint -errors 0 DIR/p.x", func(n int) map[string]string {
			return map[string]string{
				"p.x":    repeat(n, "const C{i} = {i};\nstruct s{i} { int a; };\n"),
				"p.bind": repeat(n, "code header-type C{i} s{i}\n"),
			}
		}},
		{"open enums", 400, "", "check -errors 0 DIR/p.x", func(n int) map[string]string {
			return map[string]string{
				"p.x":    repeat(n, "enum e{i} { A{i} = 1 };\nunion u{i} switch (e{i} d) { case A{i}: int a; default: void; };\n"),
				"p.bind": repeat(n, "open e{i}\n"),
			}
		}},
		{"enumerators in JSON", 2500, "", "json -encode -bare -type s DIR/d.json DIR/p.x", func(n int) map[string]string {
			return map[string]string{
				"p.x":    "enum e {\n" + repeat(n, "E_MEMBER{i} = {i},\n") + "E_LAST = -1 };\nstruct s { e all<>; };\n",
				"d.json": `{"all": [` + repeat(n, `"E_MEMBER{i}", `) + `"E_LAST"]}`,
			}
		}},
		{"default arms in JSON", 1000, "", "json -encode -bare -type s DIR/d.json DIR/p.x", func(n int) map[string]string {
			return map[string]string{
				"p.x":    "union u switch (int d) {\n" + repeat(n, "case {i}: int a{i};\n") + "default: void; };\nstruct s { u all<>; };\n",
				"d.json": `{"all": [` + repeat(n, `{"discriminant": -2}, `) + `{"discriminant": -1}]}`,
			}
		}},
		{"number lines", 400, "", "check -errors 0 DIR/p.x", func(n int) map[string]string {
			return map[string]string{
				"p.x":    repeat(n, "const C{i} = {i};\nstruct s{i} { int a; opaque o<>; };\n"),
				"p.bind": repeat(n, "code header-type C{i} s{i}\nnumber s{i}.a header-type o\npayload C{i}\nmessage s{i} a\n"),
			}
		}},
		{"data of code points", 2500, "", "dump -type s -errors 0 -as hex DIR/d.hex DIR/p.x", func(n int) map[string]string {
			return map[string]string{
				"p.x":    "const A = 1; struct v { int which; opaque data<>; }; typedef v s<>;\n",
				"p.bind": "code property A v\nnumber v.which property data\n",
				"d.hex":  fmt.Sprintf("%08x", 2*n) + strings.Repeat("00000001 0000000c 00000001 00000004 00000000 00000001 00000001 00000000", n),
			}
		}},
		{"values that follow each other", 4000, "", "dump -type v -split ends -as hex DIR/d.hex DIR/p.x", func(n int) map[string]string {
			return map[string]string{"p.x": "struct v { int which; opaque data<>; };\n", "d.hex": strings.Repeat("00000001 00000004 00000001", n)}
		}},
		{"a list", 6000, "", "dump -type s -as hex DIR/d.hex DIR/p.x", func(n int) map[string]string {
			return map[string]string{
				"p.x":   "struct item { int a; item *next; };\nstruct s { item *all; };\n",
				"d.hex": strings.Repeat("00000001 00000002 ", n) + "00000000",
			}
		}},
		{"members that have one number", 1500, "", "compat DIR/old/p.x DIR/new/p.x", func(n int) map[string]string {
			return map[string]string{"old/p.x": "enum e {\n" + repeat(n, "A{i} = 1,\n") + "LAST = -1 };\n", "new/p.x": "enum e {\n" + repeat(n, "B{i} = 1,\n") + "LAST = -1 };\n"}
		}},
	}
}

// TestGrowthCases measures commands whose input is not one file of definitions alone.
func TestGrowthCases(t *testing.T) {
	if testing.Short() {
		t.Skip("to measure each command at two sizes takes long")
	}
	for _, c := range growthCases() {
		t.Run(c.name, func(t *testing.T) {
			costs, err := growth.Linear(c.n, func(n int) func() int {
				dir := writeFiles(t, c.files(n))
				in := func(args string) []string { return strings.Fields(strings.ReplaceAll(args, "DIR", dir)) }
				if c.before != "" {
					if _, errs, code := runCommand(t, in(c.before)...); code != exitClean {
						t.Fatalf("%s: exit code %d\n%.2000s", c.before, code, errs)
					}
				}
				return func() int {
					out, errs, code := runCommand(t, in(c.args)...)
					if code != exitClean && code != exitFindings {
						t.Fatalf("%s: exit code %d\n%.2000s", c.args, code, errs)
					}
					return len(out) + len(errs)
				}
			})
			if err != nil {
				t.Errorf("n = %d: %v", c.n, err)
			}
			t.Logf("%v", costs)
		})
	}
}
