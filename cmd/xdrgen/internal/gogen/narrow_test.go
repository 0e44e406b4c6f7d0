package gogen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// TestNarrowTypesOfCAreMarked marks data that the text declares by C types of fewer than 32 bits,
// and no others: the generated code keeps all bits (docs/differences.md).
func TestNarrowTypesOfCAreMarked(t *testing.T) {
	const text = "typedef unsigned short port;\ntypedef int wide;\n" +
		"struct s { short a; /* tail */\n u_char b<4>; long c; port d; int16_t e[2]; wide f; uint32_t g; };\n"
	file := filepath.Join(t.TempDir(), "u.x")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := sema.Compile(sema.Options{Files: []string{file}})
	if err != nil || r.Unit == nil {
		t.Fatal(err, r.Diags)
	}
	files, diags, err := Generate(r.Unit, r.Bind, Options{Package: "u"})
	if err != nil || len(diags) > 0 {
		t.Fatal(err, diags)
	}
	var got []string
	for _, l := range strings.Split(string(files[0].Content), "\n") {
		if strings.Contains(l, "in the source; Go keeps all 32 bits") {
			got = append(got, strings.Join(strings.Fields(l), " "))
		}
	}
	want := []string{
		"// unsigned short in the source; Go keeps all 32 bits",
		"A int32 `xdr:\"a\"` // tail; short in the source; Go keeps all 32 bits",
		"B []uint32 `xdr:\"b\"` // u_char in the source; Go keeps all 32 bits",
		"E [2]int32 `xdr:\"e\"` // int16_t in the source; Go keeps all 32 bits",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
