package compat

// edit is a change of a text with its effects: the verdicts on wire, source, old reads new and
// new reads old (o ok, p partly, b breaks), the rule and the path.
type edit struct {
	name, old, new string
	want           []string
}

func edits() []edit {
	return append(append(typeEdits(), unionEdits()...), programEdits()...)
}

func typeEdits() []edit {
	const ab = "struct s { int a; int b; };\n"
	return []edit{
		{"nothing", ab, ab, nil},
		{"comments and order", ab + "const C = 1;\n", "const C = 0x1; /* one */\n" + ab, nil},
		{"struct added", ab, ab + "struct t { int x; };\n", []string{"oooo declaration-added struct t"}},
		{"message removed", ab + "struct t { hyper x; };\n", ab, []string{"obob message-removed struct t"}},
		{"type removed", ab + "typedef hyper x;\n", ab, []string{"oboo declaration-removed typedef x"}},
		{"Go name changed in the sidecar", ab, ab + "---\nrename s.a First\n", []string{"oboo go-name-changed s.a"}},
		{
			"Go names changed by another declaration", "enum k { ERR_A = 0, ERR_B = 1 };\n", "enum k { ERR_A = 0, ERR_B = 1, FIN = 2 };\n",
			[]string{"oboo go-name-changed k.ERR_A", "oboo go-name-changed k.ERR_B", "oopo member-added enum k.FIN"},
		},
		{"struct renamed", ab, "struct z { int a; int b; };\n", []string{"oboo declaration-renamed struct z"}},
		{
			"struct renamed where used", ab + "struct u { s x; };\n", "struct z { int a; int b; };\nstruct u { z x; };\n",
			[]string{"oboo declaration-renamed struct z"},
		},
		{
			"struct renamed, a type inside it changed", "struct in { string a<4>; };\nstruct pay_op { in to; int sum; };\nstruct m { pay_op p; };\n",
			"struct in { string a<8>; };\nstruct payment { in to; int sum; };\nstruct m { payment p; };\n",
			[]string{"oopo bound-raised struct in.a", "oboo declaration-renamed struct payment"},
		},
		{
			"struct renamed, a field of it changed", "struct pay_op { int to; string a<4>; };\nstruct m { pay_op p<>; };\n",
			"struct payment { int to; string a<8>; };\nstruct m { payment p<>; };\n",
			[]string{"oboo declaration-renamed struct payment", "oopo bound-raised struct payment.a"},
		},
		{
			"enum renamed, a member added", "enum kind { K_A = 0, K_B = 1 };\nstruct m { kind k; };\n", "enum sort_of { K_A = 0, K_B = 1, K_C = 2 };\nstruct m { sort_of k; };\n",
			[]string{"oboo declaration-renamed enum sort_of", "oopo member-added enum sort_of.K_C"},
		},
		{
			"union renamed, an arm added", "union u switch (int d) { case 0: int a; };\nstruct m { u x; };\n", "union uu switch (int d) { case 0: int a; case 1: void; };\nstruct m { uu x; };\n",
			[]string{"oboo declaration-renamed union uu", "oopo arm-added union uu.case 1"},
		},
		{
			"list node renamed, its element changed", "struct l { int a; string b<4>; l *next; };\nstruct m { l *x; };\n", "struct entry { int a; string b<5>; entry *next; };\nstruct m { entry *x; };\n",
			[]string{"oboo declaration-renamed struct entry", "oopo bound-raised struct entry.b"},
		},
		{
			"another struct in the same place", "struct a { int x; };\nstruct m { a v; };\n", "struct b { hyper y; };\nstruct m { b v; };\n",
			[]string{"oooo declaration-added struct b", "bbbb type-wire struct m.v", "oboo declaration-removed struct a"},
		},
		{
			"the more similar of two", "typedef opaque name<>;\n", "typedef opaque blob<>;\ntypedef opaque name2<>;\n",
			[]string{"oooo declaration-added typedef blob", "oboo declaration-renamed typedef name2"},
		},
		{"constant sent", "const C = 1;\n", "const C = 2;\n", []string{"bobb constant-value const C"}},
		{
			"constant as bound", "const C = 1;\ntypedef int a<C>;\n", "const C = 2;\ntypedef int a<C>;\n",
			[]string{"oooo constant-bound const C", "oopo bound-raised typedef a"},
		},
		{
			"constant as case", "const C = 1;\nunion u switch (int d) { case C: int x; default: void; };\n",
			"const C = 2;\nunion u switch (int d) { case C: int x; default: void; };\n",
			[]string{"oooo constant-bound const C", "bbbb void-changed union u.case C", "bbbb void-changed union u.default"},
		},
		{"constant renamed", "const LIMIT = 7;\n", "const LIMITS = 7;\n", []string{"oboo declaration-renamed const LIMITS"}},
		{"constant replaced", "const LIMIT = 7;\n", "const DAYS = 7;\n", []string{"oooo declaration-added const DAYS", "oboo declaration-removed const LIMIT"}},
		{
			"another type with the same encoding", "typedef int colour;\n", "typedef int weight;\n",
			[]string{"oooo declaration-added typedef weight", "oboo declaration-removed typedef colour"},
		},

		{"field at the end", ab, "struct s { int a; int b; int c; };\n", []string{"bobb field-added struct s.c"}},
		{"field in the middle", ab, "struct s { int a; hyper c; int b; };\n", []string{"bobb field-added struct s.c"}},
		{"field removed", ab, "struct s { int b; };\n", []string{"bbbb field-removed struct s.a"}},
		{"field renamed", ab, "struct s { int a; int z; };\n", []string{"oboo field-renamed struct s.z"}},
		{
			"field renamed, its type changed as well", "struct t { int x; };\nstruct s { int a; t b; };\n", "struct t { hyper x; };\nstruct s { int a; t z; };\n",
			[]string{"bbbb type-wire struct t.x", "oboo field-renamed struct s.z"},
		},
		{
			"field renamed, another added", ab, "struct s { int z; int y; int b; };\n",
			[]string{"oboo field-renamed struct s.z", "bobb field-added struct s.y"},
		},
		{"fields swapped", ab, "struct s { int b; int a; };\n", []string{"bobb field-moved struct s.a"}},
		{
			"field replaced", ab, "struct s { int a; hyper z; };\n",
			[]string{"bobb field-added struct s.z", "bbbb field-removed struct s.b"},
		},
		{
			"fields into a struct", "struct s { int a; int b; int c; };\n", "struct t { int b; int c; };\nstruct s { int a; t t; };\n",
			[]string{"oooo declaration-added struct t", "oboo fields-regrouped struct s.t"},
		},
		{
			"struct inlined", "struct t { int b; hyper c; };\nstruct s { int a; t t; int z; };\n", "struct s { int a; int b; hyper c; int z; };\n",
			[]string{"oboo fields-regrouped struct s.b", "oboo declaration-removed struct t"},
		},
		{
			"struct inlined, one field of another size", "struct t { int b; int c; };\nstruct s { int a; t t; };\n", "struct s { int a; int b; hyper c; };\n",
			[]string{"bobb field-added struct s.b", "bobb field-added struct s.c", "oboo declaration-removed struct t", "bbbb field-removed struct s.t"},
		},
		{
			"anonymous struct gets a name", "struct s { struct { int a; hyper b; } x; };\n", "struct x { int a; hyper b; };\nstruct s { x x; };\n",
			[]string{"oboo declaration-renamed struct x"},
		},
		{
			"a bound written differently", "const N = 4;\nstruct s { opaque a<N>; };\n", "const M = 4;\nconst N = M;\nstruct s { opaque a<4>; };\n",
			[]string{"oooo declaration-added const M"},
		},

		{"other type", ab, "struct s { int a; hyper b; };\n", []string{"bbbb type-wire struct s.b"}},
		{"float for int", ab, "struct s { int a; float b; };\n", []string{"bbbb type-wire struct s.b"}},
		{"sign", ab, "struct s { int a; unsigned int b; };\n", []string{"obpp type-values struct s.b"}},
		{"sign of hyper", "typedef hyper h;\n", "typedef unsigned hyper h;\n", []string{"obpp type-values typedef h"}},
		{
			"enum to int", "enum e { A = 0 };\nstruct s { e x; };\n", "enum e { A = 0 };\nstruct s { int x; };\n",
			[]string{"obpo type-widened struct s.x"},
		},
		{"int to bool", ab, "struct s { int a; bool b; };\n", []string{"obop type-narrowed struct s.b"}},
		{
			"bool to enum", "struct s { bool a; };\n", "enum e { NO = 0, YES = 1 };\nstruct s { e a; };\n",
			[]string{"oooo declaration-added enum e", "oboo type-source struct s.a"},
		},
		{
			"typedef inlined", "typedef opaque fh<32>;\nstruct s { fh a; };\n", "struct s { opaque a<32>; };\n",
			[]string{"oboo type-source struct s.a", "oboo declaration-removed typedef fh"},
		},
		{
			"typedef inlined and longer", "typedef opaque fh<32>;\nstruct s { fh a; };\n", "struct s { opaque a<64>; };\n",
			[]string{"oboo type-source struct s.a", "oopo bound-raised struct s.a", "oboo declaration-removed typedef fh"},
		},
		{
			"typedef to struct", "struct t { int a; };\ntypedef t s;\nstruct u { s x; };\n", "struct t { int a; };\nstruct s { int a; };\nstruct u { s x; };\n",
			[]string{"oboo type-source struct s"},
		},
		{"string to opaque", "typedef string s<9>;\n", "typedef opaque s<9>;\n", []string{"oboo type-source typedef s"}},
		{"optional to array of one", "struct s { int *a; };\n", "struct s { int a<1>; };\n", []string{"oboo type-source struct s.a"}},
		{
			"optional to union over bool", "struct s { int *a; };\n",
			"union u switch (bool has) { case TRUE: int v; case FALSE: void; };\nstruct s { u a; };\n",
			[]string{"oooo declaration-added union u", "oboo type-source struct s.a"},
		},
		{"optional to array", "struct s { int *a; };\n", "struct s { int a<2>; };\n", []string{"oboo type-source struct s.a", "oopo bound-raised struct s.a"}},
		{"array to optional", "struct s { int a<>; };\n", "struct s { int *a; };\n", []string{"oboo type-source struct s.a", "ooop bound-lowered struct s.a"}},
		{"optional to array of something else", "struct s { int *a; };\n", "struct s { hyper a<2>; };\n", []string{
			"oboo type-source struct s.a", "oopo bound-raised struct s.a", "bbbb type-wire struct s.a[]",
		}},
		{"list to array of one", "struct l { int v; l *next; };\nstruct s { l *a; };\n", "struct l { int v; l next<1>; };\nstruct s { l a<1>; };\n", []string{
			"oboo type-source struct l.next", "oboo type-source struct s.a",
		}},
		{"list to optional data in two steps", "struct l { int v; l *next; };\n", "struct l { int v; struct { int v; l *next; } next<1>; };\n", []string{
			"oboo type-source struct l.next",
		}},
		{"list to array of several", "struct l { int v; l *next; };\n", "struct l { int v; l next<2>; };\n", []string{
			"oboo type-source struct l.next", "oopo bound-raised struct l.next",
		}},
		{"array to fields", "struct s { int a[2]; };\n", "struct s { int a; int b; };\n", []string{"oboo fields-regrouped struct s.a"}},
		{"array to fields among others", "struct s { string n<4>; hyper a[3]; int z; };\n", "struct s { string n<8>; hyper a; hyper a2[2]; int z; };\n", []string{
			"oopo bound-raised struct s.n", "oboo fields-regrouped struct s.a",
		}},
		{"arrays that divide the elements differently", "struct s { int a[2]; int b; hyper c; };\n", "struct s { int a; int b[2]; hyper c; };\n", []string{"oboo fields-regrouped struct s.a"}},
		{"array to fewer fields", "struct s { int a[3]; };\n", "struct s { int a; int b; };\n", []string{
			"bbbb type-wire struct s.a", "bobb field-added struct s.b",
		}},
		{"array of structs to fields", "struct p { int x; string y<>; };\nstruct s { p a[2]; };\n", "struct p { int x; string y<>; };\nstruct s { p a; int x; string y<>; };\n", []string{
			"oboo fields-regrouped struct s.a",
		}},
		{"arrays of arrays", "typedef int row[2];\ntypedef row m[3];\n", "typedef int row[2];\ntypedef int m[6];\n", []string{"oboo type-source typedef m"}},
		{"array to struct", "typedef int m[2];\nstruct s { m a; };\n", "struct m { int x; int y; };\nstruct s { m a; };\n", []string{"oboo type-source struct m"}},
		{"array of one", "typedef string n<4>;\nstruct s { n a[1]; };\n", "typedef string n<4>;\nstruct s { n a; };\n", []string{"oboo type-source struct s.a"}},
		{"opaque data split in two", "struct s { opaque a[8]; };\n", "struct s { opaque a[4]; opaque b[4]; };\n", []string{"oboo fields-regrouped struct s.a"}},
		{"opaque data split in two with padding", "struct s { opaque a[8]; };\n", "struct s { opaque a[5]; opaque b[3]; };\n", []string{
			"bbbb length-changed struct s.a", "bobb field-added struct s.b",
		}},
		{"array of strings too long to flatten", "typedef string n<3>;\nstruct s { n a[9999]; };\n", "typedef string n<3>;\nstruct s { n b[9999]; };\n", []string{"oboo field-renamed struct s.b"}},
		{
			"another struct with the same encoding", "struct a { int x; };\nstruct b { int y; };\nstruct s { a v; };\n", "struct a { int x; };\nstruct b { int y; };\nstruct s { b v; };\n",
			[]string{"oboo type-source struct s.v"},
		},
		{"fixed length", "typedef opaque v[8];\n", "typedef opaque v[16];\n", []string{"bbbb length-changed typedef v"}},
		{"fixed array", "typedef int v[8];\n", "typedef int v[9];\n", []string{"bbbb length-changed typedef v"}},
		{"bound raised", "typedef string n<10>;\n", "typedef string n<>;\n", []string{"oopo bound-raised typedef n"}},
		{"bound lowered", "typedef int n<>;\n", "typedef int n<10>;\n", []string{"ooop bound-lowered typedef n"}},
		{"element of array", "typedef int n<5>;\n", "typedef hyper n<5>;\n", []string{"bbbb type-wire typedef n[]"}},
		{"list element", "struct l { int a; l *next; };\n", "struct l { hyper a; l *next; };\n", []string{"bbbb type-wire struct l.a"}},
		{
			"recursive type renamed", "struct t { int a; t kids<>; };\n", "struct tree { int a; tree kids<>; };\n",
			[]string{"oboo declaration-renamed struct tree"},
		},

		{"member added", "enum e { A = 0 };\n", "enum e { A = 0, B = 1 };\n", []string{"oopo member-added enum e.B"}},
		{"member removed", "enum e { A = 0, B = 1 };\n", "enum e { A = 0 };\n", []string{"obop member-removed enum e.B"}},
		{"member renamed", "enum e { A = 0, B = 1 };\n", "enum e { A = 0, Z = 1 };\n", []string{"oboo member-renamed enum e.Z"}},
		{
			"members swapped", "enum e { A = 0, B = 1 };\n", "enum e { A = 1, B = 0 };\n",
			[]string{"bobb member-value enum e.A", "bobb member-value enum e.B"},
		},
		{
			"member inserted without values", "enum e { A, B };\n", "enum e { A, M, B };\n",
			[]string{"oooo member-alias enum e.M", "bobb member-value enum e.B"},
		},
		{
			"member added before the last", "enum e { A = 0, E_LAST = 1 };\n", "enum e { A = 0, B = 1, E_LAST = 2 };\n",
			[]string{"oopo member-added enum e.B", "oopo member-limit enum e.E_LAST"},
		},
		{
			"limit member among others", "enum e { A_LAST = 0, B = 1 };\n", "enum e { B = 1, A_LAST = 2 };\n",
			[]string{"bobb member-value enum e.A_LAST"},
		},
		{
			"enum removed where it was used", "enum e { A = 0 };\nstruct s { e x; };\n", "struct s { int x; };\n",
			[]string{"obpo type-widened struct s.x", "oboo declaration-removed enum e"},
		},
		{"alias", "enum e { A = 0 };\n", "enum e { A = 0, Z = 0 };\n", []string{"oooo member-alias enum e.Z"}},
		{"alias removed", "enum e { A = 0, Z = 0 };\n", "enum e { A = 0 };\n", []string{"oboo member-alias-removed enum e.Z"}},
		{
			"open enum", "enum e { A = 0, B = 1 };\n---\nopen e\n", "enum e { A = 0, C = 2 };\n---\nopen e\n",
			[]string{"oooo member-added-open enum e.C", "oboo member-removed-open enum e.B"},
		},
		{"enum opened", "enum e { A = 0 };\n", "enum e { A = 0 };\n---\nopen e\n", []string{"oopo enum-opened enum e"}},
		{"enum closed", "enum e { A = 0 };\n---\nopen e\n", "enum e { A = 0 };\n", []string{"ooop enum-closed enum e"}},
	}
}

