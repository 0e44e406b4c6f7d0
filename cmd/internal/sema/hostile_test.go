package sema

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestHostileTextsTakeBoundedTime compiles texts that could take quadratic time or deep recursion.
// The time limit only detects a hang. The log has the times.
func TestHostileTextsTakeBoundedTime(t *testing.T) {
	n := 5000
	if testing.Short() {
		n = 500
	}
	many := func(format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i, i+1)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"no brace":       many("struct a%d b%d;\n"),
		"no brace, line": many("struct a%d b%d; "),
		"semicolons":     strings.Repeat(";", n),
		"open":           strings.Repeat("struct a {", n),
		"close":          strings.Repeat("}", n),
		"words":          "const " + strings.Repeat("a ", n),
		"names":          "struct s { int " + strings.Repeat("a ", n) + "; };",
		"comments":       strings.Repeat("/* */", n) + "const A = 1;",
		"line comments":  strings.Repeat("// x\n", n) + "const A = 1;",
		"tails":          many("const A%d = 1; /* %d */\n"),
		"typedefs":       many("typedef t%d t%d;\n") + "typedef int t0;",
		"constants":      many("const C%d = C%d;\n"),
		"enum":           "enum e {" + many("A%d, B%d, ") + "};",
		"chain":          many("struct s%d { s%d x; };\n") + fmt.Sprintf("struct s%d { int x; };", n),
		"circle":         many("struct s%d { s%d x; };\n") + fmt.Sprintf("struct s%d { s0 x; };", n),
		"doubling":       many("struct s%d { s%d x; s1 y; s2 z; };\n"),
		"if":             strings.Repeat("#if 1\n", n),
		"condition":      "#if " + strings.Repeat("!(", n) + "\n",
		"stars":          "struct s { int " + strings.Repeat("*", n) + "x; };",
		"faults":         "struct s {\n" + strings.Repeat("int 5;\n", n) + "};",
		"missing":        many("struct s%d {\n int x\n int y%d\n};\n"),
		"unions":         "union u switch (int d) {" + many("case %d: int x%d;\n") + "};",
		"quotes":         strings.Repeat("\"", n) + "\n" + strings.Repeat("\"\n", n),
		"bytes":          strings.Repeat("\xff\x00", n),
		"undefined":      many("struct s%d { none%d x; };\n"),
		"outputs":        strings.Repeat("#ifdef RPC_HDR\n", 8*n) + strings.Repeat("const A = 1;\n", n) + strings.Repeat("#endif\n", 8*n),
		"parentheses":    "const A = " + strings.Repeat("(1 + ", n) + ";",
		"shifts":         "struct s { int a<" + strings.Repeat("1 << ", n) + "1>; };",
		"hyphens":        "const " + strings.Repeat("a-", 8*n) + "b = 1;",
		"scopes":         "struct s { " + strings.Repeat("a::", n) + "b x; };",
		"within":         strings.Repeat("struct s { const a;", n),
		"forward":        many("struct s%d; struct t%d;\n"),
	} {
		start := time.Now()
		r, err := Compile(Options{Files: []string{"u.x"}, FS: oneFile{x: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%s: %v for %d bytes, %d findings", name, d, len(text), len(r.Diags))
		} else {
			t.Logf("%s: %v for %d bytes, %d findings", name, d, len(text), len(r.Diags))
		}
	}
}
