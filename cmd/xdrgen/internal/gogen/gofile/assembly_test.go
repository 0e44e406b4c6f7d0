package gofile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestImportDecl checks the order of imports and the form of their declaration.
func TestImportDecl(t *testing.T) {
	tests := []struct {
		name  string
		specs map[string]string
		want  string
	}{
		{"none", nil, ""},
		{"one", map[string]string{`"math"`: `"math"`}, "\nimport \"math\"\n"},
		{"standard", map[string]string{`"math"`: `"math"`, `"iter"`: `"iter"`}, "\nimport (\n\t\"iter\"\n\t\"math\"\n)\n"},
		{
			"both",
			map[string]string{`"math"`: `"math"`, `"a.org/b"`: `b1 "a.org/b"`, `"a.org/a"`: `"a.org/a"`},
			"\nimport (\n\t\"math\"\n\n\t\"a.org/a\"\n\tb1 \"a.org/b\"\n)\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, importDecl(tt.specs)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
