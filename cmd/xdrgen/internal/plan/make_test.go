package plan_test

// makeTests are texts and their plans.
var makeTests = []struct {
	name, text, sidecar, want string
}{
	{
		name: "words of a run",
		text: "struct s { int a; unsigned hyper b; bool c; float d; opaque e[5]; int f[3]; quadruple g; };",
		want: `
struct s: 56 bytes, inline, emptied as a whole
 run a: signed word
 run b: hyper
 run c: bool, checked
 run d: float word
 run e: bytes[5], checked
 run f: 3 times signed word
 run g: bytes[16]
`,
	},
	{
		name: "counts and loops",
		text: "struct s { string a<8>; opaque b<>; int c[40]; int d<4>; };\nstruct u { s x; s *y; s z<>; };",
		want: `
struct s: 172 to 4294967492 bytes, repeated
     a: string<8>
     b: opaque<>
     c: 40 times signed word, unchecked
     d: array<4> of signed word
struct u: 180 bytes and more
     x: struct s (call: codec, check, scan)
     y: optional struct s (call: codec, check, scan)
     z: array<> of struct s (call: codec, check, scan)
`,
	},
	{
		name: "lists",
		text: "struct node { int v; opaque o<>; node *next; };\nstruct one { int v; one *next; };\nstruct top { node *a; node b; one *c; };",
		want: `
struct node: 8 to 4294967304 bytes, inline, list node, repeated, emptied as a whole
 run v: signed word
     o: opaque<>
typedef node: 12 bytes and more, inline
     is: list, not empty, of struct node (call: codec, check, view)
struct one: 4 bytes, inline, list node, repeated, emptied as a whole
 run v: signed word
typedef one: 8 bytes and more, inline
     is: list, not empty, of signed word
struct top: 20 bytes and more
     a: list of struct node (call: view)
     b: list, not empty, of struct node (call: view)
     c: list of signed word
`,
	},
	{
		name: "types that contain themselves",
		text: "struct tree { tree *left; int v; tree *right; };\ntypedef tree *treep;\nstruct h { treep a; };",
		want: `
struct tree: 12 bytes and more, recursive, repeated, emptied as a whole
     left: optional, by pointer, struct tree (call: codec, check, scan)
 run v: signed word
     right: optional, by pointer, struct tree (call: codec, check, scan)
typedef treep: 4 bytes and more, inline, around a pointer
     is: optional, by pointer, struct tree (call: codec, check, scan)
struct h: 4 bytes and more, emptied as a whole
     a: typedef treep
`,
	},
	{
		name: "union in an array",
		text: "struct big { opaque x[200]; };\nenum e { A = 1, B = -2 };\n" +
			"union u switch (e k) { case A: big b; case B: void; default: int i; };\nstruct top { u all<>; u one; };",
		want: `
struct big: 200 bytes, inline, repeated, emptied as a whole
 run x: bytes[200]
enum e: 4 bytes, inline
union u: 4 to 204 bytes, repeated, an arm begins with a run
 run switch k: enum e, checked
 run case 1 b, by pointer: struct big
     case -2: void
 run default i: signed word
struct top: 8 to 876173328388 bytes, inline, skipped by field
     all: array<> of union u (call: codec)
     one: union u (call: codec)
`,
	},
	{
		name: "typedefs",
		text: "typedef uint32_t handle;\ntypedef unsigned int uint32_t;\ntypedef handle other;\ntypedef string name<>;\n" +
			"struct s { uint32_t a; handle b; other c; name d; };",
		want: `
typedef handle: 4 bytes, inline, number
 run is: typedef uint32_t
typedef uint32_t: 4 bytes, inline, transparent
 run is: word
typedef other: 4 bytes, inline, alias
 run is: typedef handle
typedef name: 4 to 4294967300 bytes, inline
     is: string<>
struct s: 16 to 4294967312 bytes, inline, emptied as a whole, skipped by field
 run a: typedef uint32_t
 run b: typedef handle
 run c: typedef other
     d: typedef name
`,
	},
	{
		name: "weight of a type in several places",
		text: "struct s0 { string v<>; int a<>; };\nstruct s1 { s0 a; s0 b; s0 c; };\nstruct s2 { s1 a; s1 b<>; };",
		want: `
struct s0: 8 to 21474836484 bytes, inline, repeated, skipped by field
     v: string<>
     a: array<> of signed word
struct s1: 24 to 64424509452 bytes, repeated
     a: struct s0
     b: struct s0
     c: struct s0
struct s2: 28 bytes and more, skipped by field
     a: struct s1 (call: codec, check, scan)
     b: array<> of struct s1 (call: codec, check, scan)
`,
	},
	{
		name: "bytes that any value may have",
		text: "enum e { A = 1 };\nstruct fixed { hyper a[2]; opaque b[8]; };\nstruct s { e a[2]; fixed b; fixed c[30]; opaque d[6]; bool e[30]; opaque f[5000]; };",
		want: `
enum e: 4 bytes, inline, repeated
struct fixed: 24 bytes, inline, repeated, emptied as a whole
 run a: 2 times signed hyper
 run b: bytes[8]
struct s: 5880 bytes
 run a: 2 times enum e, checked
 run b: struct fixed
     c: 30 times struct fixed, unchecked
 run d: bytes[6], checked
     e: 30 times bool
     f: bytes[5000], unchecked
`,
	},
	{
		name: "arms",
		text: "union u switch (bool b) { case TRUE: string a<>; case FALSE: hyper h; default: int dead<>; };\n" +
			"union v switch (unsigned d) { case 1: case 2: u a; default: opaque b[6000]; };\nunion w switch (int d) { case -1: u only; };",
		want: `
union u: 8 to 17179869188 bytes, an arm begins with a run
 run switch b: bool, checked
     case 1 a: string<>
 run case 0 h: signed hyper
     default, dead dead: array<> of signed word
union v: 12 to 17179869192 bytes, an arm begins with a run
 run switch d: word
     case 1, case 2 a: union u (call: codec)
     default b: bytes[6000], unchecked
union w: 12 to 17179869192 bytes
 run switch d: signed word
     case -1 only: union u (call: codec)
`,
	},
	{
		name: "loops inside each other",
		text: "struct s0 { string v<>; };\nstruct s1 { s0 a<>; };\nstruct s2 { s1 a<>; };\nstruct s3 { s2 a<>; };\nstruct s4 { s3 a<>; };\n" +
			"struct s5 { s4 a<>; };\nstruct s6 { s5 a<>; };\nstruct s7 { s6 a<>; };\nstruct s8 { s7 a<>; int b; };",
		want: `
struct s0: 4 to 4294967300 bytes, inline, repeated, emptied as a whole, skipped by field
     v: string<>
struct s1: 4 bytes and more, inline, repeated, skipped by field
     a: array<> of struct s0
struct s2: 4 bytes and more, inline, repeated, skipped by field
     a: array<> of struct s1
struct s3: 4 bytes and more, inline, repeated, skipped by field
     a: array<> of struct s2 (call: scan)
struct s4: 4 bytes and more, inline, repeated, skipped by field
     a: array<> of struct s3 (call: scan)
struct s5: 4 bytes and more, inline, repeated, skipped by field
     a: array<> of struct s4 (call: scan)
struct s6: 4 bytes and more, inline, repeated, skipped by field
     a: array<> of struct s5 (call: scan)
struct s7: 4 bytes and more, repeated
     a: array<> of struct s6 (call: scan)
struct s8: 8 bytes and more
     a: array<> of struct s7 (call: codec, check, scan, view)
 run b: signed word
`,
	},
	{
		name: "types of procedures",
		text: "enum stat { OK = 0 };\nstruct attr { hyper a; hyper b; hyper c; int d; int e; };\nstruct pair { int x; int y; };\n" +
			"struct entry { opaque name<>; attr a; entry *next; };\nstruct dir { entry *list; bool eof; };\n" +
			"union res switch (stat s) { case OK: dir d; default: attr a; };\nstruct args { string name<>; pair p; attr a; };\n" +
			"struct other { dir d; };\nprogram P { version V { res LIST(args) = 1; } = 1; } = 99;",
		want: `
enum stat: 4 bytes, inline
struct attr: 32 bytes, inline, repeated, emptied as a whole
 run a: signed hyper
 run b: signed hyper
 run c: signed hyper
 run d: signed word
 run e: signed word
struct pair: 8 bytes, inline, compact, emptied as a whole
 run x: signed word
 run y: signed word
struct entry: 36 to 4294967332 bytes, inline, list node, repeated, emptied as a whole
     name: opaque<>
 run a: struct attr
typedef entry: 40 bytes and more, inline
     is: list, not empty, of struct entry (call: codec, check, view)
struct dir: 8 bytes and more, compact, skipped by field
     list: list of struct entry (call: view)
 run eof: bool, checked
union res: 12 bytes and more, compact, an arm begins with a run
 run switch s: enum stat, checked
     case 0 d: struct dir (call: codec)
     default a: struct attr (call: codec), unchecked
struct args: 44 to 4294967340 bytes, compact, emptied as a whole, skipped by field
     name: string<>
 run p: struct pair
     a: struct attr (call: codec), unchecked
struct other: 8 bytes and more, inline, skipped by field
     d: struct dir (call: codec)
`,
	},
	{
		name: "placement site",
		text: "typedef opaque data<>;\nstruct r { int n; data d; };\nstruct a { int x; r *kept; };\n" +
			"program P { version V { r READ(a) = 1; } = 1; } = 99;",
		sidecar: "ddp P.V.READ result d\n",
		want: `
typedef data: 4 to 4294967300 bytes, inline, compact
     is: opaque<>
struct r: 8 to 4294967304 bytes, compact, reducible, emptied as a whole, skipped by field
 run n: signed word
     d: typedef data for opaque<>, placement site
struct a: 8 to 4294967312 bytes, compact, reducible, emptied as a whole, skipped by field
 run x: signed word
     kept: optional struct r (call: codec)
`,
	},
	{
		name: "placement site by a typedef that has methods",
		text: "struct pt { string a<>; string b<>; string c<>; string d<>; };\ntypedef pt points<>;\nstruct r { points moved; points stays; };\n" +
			"program P { version V { r READ(void) = 1; } = 1; } = 99;",
		sidecar: "ddp P.V.READ result moved\n",
		want: `
struct pt: 16 to 17179869200 bytes, inline, repeated, emptied as a whole
     a: string<>
     b: string<>
     c: string<>
     d: string<>
typedef points: 4 bytes and more, compact
     is: array<> of struct pt (call: scan)
struct r: 8 bytes and more, compact, reducible, skipped by field
     moved: typedef points (call: scan) for array<> of struct pt (call: scan), placement site
     stays: typedef points (call: codec, check, scan)
`,
	},
}
