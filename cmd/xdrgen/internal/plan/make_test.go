package plan_test

// makeTests are texts and their plans.
var makeTests = []struct {
	name, text, sidecar, want string
}{
	{
		name: "words of a run",
		text: "struct s { int a; unsigned hyper b; bool c; float d; opaque e[5]; int f[3]; quadruple g; };",
		want: `
struct s: 56 bytes, inline
 run a: signed word
 run b: hyper
 run c: bool
 run d: float word
 run e: bytes[5]
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
     c: 40 times signed word
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
struct node: 8 to 4294967304 bytes, inline, list node, repeated
 run v: signed word
     o: opaque<>
struct one: 4 bytes, inline, list node, repeated
 run v: signed word
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
struct tree: 12 bytes and more, recursive, repeated
     left: optional, by pointer, struct tree (call: codec, check, scan)
 run v: signed word
     right: optional, by pointer, struct tree (call: codec, check, scan)
typedef treep: 4 bytes and more, inline, alias
     is: optional, by pointer, struct tree (call: codec, check, scan)
struct h: 4 bytes and more
     a: typedef treep
`,
	},
	{
		name: "union in an array",
		text: "struct big { opaque x[200]; };\nenum e { A = 1, B = -2 };\n" +
			"union u switch (e k) { case A: big b; case B: void; default: int i; };\nstruct top { u all<>; u one; };",
		want: `
struct big: 200 bytes, inline, repeated
 run x: bytes[200]
enum e: 4 bytes, inline
union u: 4 to 204 bytes, repeated
 run switch k: enum e
 run case 1 b, by pointer: struct big
     case -2: void
 run default i: signed word
struct top: 8 to 876173328388 bytes, inline
     all: array<> of union u (call: codec)
     one: union u (call: codec)
`,
	},
	{
		name: "typedefs",
		text: "typedef uint32_t handle;\ntypedef unsigned int uint32_t;\ntypedef handle other;\ntypedef string name<>;\n" +
			"struct s { uint32_t a; handle b; other c; name d; };",
		want: `
typedef handle: 4 bytes, inline
 run is: typedef uint32_t
typedef uint32_t: 4 bytes, inline, transparent
 run is: word
typedef other: 4 bytes, inline, alias
 run is: typedef handle
typedef name: 4 to 4294967300 bytes, inline
     is: string<>
struct s: 16 to 4294967312 bytes, inline
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
struct s0: 8 to 21474836484 bytes, inline, repeated
     v: string<>
     a: array<> of signed word
struct s1: 24 to 64424509452 bytes, repeated
     a: struct s0
     b: struct s0
     c: struct s0
struct s2: 28 bytes and more
     a: struct s1 (call: codec, check, scan)
     b: array<> of struct s1 (call: codec, check, scan)
`,
	},
	{
		name: "placement site",
		text: "typedef opaque data<>;\nstruct r { int n; data d; };\nstruct a { int x; };\n" +
			"program P { version V { r READ(a) = 1; } = 1; } = 99;",
		sidecar: "ddp P.V.READ result d\n",
		want: `
typedef data: 4 to 4294967300 bytes, inline
     is: opaque<>
struct r: 8 to 4294967304 bytes, inline, reducible
 run n: signed word
     d: typedef data for opaque<>, placement site
struct a: 4 bytes, inline
 run x: signed word
`,
	},
}
