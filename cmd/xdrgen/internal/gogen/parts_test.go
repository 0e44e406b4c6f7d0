package gogen

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// compileText compiles x with a sidecar.
func compileText(t *testing.T, x, bind string) (*ir.Unit, *ir.Bind) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "unit.x")
	for path, text := range map[string]string{file: x + "\n", strings.TrimSuffix(file, ".x") + ".bind": bind} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := sema.Compile(sema.Options{Files: []string{file}})
	if err != nil || r.Unit == nil || diag.HasErrors(r.Diags) {
		t.Fatalf("%s: the front end refuses it: %v %v", x, err, r.Diags)
	}
	return r.Unit, cmp.Or(r.Bind, &ir.Bind{})
}

// TestPartsMeet gives a version or procedure by a rename the Go name of something else: the unit is
// refused before it is generated, at the part, and the rename proposed is a way out.
func TestPartsMeet(t *testing.T) {
	for name, c := range map[string]struct{ x, bind, at string }{
		"version with its program's name": {
			"program P { version P { void NULL(void) = 0; } = 1; } = 9;", "rename P Q", "P",
		},
		"procedure and a name of the generator": {
			"program P { version V { void GET(void) = 0; } = 1; } = 9; struct s { opaque a<>; };", "rename GET DDPBindings", "GET",
		},
	} {
		t.Run(name, func(t *testing.T) {
			u, b := compileText(t, c.x, c.bind)
			refused := Refused(u, b)
			if len(refused) != 1 || refused[0].Span.Text() != c.at {
				t.Fatalf("got %v", refused)
			}
			_, line, _ := strings.Cut(refused[0].HelpText(), "the line \"")
			line, _, _ = strings.Cut(line, "\"")
			u, b = compileText(t, c.x, line+"\n"+c.bind)
			if files, diags, err := Generate(u, b, Options{Package: "unit"}); err != nil || len(diags) > 0 || len(files) == 0 {
				t.Errorf("with %q: %v %v", line, diags, err)
			}
		})
	}
}
