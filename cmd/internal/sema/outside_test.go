package sema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNamesFromOutsideAreDeclared checks the declarations of names that the files do not declare,
// and the findings about them.
func TestNamesFromOutsideAreDeclared(t *testing.T) {
	given := func(name, xdr string) Options { return Options{Types: []Given{{name, xdr}}} }
	tests := []struct {
		name  string
		o     Options
		files map[string]string // u/u.x is compiled
		want  string            // rules
	}{
		{"flag, bounds", given("t", "opaque<8>"), map[string]string{"u/u.x": "struct a { t x; };"}, ""},
		{"flag, fixed", given("t", "unsigned hyper[2]"), map[string]string{"u/u.x": "struct a { t x; };"}, ""},
		{"flag, optional", given("t", "int *"), map[string]string{"u/u.x": "struct a { t x; };"}, ""},
		{"flag, C name", given("t", "uint32_t"), map[string]string{"u/u.x": "struct a { t x; };"}, "c-type-name"},
		{"flag, struct", given("t", "struct { int x; }"), map[string]string{"u/u.x": "struct a { struct t x; };"}, ""},
		{"flag, enum", given("t", "enum { A = 1, B = 2 }"), map[string]string{"u/u.x": "union a switch (t x) { case A: void; case B: int y; };"}, ""},
		{"flag, union", given("t", "union switch (int d) { case 1: void; }"), map[string]string{"u/u.x": "struct a { t x; };"}, ""},
		{"flag, faulty", given("t", "opaque"), map[string]string{"u/u.x": "struct a { t x; };"}, "bad-opaque"},
		{"flag, declared too", given("a", "int"), map[string]string{"u/u.x": "struct a { int x; };"}, "duplicate-name"},
		{"-import", Options{Imports: []string{"v/v.x"}}, map[string]string{"u/u.x": "struct a { t x; };", "v/v.x": "typedef int t;"}, ""},
		{"-import, same folder", Options{Imports: []string{"v.x"}}, map[string]string{"u/u.x": "struct a { t x; };", "u/v.x": "typedef int t;"}, ""},
		{"-import, not there", Options{Imports: []string{"w.x"}}, map[string]string{"u/u.x": "struct a { int x; };"}, "include-not-found"},
		{"-D", Options{Defines: map[string]string{"N": "4"}}, map[string]string{"u/u.x": "struct a { opaque x[N]; };"}, ""},
		{"sidecar", Options{}, map[string]string{
			"u/u.x": "struct a { t x[N]; };", "u/u.bind": "type t unsigned hyper\ndefine N 4\n",
		}, ""},
		{"sidecar of an import", Options{}, map[string]string{
			"u/u.x": "#include \"v/v.x\"\nstruct a { t x; };", "v/v.x": "struct b { t x; };", "v/v.bind": "type t opaque<8>\n",
		}, ""},
		{"%#define", Options{}, map[string]string{"u/u.x": "%#define A 8\n%#define B (A << 1) /* b */\nstruct a { opaque x[B]; };"}, "c-definition c-definition"},
		{"%#define in an #if", Options{}, map[string]string{"u/u.x": "#ifdef RPC_HDR\n%#define A 8\n#endif\nstruct a { opaque x[A]; };"}, "c-definition"},
		{"%#define, declared", Options{}, map[string]string{"u/u.x": "%#define A 8\nconst A = 9;\nstruct a { opaque x[A]; };"}, ""},
		{"header", Options{}, map[string]string{"u/u.x": "%#include <rpcsvc/v.h>\nstruct a { t x; };", "u/v.x": "typedef int t;"}, "c-header"},
		{"header of a header", Options{}, map[string]string{
			"u/u.x": "#include \"v.h\"\nstruct a { t x; };", "u/v.x": "%#include \"w.h\"\ntypedef w t;", "u/w.x": "typedef int w;",
		}, "ignored-directive c-header c-header"},
		{"header, not needed", Options{}, map[string]string{"u/u.x": "%#include \"v.h\"\nstruct a { int x; };", "u/v.x": "struct a { int y; };"}, ""},
		{"prelude", Options{}, map[string]string{"u/u.x": "struct a { netobj x; opaque y<MAX_AUTH_BYTES>; };"}, "from-prelude from-prelude"},
		{"prelude, by tag", Options{}, map[string]string{"u/u.x": "struct a { struct opaque_auth x; };"}, "from-prelude"},
		{"prelude, declared", Options{}, map[string]string{"u/u.x": "typedef opaque netobj<8>; struct a { netobj x; };"}, ""},
		{"flag before prelude", given("netobj", "opaque<8>"), map[string]string{"u/u.x": "struct a { netobj x; };"}, ""},
		{"type macros", Options{}, map[string]string{
			"u/u.x": "#define id uint\n#define word unsigned int\n#define size big\n#define bigger size\ntypedef hyper big;\nstruct a { id x; word y; bigger z; };",
		}, "c-type-name"},
		{"macros for C", Options{}, map[string]string{"u/u.x": "#define A other_macro\n#define B A\n#define C sizeof(int)\nstruct a { int x; };"}, "ignored-directive ignored-directive ignored-directive"},
		{"macro of a macro", Options{}, map[string]string{"u/u.x": "#define A (1 << 4)\n#define B A - 1UL\nstruct a { opaque x[B]; };"}, ""},
		{"macro of itself", Options{}, map[string]string{"u/u.x": "#define A A + 1\nstruct a { opaque x[A]; };"}, "constant-cycle"},
		{"macro of nothing", Options{}, map[string]string{"u/u.x": "#define A (B + 1)\nstruct a { opaque x[A]; };"}, "undefined-constant"},
		{"macro by 0", Options{}, map[string]string{"u/u.x": "#define A (1 / 0)\nstruct a { opaque x[A]; };"}, "bad-directive"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := compileFiles(t, tt.o, tt.files, "u/u.x")
			if diff := cmp.Diff(tt.want, strings.Join(rules(r), " ")); diff != "" {
				t.Errorf("%s\n%v", diff, r.Diags)
			}
			if r.Unit != nil && r.Unit.Files[0].Name != "u.x" {
				t.Errorf("files %+v", r.Unit.Files)
			}
		})
	}
}