func unionEdits() []edit {
	const e = "enum e { A = 0, B = 1, C = 2 };\n"
	const u = "union u switch (e d) { case A: int a; case B: void; };\n"
	return []edit{
		{
			"discriminant renamed", e + u, e + "union u switch (e k) { case A: int a; case B: void; };\n",
			[]string{"oboo discriminant-renamed union u"},
		},
		{
			"arm added", e + u, e + "union u switch (e d) { case A: int a; case B: void; case C: hyper c; };\n",
			[]string{"oopo arm-added union u.case C"},
		},
		{
			"arm and member added", "enum e { A = 0 };\nunion u switch (e d) { case A: int a; };\n",
			"enum e { A = 0, B = 1 };\nunion u switch (e d) { case A: int a; case B: int b; };\n",
			[]string{"oopo member-added enum e.B", "oooo arm-added union u.case B"},
		},
		{
			"arm and member removed", "enum e { A = 0, B = 1, C = 2 };\nunion u switch (e d) { case A: int a; case B: int b; case C: void; };\n",
			"enum e { A = 0 };\nunion u switch (e d) { case A: int a; };\n",
			[]string{"obop member-removed enum e.B", "obop member-removed enum e.C", "oboo arm-removed union u.case B", "oooo arm-removed union u.case C"},
		},
		{
			"member added, its arm is the default", "enum e { A = 0 };\nunion u switch (e d) { case A: int a; default: void; };\n",
			"enum e { A = 0, B = 1 };\nunion u switch (e d) { case A: int a; default: void; };\n",
			[]string{"oopo member-added enum e.B"},
		},
		{"arm removed", e + u, e + "union u switch (e d) { case B: void; };\n", []string{"obop arm-removed union u.case A"}},
		{"void arm removed", e + u, e + "union u switch (e d) { case A: int a; };\n", []string{"ooop arm-removed union u.case B"}},
		{"arm renamed", e + u, e + "union u switch (e d) { case A: int z; case B: void; };\n", []string{"oboo arm-renamed union u.z"}},
		{"arm gets data", e + u, e + "union u switch (e d) { case A: int a; case B: int b; };\n", []string{"bbbb void-changed union u.case B"}},
		{"arm gets another type", e + u, e + "union u switch (e d) { case A: hyper a; case B: void; };\n", []string{"bbbb type-wire union u.a"}},
		{
			"member added with an arm in place of the default", "enum e { A = 0 };\nunion u switch (e d) { case A: int a; default: void; };\n",
			"enum e { A = 0, B = 1 };\nunion u switch (e d) { case A: int a; case B: int b; default: void; };\n",
			[]string{"oopo member-added enum e.B", "oooo arm-added union u.case B", "oooo arm-of-default union u.case B"},
		},
		{
			"default added", e + u, e + "union u switch (e d) { case A: int a; case B: void; default: void; };\n",
			[]string{"oopo default-added union u.default"},
		},
		{
			"default removed", "union u switch (int d) { case 0: int a; default: void; };\n", "union u switch (int d) { case 0: int a; };\n",
			[]string{"ooop default-removed union u.default"},
		},
		{
			"default with data removed", "union u switch (int d) { case 0: void; default: int a; };\n", "union u switch (int d) { case 0: void; };\n",
			[]string{"obop default-removed union u.default"},
		},
		{
			"value removed from a void default", "union u switch (int d) { case 0: int a; default: void; };\n",
			"union u switch (int d) { case 0: int a; case 1: int b; default: void; };\n",
			[]string{"bbbb void-changed union u.case 1"},
		},
		{
			"void value removed from a void default", "union u switch (int d) { case 0: int a; default: void; };\n",
			"union u switch (int d) { case 0: int a; case 1: void; default: void; };\n", nil,
		},
		{
			"shared arm split", "union u switch (int d) { case 0: case 1: int a; default: void; };\n",
			"union u switch (int d) { case 0: int a; case 1: int b; default: void; };\n",
			[]string{"oboo arm-renamed union u.b"},
		},
		{
			"cases swapped", e + "union u switch (e d) { case A: int a; case B: hyper b; case C: void; };\n",
			e + "union u switch (e d) { case B: int a; case A: hyper b; case C: void; };\n",
			[]string{"bbbb type-wire union u.a", "oboo arm-renamed union u.a", "bbbb type-wire union u.b", "oboo arm-renamed union u.b"},
		},
		{"order of arms", e + u, e + "union u switch (e d) { case B: void; case A: int a; };\n", nil},
		{
			"default to the front", "union u switch (int d) { case 0: int a; default: void; };\n",
			"union u switch (int d) { default: void; case 0: int a; };\n", nil,
		},
		{
			"discriminant to int", "enum e { A = 0 };\nunion u switch (e d) { case A: int a; };\n",
			"enum e { A = 0 };\nunion u switch (int d) { case 0: int a; };\n",
			[]string{"obpo type-widened union u.d"},
		},
		{
			"anonymous union", "struct s { union switch (int d) { case 0: int a; } u; };\n",
			"struct s { union switch (int d) { case 0: int a; case 1: int b; } u; };\n",
			[]string{"oopo arm-added union s_u.case 1"},
		},
	}
}

