package gofile

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNameImports checks the names of units that are called like a package of the standard library,
// a word of Go, a variable of generated functions, or each other.
func TestNameImports(t *testing.T) {
	m := NewImports("example.org/a", "a")
	m.Standard("math", "math")
	for _, p := range [][2]string{
		{"example.org/x/math", "math"},
		{"example.org/y/math", "math"},
		{"example.org/len", "len"},
		{"example.org/off2", "off2"},
		{"example.org/base", "base"},
	} {
		m.Unit(p[0], p[1])
	}
	var got []string
	for _, i := range m.names[1:] {
		got = append(got, fmt.Sprint(i.name, " ", i.alias))
	}
	if diff := cmp.Diff([]string{"mathpkg true", "mathpkg1 true", "lenpkg true", "off2pkg true", "base false"}, got); diff != "" {
		t.Error(diff)
	}
}