// TestPreludeCompiles checks that each entry of the prelude declares its name.
func TestPreludeCompiles(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range prelude() {
		u := compileOK(t, g.xdr)
		find(t, u, g.name)
		if seen[g.name] || g.from == "" || len(u.Decls) != 1 {
			t.Errorf("%s: found it twice, without a source, or with more than one declaration", g.name)
		}
		seen[g.name] = true
	}
}

// TestGivenValues checks the values and types of names that C lines and the prelude declare.
func TestGivenValues(t *testing.T) {
	u := compileOK(t, "%#define A 1024\n%#define B A+1\n#define C ((B & ~1) | 0x10u)\nstruct a { opaque x[B]; opaque y[C]; netobj z; };")
	a := find(t, u, "a")
	if x, y := a.Fields[0].Type, a.Fields[1].Type; x.Len != 1025 || y.Len != 1024|0x10 {
		t.Errorf("lengths %d, %d", x.Len, y.Len)
	}
	if d := find(t, u, "netobj"); len(d.Doc) != 1 || !strings.Contains(d.Doc[0], "rpc/xdr.h") {
		t.Errorf("doc of netobj: %q", d.Doc)
	}
}

// TestPackageName checks packageName against the rule of the Makefile.
func TestPackageName(t *testing.T) {
	for folder, want := range map[string]string{"rpcrdma2": "rpcrdma2", "low-level": "lowlevel", "NFS_v4.1": "nfsv41", "größe": "gre"} {
		if got := packageName(folder); got != want {
			t.Errorf("%s: %s, expected %s", folder, got, want)
		}
	}
}
