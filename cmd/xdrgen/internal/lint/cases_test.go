package lint

// lintCase is a text with the findings expected for it, in the form "line:column rule".
// good is the text after following the advice of the rule.
type lintCase struct {
	name, text string
	want       []string
	good       string
}

const program = "program P { version V { void P_NULL(void) = 0; void P_PUT(m) = 1; } = 1; } = 0x20000001;\n"

func cases() []lintCase {
	return []lintCase{
		{
			"opaque", "struct m { opaque data<>; };\n" + program,
			[]string{"1:12 unbounded-data"},
			"struct m { opaque data<512>; };\n" + program,
		},
		{
			"string in a typedef", "typedef string name<>;\nstruct m { name n; };\n" + program,
			[]string{"1:9 unbounded-data"},
			"typedef string name<255>;\nstruct m { name n; };\n" + program,
		},
		{"array, no program", "struct m { int v<>; };\n", []string{"1:12 unbounded-data"}, "struct m { int v<9>; };\n"},
		{
			"unused type", "typedef string other<>;\nstruct m { int a; };\n" + program,
			[]string{"1:16 unused-declaration"},
			"struct m { int a; };\n" + program,
		},
		{"declared by the compiler", "struct m { netbuf a; };\n" + program, nil, ""},
		{
			"list", "struct l { int a; l *next; };\nstruct m { l *all; };\n" + program,
			[]string{"2:12 unbounded-list"},
			"struct m { int all<9>; };\n" + program,
		},
		{
			"amplification", "struct e { string a<5>; string b<6>; opaque c<7>; };\nstruct u { e *v; };\nstruct m { u all<10000>; };\n" + program,
			[]string{"3:12 amplification"},
			"struct e { string a<9>; };\nstruct m { e all<10000>; };\n" + program,
		},
		{
			"elements without size", "struct none { opaque x[0]; };\nstruct m { none all<>; };\n" + program,
			[]string{"2:12 unbounded-data", "2:12 elements-without-size"},
			"struct m { unsigned int all; };\n" + program,
		},
		{
			"recursive", "struct m { int a; m kids<4>; };\n" + program,
			[]string{"1:8 recursive-type"},
			"struct n { int a; unsigned int kids<4>; };\nstruct m { n nodes<100>; };\n" + program,
		},
		{
			"large fixed", "struct m { opaque page[65536]; };\n" + program,
			[]string{"1:12 large-fixed"},
			"struct m { opaque page<65536>; };\n" + program,
		},
		{
			"characters", "struct m { char name[16]; };\n" + program,
			[]string{"1:12 wide-characters"},
			"struct m { opaque name[16]; };\n" + program,
		},
		{
			"unsigned characters", "struct m { unsigned char name<16>; };\n" + program,
			[]string{"1:12 wide-characters"},
			"struct m { string name<16>; };\n" + program,
		},

		{
			"union over int", "union m switch (int d) { case 0: int a; };\n" + program,
			[]string{"1:7 union-without-default"},
			"union m switch (int d) { case 0: int a; default: void; };\n" + program,
		},
		{
			"missing arm", "enum e { A = 0, B = 1 };\nunion m switch (e d) { case A: int a; };\n" + program,
			[]string{"2:7 missing-arm"},
			"enum e { A = 0, B = 1 };\nunion m switch (e d) { case A: int a; case B: void; };\n" + program,
		},
		{
			"missing arm for a bool", "union m switch (bool d) { case TRUE: int a; };\n" + program,
			[]string{"1:7 missing-arm"},
			"union m switch (bool d) { case TRUE: int a; default: void; };\n" + program,
		},
		{
			"dead default", "union m switch (bool d) { case TRUE: int a; case FALSE: void; default: hyper b; };\n" + program,
			[]string{"1:63 dead-default"},
			"union m switch (bool d) { case TRUE: int a; case FALSE: void; };\n" + program,
		},
		{"no zero", "enum m { A = 1 };\n" + program, []string{"1:6 enum-without-zero"}, "enum m { A = 0 };\n" + program},
		{
			"numeric case", "enum e { A = 0, B = 1 };\nunion m switch (e d) { case A: int a; case 1: void; };\n" + program,
			[]string{"2:44 numeric-case"},
			"enum e { A = 0, B = 1 };\nunion m switch (e d) { case A: int a; case B: void; };\n" + program,
		},
		{
			"bools", "struct m { bool a; bool b; bool c; };\n" + program,
			[]string{"1:33 bool-trap"},
			"struct m { unsigned int flags; };\n" + program,
		},
		{
			"bool arguments", "struct m { int a; };\nprogram P { version V { void P_NULL(void) = 0; void P_PUT(m) = 1; void P_SET(bool, bool) = 2; } = 1; } = 0x20000001;\n",
			[]string{"2:84 bool-trap"},
			"struct m { int a; };\n" + program,
		},

		{
			"type names clash", "struct a_b { int x; };\nstruct aB { int x; };\nstruct m { a_b x; aB y; };\n" + program,
			[]string{"2:8 name-clash"},
			"struct a_b { int x; };\nstruct a_c { int x; };\nstruct m { a_b x; a_c y; };\n" + program,
		},
		{"field names clash", "struct m { int ab; int a_b; };\n" + program, []string{"1:24 name-clash"}, "struct m { int ab; int ac; };\n" + program},
		{"member names clash", "enum m { AB = 0, A_B = 1 };\n" + program, []string{"1:18 name-clash"}, "enum m { AB = 0, AC = 1 };\n" + program},
		{"clash resolved by a rename", "struct m { int ab; int a_b; };\n" + program + "---\nrename m.a_b Other\n", nil, ""},
		{
			"well-known name", "typedef unsigned hyper uint32_t;\nstruct m { uint32_t a; };\n" + program,
			[]string{"1:24 shadowed-name"},
			"typedef unsigned int uint32_t;\nstruct m { uint32_t a; };\n" + program,
		},
		{"value of bool", "const true = 1;\nstruct m { int a; };\n" + program, []string{"1:7 shadowed-name"}, "struct m { int a; };\n" + program},
		{
			"member without the prefix", "enum m { M_A = 0, M_B = 1, M_C = 2, D = 3 };\n" + program,
			[]string{"1:37 inconsistent-prefix"},
			"enum m { M_A = 0, M_B = 1, M_C = 2, M_D = 3 };\n" + program,
		},
		{
			"magic number", "struct m { opaque a[16]; opaque b<16>; };\n" + program,
			[]string{"1:12 magic-number"},
			"const SIZE = 16;\nstruct m { opaque a[SIZE]; opaque b<SIZE>; };\n" + program,
		},
		{"no null procedure", "program P { version V { void P_PUT(int) = 1; } = 1; } = 0x20000001;\n", []string{"1:21 null-procedure"}, program[:12] + "version V { void P_NULL(void) = 0; } = 1; } = 0x20000001;\n"},
		{"null procedure with a result", "program P { version V { int P_NULL(void) = 0; } = 1; } = 0x20000001;\n", []string{"1:29 null-procedure"}, ""},
		{
			"reserved number", "program P { version V { void P_NULL(void) = 0; } = 1; } = 0x60000000;\n",
			[]string{"1:9 program-number"},
			"program P { version V { void P_NULL(void) = 0; } = 1; } = 100003;\n",
		},
		{
			"results without a bound over RDMA",
			"struct r { opaque data<>; }; /* xdrgen:ignore unbounded-data a case */ struct a { unsigned int n; };\n" +
				"program P { version V { void P_NULL(void) = 0; r P_ALL(void) = 1; r P_READ(a) = 2; int P_N(void) = 3; } = 1; } = 0x20000001;\n---\nrpc\nreply P.V.P_READ n\n",
			[]string{"2:50 unbounded-results"},
			"struct r { opaque data<>; }; /* xdrgen:ignore unbounded-data a case */\n" +
				"program P { version V { void P_NULL(void) = 0; r P_ALL(void) = 1; } = 1; } = 0x20000001;\n",
		},

		{"ignored on the same line", "struct m {\n opaque data<>; /* xdrgen:ignore unbounded-data bounded by the record */\n};\n" + program, nil, ""},
		{"ignored on the line above", "struct m {\n /* xdrgen:ignore unbounded-data bounded by\n  * the record */\n\n opaque data<>;\n};\n" + program, nil, ""},
		{"ignored by a // comment", "struct m {\n opaque data<>; // xdrgen:ignore unbounded-data bounded by the record\n};\n" + program, nil, ""},
		{"ignored in a whole declaration", "/* xdrgen:ignore unbounded-data,recursive-type a trusted peer only */\n/* About m. */\nstruct m {\n opaque a<>;\n opaque b<>;\n m c<>;\n};\n" + program, nil, ""},
		{
			"ignored in another declaration", "/* xdrgen:ignore unbounded-data one field only */\nstruct o { opaque a<>; };\nstruct m { opaque b<>; o c; };\n" + program,
			[]string{"3:12 unbounded-data"},
			"",
		},
		{
			"ignore without a reason", "struct m {\n opaque data<>; /* xdrgen:ignore unbounded-data */\n};\n" + program,
			[]string{"2:2 unbounded-data", "2:20 bad-ignore"},
			"",
		},
		{"ignore of a misspelled rule", "/* xdrgen:ignore unbounded-date why */\nstruct m { int a; };\n" + program, []string{"1:4 bad-ignore"}, ""},
		{"ignore of nothing", "/* xdrgen:ignore unbounded-data why */\nstruct m { int a; };\n" + program, []string{"1:4 stale-ignore"}, ""},
	}
}
