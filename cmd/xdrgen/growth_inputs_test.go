package main

import (
	"fmt"
	"strings"
)

// dimension is one way in which a unit can be large.
type dimension struct {
	name string
	text func(n int) string // of proto.x
	bind func(n int) string // of its sidecar, if any

	// The smallest size, for commands that only read and for those that write Go. If zero,
	// the default is 400 and 60. If negative, those commands are not tested in this dimension;
	// TestDeepTypesGiveBoundedCode of gogen tests nesting.
	read, write int
}

// repeat joins n copies of format. In copy i, {i}, {i-1}, {i-2} and {i+1} are replaced by
// numbers.
func repeat(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.NewReplacer("{i}", fmt.Sprint(i), "{i-1}", fmt.Sprint(i-1), "{i-2}", fmt.Sprint(max(i-2, 0)), "{i+1}", fmt.Sprint(i+1)).Replace(format))
	}
	return b.String()
}

// repeated returns a dimension with a text repeated between two others.
func repeated(before, format, after string) func(int) string {
	return func(n int) string { return before + repeat(n, format) + after }
}

// chained is repeated with a first item before the others, which refer to it by {i-1}.
func chained(zero, format string) func(int) string {
	return func(n int) string {
		text := repeat(n, "\x00"+format)
		_, text, _ = strings.Cut(text[1:], "\x00")
		return zero + strings.ReplaceAll(text, "\x00", "")
	}
}

// numbered returns a text of structs, for sidecars to name.
var numbered = repeated("", "struct s{i} { int a; };\n", "")

// dimensions returns the shapes that TestCostGrowsWithTheInput makes large.
func dimensions() []dimension {
	return []dimension{
		{name: "structs", text: repeated("", "struct s{i} { int a; opaque b<10>; };\n", "")},
		{name: "typedefs", text: repeated("", "typedef opaque t{i}<8>;\n", "")},
		{name: "constants", text: repeated("", "const C{i} = {i};\n", "")},
		{name: "fields", text: repeated("struct s {\n", "int f{i};\n", "};\n")},
		{name: "members", text: repeated("enum e {\n", "E_MEMBER{i} = {i},\n", "E_LAST = -1 };\n")},
		{name: "arms", text: repeated("union u switch (int d) {\n", "case {i}: int a{i};\n", "};\n")},
		{name: "arms that lists hold", text: repeated("struct big { opaque x[40]; };\nunion u switch (int d) {\n", "case {i}: big a{i};\n", "default: void; };\nstruct top { u all<>; };\n")},
		{name: "procedures", text: repeated("program P { version V {\n", "int PROC_{i}(int) = {i};\n", "} = 1; } = 200000;\n")},
		{name: "types of all kinds", read: 200, text: repeated("", "enum e{i} { E{i}_A = 1, E{i}_B = 2 };\nstruct s{i} { e{i} a; opaque b<10>; };\n"+
			"union u{i} switch (e{i} d) { case E{i}_A: s{i} s; default: void; };\ntypedef u{i} t{i}<>;\n", "")},
		{name: "length of names", read: 2000, write: 1000, text: func(n int) string {
			return strings.ReplaceAll("enum NAMEe { NAMEA = 1 };\nstruct NAME { NAMEe NAMEf; };\nunion NAMEu switch (NAMEe NAMEd) { case NAMEA: NAME NAMEx; };\n"+
				"program NAMEp { version NAMEv { NAMEu NAMEg(NAME) = 1; } = 1; } = 200000;\n", "NAME", strings.Repeat("n", n))
		}},
		{name: "comments", text: repeated("", "/* about {i},\n * at length */\nstruct s{i} { int a; /* tail */ }; // end\n", "")},
		{name: "chain of typedefs", text: chained("typedef int t0;\n", "typedef t{i-1} t{i};\n")},
		{name: "chain of constants", text: chained("const C0 = 1;\n", "const C{i} = C{i-1};\n")},
		{name: "chain of lists", write: -1, text: chained("struct s0 { opaque x<>; };\n", "struct s{i} { s{i-1} *a; s{i-1} *b; s{i} *next; };\n")},
		{name: "chain of trees", write: -1, text: chained("struct s0 { opaque x<>; };\n", "struct s{i} { s{i-1} a; s{i} *l; s{i} *r; };\n")},
		{name: "ring", text: func(n int) string {
			return repeat(n, "struct s{i} { s{i+1} *a; int b; };\n") + fmt.Sprintf("struct s%d { s0 *a; };\n", n)
		}},
		{name: "chain of structs", write: -1, text: chained("struct s0 { opaque x<>; int y; };\n", "struct s{i} { s{i-1} a; int b; };\n")},
		{name: "warnings", read: 600, write: -1, text: repeated("", "struct s{i} { unsigned a; };\n", "")},
		{name: "errors on a line", read: 200, write: -1, text: repeated("", "struct s{i} { nope{i} a; }; ", "\n")},
		{name: "fixes on a line", read: 600, write: -1, text: repeated("", "struct s{i} { unsigned a; }; ", "\n")},
		{name: "comments on a line", read: 2000, write: -1, text: repeated("", "/* {i} */ ", "struct s { int a; };\n")},
		{name: "chain that procedures use", write: -1, text: func(n int) string {
			return chained("struct s0 { opaque x<>; };\n", "struct s{i} { s{i-1} a; s{i-1} *b; };\n")(n) +
				repeated("program P { version V {\n", "s{i} PROC_{i}(s{i}) = {i};\n", "} = 1; } = 200000;\n")(n)
		}},
		{name: "renames", text: numbered, bind: repeated("", "rename s{i} Thing{i}\nrename s{i}.a Field{i}\n", "")},
		{name: "prefixes", text: numbered, bind: repeated("", "prefix p{i}_\n", "")},
		{name: "renames of nothing", write: -1, text: numbered, bind: repeated("", "rename x{i} Thing{i}\nopen y{i}\n", "")},
	}
}
