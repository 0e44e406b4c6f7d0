package gogen

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/sema"
)

// namesOf compiles x and returns the Go names of its enumerators, versions and
// procedures, in their order.
func namesOf(t *testing.T, x, bind string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "unit.x")
	for path, text := range map[string]string{file: x, strings.TrimSuffix(file, ".x") + ".bind": bind} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := sema.Compile(sema.Options{Files: []string{file}})
	if err != nil || r.Unit == nil {
		t.Fatalf("the front end refuses it: %v %v", err, r.Diags)
	}
	b := r.Bind
	if b == nil {
		b = &ir.Bind{}
	}
	n := newNames()
	if diags := n.add(r.Unit.Decls, b, true); len(diags) > 0 {
		t.Fatal(diags[0].Message)
	}
	var out []string
	for _, d := range r.Unit.Decls {
		for _, m := range d.Members {
			out = append(out, n.member[m])
		}
		if d.Kind != ir.Program {
			continue
		}
		for _, v := range d.Program.Versions {
			out = append(out, n.vers[v])
			for _, p := range v.Procs {
				out = append(out, n.proc[p])
			}
		}
	}
	return out
}

func TestNames(t *testing.T) {
	for name, c := range map[string]struct{ x, bind, want string }{
		"enumerators": {
			"enum auth_stat { AUTH_OK = 0, AUTH_TOOWEAK = 1 };", "",
			"AuthStatOK AuthStatTooweak",
		},
		"all of an enum are long where one would meet a type": {
			"enum snap { SNAP_OPT_NONE = 0, SNAP_OPT_CONFIG = 1 }; struct snap_config { int a; };", "",
			"SnapSnapOptNone SnapSnapOptConfig",
		},
		"a prefix of the sidecar is dropped first": {
			"enum gf_op { GF_OP_A = 1, GF_OP_B = 2 };", "prefix gf_\nprefix GF_\n",
			"OpA OpB",
		},
		"a rename is final, and the others are as without it": {
			"enum op { OP_A = 1, OP_B = 2 };", "rename OP_A First\n",
			"First OpB",
		},
		"an enum that is renamed": {
			"enum op { KIND_OF_A = 1, B = 2 };", "rename op KindOf\n",
			"KindOfA KindOfB",
		},
		"one version": {
			"program NFS_PROGRAM { version NFS_V3 { void NFSPROC3_NULL(void) = 0; void NFSPROC3_READ(void) = 1; } = 3; } = 77;", "",
			"NFSProgramV3 ProcNull ProcRead",
		},
		"several versions": {
			"program P { version P_V2 { void P2_NULL(void) = 0; void P2_A(void) = 1; } = 2;\n" +
				"version P_V3 { void P3_NULL(void) = 0; void P3_A(void) = 1; } = 3; } = 77;", "",
			"PV2 PV2Null PV2A PV3 PV3Null PV3A",
		},
		"two programs with procedures of one name": {
			"program A { version V1 { void A_NULL(void) = 0; void A_X(void) = 1; } = 1; } = 77;\n" +
				"program B { version V2 { void B_NULL(void) = 0; void B_Y(void) = 1; } = 1; } = 78;", "",
			"AV1 AV1Null AV1X BV2 BV2Null BV2Y",
		},
		"procedures that are renamed": {
			"program A { version V1 { void A_NULL(void) = 0; void A_X(void) = 1; } = 1; } = 77;", "rename A_X DoX\nrename V1 Vers\n",
			"Vers ProcNull DoX",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := namesOf(t, c.x, c.bind); !slices.Equal(got, strings.Fields(c.want)) {
				t.Errorf("got %s, want %s", strings.Join(got, " "), c.want)
			}
		})
	}
}
