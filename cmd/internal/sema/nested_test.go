package sema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
)

// TestNestedTypedefs nests arrays and optional data by typedefs. 32 levels are allowed, and more
// with a struct between. Only one typedef is reported.
func TestNestedTypedefs(t *testing.T) {
	for _, form := range []string{"typedef t%d *t%d;\n", "typedef t%d t%d<2>;\n", "typedef t%d t%d[1];\n"} {
		chain := func(n int) string {
			var b strings.Builder
			b.WriteString("typedef int t0;\n")
			for i := range n {
				if i == 20 && n == 40 { // a struct between
					fmt.Fprintf(&b, "struct s { t%d x; };\ntypedef s t%d;\n", i, i+1)
					continue
				}
				fmt.Fprintf(&b, form, i, i+1)
			}
			return b.String()
		}
		for n, want := range map[int]int{maxNested: 0, maxNested + 1: 1, 1000: 1, 40: 0} {
			found := 0
			diags := compileFiles(t, Options{}, map[string]string{"u.x": chain(n)}, "u.x").Diags
			for _, d := range diags {
				if d.Rule == diag.TooDeep {
					found++
					if !strings.Contains(d.Message, "t33 nests arrays and optional data more than 32 deep") {
						t.Errorf("%d of %q: %s", n, form, d.Message)
					}
				}
			}
			if found != want || want == 0 && diag.HasErrors(diags) {
				t.Errorf("%d of %q: %d findings, want %d; %v", n, form, found, want, diags)
			}
		}
	}
}
