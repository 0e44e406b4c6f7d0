package gogen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// TestGeneratedNamesAreToldApart generates units in which a name of the generator meets one of the
// document. Each is taken, and the document's name stays.
func TestGeneratedNamesAreToldApart(t *testing.T) {
	for name, c := range map[string]struct{ x, bind, want string }{
		"site and type": {
			"struct a { opaque data<>; }; struct site_a_data { int x; }; program P { version V { void DO(a) = 1; } = 1; } = 77;",
			"ddp P.V.DO args data", "SiteAData_",
		},
		"field and method": {
			"struct a { opaque data<>; int reduced_XDRSize; }; program P { version V { void DO(a) = 1; } = 1; } = 77;",
			"ddp P.V.DO args data", "ReducedXDRSize_ int32",
		},
		"list and type": {"struct a { int x; int y; a *next; }; struct a_list { int z; };", "", "type AList_ []A"},
		"code point of a list node": {
			"struct e { int a; }; struct l { e entry; l *next; }; struct h { l *all; }; const C = 1;", "code property C l", "new(LList)",
		},
		"code point of optional data": {"typedef int *maybe; const C = 1;", "code property C maybe", "new(Maybe)"},
	} {
		t.Run(name, func(t *testing.T) {
			u, b := compileText(t, c.x, c.bind)
			if refused := Refused(u, b); len(refused) > 0 {
				t.Fatal(refused)
			}
			files, diags, err := Generate(u, b, Options{Package: "unit", Views: true, With: allMethods()})
			if err != nil || len(diags) > 0 || len(files) == 0 {
				t.Fatal(diags, err)
			}
			if !strings.Contains(string(files[0].Content), c.want) {
				t.Errorf("the package has no %s", c.want)
			}
			if err := newChecker(t).check("example.org/unit", files); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTypesWithoutAGoFormAreRefused checks that XDR that Go cannot express is refused with a place
// and a proposal, and not by the Go compiler.
func TestTypesWithoutAGoFormAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ x, bind, want string }{
		"too large":                      {"struct h { opaque x[4294967295]; };", "", "too large for a Go array"},
		"optional by names alone":        {"typedef a *b; typedef b *a;", "", "no Go type"},
		"optional arrays by names alone": {"typedef b *a; typedef a b[2];", "", "no Go type"},
		"code point of a bare number": {
			"typedef unsigned int uint32; const C = 1;", "code property C uint32", "no Go type of its own",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "unit.x")
			for path, text := range map[string]string{file: c.x, filepath.Join(dir, "unit.bind"): c.bind} {
				if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			r, err := sema.Compile(sema.Options{Files: []string{file}})
			if err != nil || r.Unit == nil {
				t.Fatalf("the front end refuses it: %v %v", err, r.Diags)
			}
			files, diags, err := Generate(r.Unit, r.Bind, Options{Package: "unit"})
			if err != nil || len(files) > 0 || len(diags) == 0 {
				t.Fatalf("%d files, %d findings, %v", len(files), len(diags), err)
			}
			if d := diags[0]; !strings.Contains(d.Message, c.want) || !d.Span.Valid() || d.HelpText() == "" {
				t.Errorf("got %q (help %q), want %q", d.Message, d.HelpText(), c.want)
			}
		})
	}
}
