package dynamic

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

const service = `
struct part { opaque data<>; int numbers<>; opaque other<>; };
typedef opaque blob<9>;
struct all { int head; part parts<>; blob *maybe; };
union choice switch (int which) { case 1: opaque data<>; default: void; };
program SERVICE {
	version SERVICE_V1 { void NULLPROC(void) = 0; int PUT(all) = 1; all MANY(int, choice) = 2; } = 1;
	version SERVICE_V2 { void PUT(void) = 1; } = 2;
} = 0x20000000;
program SECOND { version SERVICE_V3 { void THIRD(void) = 0; } = 3; } = 0x20000000;
`

// A procedure is found by names and by numbers, also if two programs have one number.
func TestFindProcedure(t *testing.T) {
	u := unit(t, sema.Options{Files: []string{"a.x"}, FS: memFS(service)})
	for name, want := range map[string]string{
		"SERVICE.SERVICE_V1.PUT": "SERVICE.SERVICE_V1.PUT", "536870912.1.1": "SERVICE.SERVICE_V1.PUT", "0x20000000.SERVICE_V2.1": "SERVICE.SERVICE_V2.PUT",
		"0x20000000.3.0": "SECOND.SERVICE_V3.THIRD", "SERVICE.1.PUTT": "version SERVICE.1 has no procedure PUTT", "SERVICE.9.0": "program SERVICE has no version 9",
		"1.1.1": "program 1 is not declared", "SERVICE.1": `found "SERVICE.1", expected PROGRAM.VERSION.PROCEDURE`, "": "expected PROGRAM", "a.b.c.d": "expected PROGRAM",
		"SERVICE.1.-1": "no procedure -1", "SERVICE.1.4294967297": "no procedure 4294967297", "SERVICE.SECOND.THIRD": "no version SECOND",
	} {
		p, err := FindProcedure(u, name)
		if err == nil && p.String() != want {
			t.Errorf("%q: %v, expected %s", name, p, want)
		}
		var none *NotFound
		if err != nil && (!errors.As(err, &none) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, expected %s", name, err, want)
		}
	}
	p, err := FindProcedure(u, "SERVICE.1.MANY")
	if err != nil {
		t.Fatal(err)
	}
	if names := fieldsOf(p.Args().Ref); len(names) != 2 || names[0].Name != "arg1" || names[1].Name != "arg2" {
		t.Errorf("arguments %v", names)
	}
	if p, _ = FindProcedure(u, "SERVICE.1.PUT"); p.Args().Ref.Name != "all" || p.Result().Kind != ir.Int {
		t.Errorf("%v, %v", p.Args(), p.Result())
	}
	if got, err := Find(u, "0x20000000.1.0.result"); err != nil || len(got.Ref.Fields) != 0 {
		t.Errorf("a void result: %v, %v", got, err)
	}
}

