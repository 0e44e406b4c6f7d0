package gogen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// TestStringMethods checks which types have the method String, and with which receiver.
func TestStringMethods(t *testing.T) {
	const text = `
typedef unsigned number; typedef bool flag; typedef opaque data<>; typedef string name<>; typedef name names<>;
typedef int *maybe; typedef data same;
struct entry { int a; int b; entry *next; };
struct single { int a; single *next; };
struct s { int String; };
struct limit { opaque a[16384]; };
struct large { opaque a[16388]; };
union u switch (bool b) { case TRUE: int a; case FALSE: void; };
struct tree { tree *left; tree *right; };
typedef tree *branch;
`
	file := filepath.Join(t.TempDir(), "u.x")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := sema.Compile(sema.Options{Files: []string{file}})
	if err != nil || r.Unit == nil {
		t.Fatal(err, r.Diags)
	}
	methods := func(with ir.Methods) []string {
		files, diags, err := Generate(r.Unit, r.Bind, Options{Package: "u", With: with})
		if err != nil || len(diags) > 0 {
			t.Fatal(err, diags)
		}
		var out []string
		for l := range strings.SplitSeq(string(files[0].Content), "\n") {
			if recv, ok := strings.CutPrefix(l, "func (v "); ok && strings.Contains(l, ") String() string") {
				name, body, _ := strings.Cut(recv, ") String() string")
				out = append(out, name+" "+strings.TrimLeft(body, " "))
			}
		}
		return out
	}
	want := []string{
		`Data { return text.String(&v, "data") }`,
		`Name { return string(v) }`,
		`Names { return text.String(&v, "names,string") }`,
		`Maybe { return text.String(&v, "maybe") }`,
		`Entry { return text.String(&v, "entry") }`,
		`EntryList { return text.String(&v, "entry") }`,
		`SingleList { return text.String(&v, "single,node=0:a") }`,
		`S { return text.String(&v, "s") }`,
		`Limit { return text.String(&v, "limit") }`,
		`*Large { return text.String(v, "large") }`,
		`U { return text.String(&v, "u") }`,
		`Tree { return text.String(&v, "tree") }`,
		`Branch { return text.String(&v, "branch") }`,
	}
	if diff := cmp.Diff(want, methods(ir.Methods{String: true})); diff != "" {
		t.Error(diff)
	}
	if got := methods(ir.Methods{}); len(got) > 0 {
		t.Errorf("without the option: %q", got)
	}
}