func programEdits() []edit {
	p := func(body string) string { return "program P { version V { " + body + " } = 1; } = 0x20000001;\n" }
	const null = "void NULLP(void) = 0;"
	const both = null + " int F(int) = 1;"
	c := func(codes string) string {
		return "const ONE = 1;\nconst TWO = 2;\nstruct s { int a; };\nstruct t { hyper a; };\n---\n" + codes
	}
	return []edit{
		{"procedure added", p(null), p(both), []string{"oooo procedure-added program P V F"}},
		{"procedure removed", p(both), p(null), []string{"obob procedure-removed program P V F"}},
		{"procedure renamed", p(both), p(null + " int G(int) = 1;"), []string{"oboo procedure-renamed program P V G"}},
		{"procedure renumbered", p(both), p(null + " int F(int) = 2;"), []string{"bobb procedure-number program P V F"}},
		{"argument added", p(both), p(null + " int F(int, int) = 1;"), []string{"bobb field-added program P V F.arg2"}},
		{
			"arguments into a struct", p(null + " int F(int, hyper) = 1;"), "struct args { int a; hyper b; };\n" + p(null+" int F(args) = 1;"),
			[]string{"oooo declaration-added struct args", "oboo fields-regrouped program P V F.arg1"},
		},
		{"argument of another type", p(both), p(null + " int F(hyper) = 1;"), []string{"bbbb type-wire program P V F.arg1"}},
		{"result to void", p(both), p(null + " void F(int) = 1;"), []string{"bbbb void-changed program P V F result"}},
		{"result of another type", p(both), p(null + " hyper F(int) = 1;"), []string{"bbbb type-wire program P V F result"}},
		{
			"version added", p(null), "program P { version V { void NULLP(void) = 0; } = 1; version W { void NULLW(void) = 0; } = 2; } = 0x20000001;\n",
			[]string{"oooo version-added program P W"},
		},
		{
			"lower version added", p(null), "program P { version V { void NULLP(void) = 0; } = 1; version W { void NULLW(void) = 0; } = 0; } = 0x20000001;\n",
			[]string{"oboo go-name-changed P.V.NULLP", "oooo version-added program P W"},
		},
		{
			"version removed", "program P { version V { void NULLP(void) = 0; } = 1; version W { void NULLW(void) = 0; } = 2; } = 0x20000001;\n", p(null),
			[]string{"obob version-removed program P W"},
		},
		{
			"version renamed", p(null), "program P { version V1 { void NULLP(void) = 0; } = 1; } = 0x20000001;\n",
			[]string{"oboo version-renamed program P V1"},
		},
		{
			"version renumbered", p(null), "program P { version V { void NULLP(void) = 0; } = 3; } = 0x20000001;\n",
			[]string{"bobb version-number program P V"},
		},
		{
			"program renumbered", p(null), "program P { version V { void NULLP(void) = 0; } = 1; } = 0x20000002;\n",
			[]string{"bobb program-number program P"},
		},
		{"program removed", "const A = 1;\n" + p(null), "const A = 1;\n", []string{"obob program-removed program P"}},
		{
			"program renamed", p(null), "program Q { version V { void NULLP(void) = 0; } = 1; } = 0x20000001;\n",
			[]string{"oboo declaration-renamed program Q"},
		},
		{
			"code point added", c("code header-type ONE s\n"), c("code header-type ONE s\ncode header-type TWO t\n"),
			[]string{"oopo code-point-added header-type TWO"},
		},
		{
			"code point removed", c("code header-type ONE s\ncode header-type TWO t\n"), c("code header-type ONE s\n"),
			[]string{"ooop code-point-removed header-type TWO"},
		},
		{
			"code point of another type", c("code header-type ONE s\n"), c("code header-type ONE t\n"),
			[]string{"bbbb code-point-type header-type ONE"},
		},
	}
}