// Items are the eligible parts of the arguments, without counts and padding: the outermost ones,
// also in arrays and optional data (RFC 8166 §3.4.4).
func TestEligibleItemsAreFound(t *testing.T) {
	u := unit(t, sema.Options{Files: []string{"a.x"}, FS: memFS(service)})
	p, err := FindProcedure(u, "SERVICE.1.PUT")
	if err != nil {
		t.Fatal(err)
	}
	decl := func(name string) *ir.Decl { return mustType(t, u, name).Ref }
	field := func(d *ir.Decl, name string) *ir.Field {
		for _, f := range d.Fields {
			if f.Name == name {
				return f
			}
		}
		t.Fatal(name)
		return nil
	}
	binding := func(owner, name string, reply bool, proc uint32) ir.DDPBinding {
		d := decl(owner)
		return ir.DDPBinding{ProcName: ir.ProcName{Prog: 0x20000000, Vers: 1, Number: proc}, Reply: reply, Owner: d, Field: field(d, name)}
	}
	bindings := []ir.DDPBinding{
		binding("part", "data", false, 1), binding("part", "numbers", false, 1), binding("all", "maybe", false, 1),
		binding("part", "other", true, 1), binding("part", "other", false, 2),
	}
	for text, want := range map[string]string{
		`{"head":1,"parts":[],"maybe":null}`:                                                                                        "",
		`{"head":1,"parts":[{"data":"616263","numbers":[1,2],"other":"ff"}],"maybe":"00"}`:                                          "part.data=616263 part.numbers=0000000100000002 all.maybe=00",
		`{"head":1,"parts":[{"data":"","numbers":[],"other":""},{"data":"0102030405","numbers":[],"other":""}],"maybe":"00010203"}`: "part.data= part.numbers= part.data=0102030405 part.numbers= all.maybe=00010203",
	} {
		v, err := ParseJSON([]byte(text), p.Args(), "", Limits{})
		if err != nil {
			t.Fatal(err)
		}
		data, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		if v, err = DecodeAll(data, p.Args(), Limits{}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, it := range p.Items(v, bindings) {
			got = append(got, fmt.Sprintf("%s.%s=%x", it.Owner, it.Field, data[it.Start:it.End]))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, expected %s", text, got, want)
		}
		if none := p.Items(v, bindings[3:]); len(none) != 0 {
			t.Errorf("items of other procedures: %v", none)
		}
	}
}

// A template is valid: its JSON has all fields, and encodes. One that cannot end, or would be too
// large, is an error.
func TestTemplatesAreValid(t *testing.T) {
	u := unit(t, sema.Options{Files: []string{"a.x"}, FS: memFS(`
		enum color { RED = 3, BLUE = 4 };
		union both switch (bool set) { case TRUE: color c; case FALSE: void; };
		union last switch (color c) { case RED: int x; default: hyper h; };
		union first switch (color c) { default: hyper h; case RED: int x; };
		union number switch (unsigned n) { case 4294967295: void; };
		struct node { int n; node *next; };
		struct tree { tree *left; tree kids<>; int n; };
		union expr switch (int op) { case 0: pair *args; case 1: int leaf; };
		struct pair { expr left; expr right; };
		struct big { opaque x[100000]; };
		struct many { int x[100000]; };
		struct none { int a<0>; string s<>; opaque f[2]; quadruple q; float r; node *list; node head; };
	`)})
	for name, want := range map[string]string{
		"both": `{"discriminant":true,"arm":"RED"}`, "last": `{"discriminant":"RED","arm":0}`, "first": `{"discriminant":"BLUE","arm":"0"}`,
		"number": `{"discriminant":4294967295}`, "tree": `{"left":null,"kids":[],"n":0}`,
		"expr": `{"discriminant":0,"arm":null}`, "pair": `{"left":{"discriminant":0,"arm":null},"right":{"discriminant":0,"arm":null}}`,
		"big": "more than 65536 bytes", "many": "more than 9999 values",
		"none": `{"a":[],"s":"","f":"0000","q":"00000000000000000000000000000000","r":0,"list":[{"n":0}],"head":[{"n":0}]}`,
	} {
		v, err := Template(mustType(t, u, name), Limits{Values: 9999})
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got := string(AppendJSON(nil, v)); got != want {
			t.Errorf("%s: %s, expected %s", name, got, want)
		}
	}
}

// Every type in the compiler's own test files, and in this module's protocols, has a template that
// its JSON and its XDR give back.
func TestEachTypeHasATemplate(t *testing.T) {
	n := 0
	units := map[string][]string{} // files by folder, or by name
	for _, pattern := range []string{"../../xdrgen/testdata/ok/*.x", "../../../spec/x/*/*.x"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			key := f
			if strings.Contains(f, "spec") {
				key = filepath.Dir(f)
			}
			units[key] = append(units[key], f)
		}
	}
	for f, files := range units {
		u := unit(t, sema.Options{Files: files, Include: []string{"../../xdrgen/testdata/ok/units", "../../../spec/x"}})
		for _, name := range Names(u) {
			typ := mustType(t, u, name)
			v, err := Template(typ, Limits{})
			if err != nil {
				t.Errorf("%s %s: %v", f, name, err)
				continue
			}
			n++
			data, err := Encode(v)
			if err != nil {
				t.Errorf("%s %s: %v", f, name, err)
				continue
			}
			text := AppendJSON(nil, v)
			again, err := ParseJSON(text, typ, "", Limits{})
			if err != nil {
				t.Errorf("%s %s: %s: %v", f, name, text, err)
				continue
			}
			if same, err := Encode(again); err != nil || !bytes.Equal(same, data) {
				t.Errorf("%s %s: %s: %x, expected %x, %v", f, name, text, same, data, err)
			}
			if _, err := DecodeAll(data, typ, Limits{}); err != nil {
				t.Errorf("%s %s: %v", f, name, err)
			}
		}
	}
	if n < 500 {
		t.Errorf("%d templates", n)
	}
}
