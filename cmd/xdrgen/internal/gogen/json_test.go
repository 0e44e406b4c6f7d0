package gogen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gosample"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/wild"
	"github.com/rpcrdma/rpcrdma/internal/jsontext"
)

// jsonCase is a JSON text for a type and the interpreter's answer. testdata/json_test.go.txt reads
// it.
type jsonCase struct {
	Type string // Go
	Text []byte
	XDR  string // hexadecimal, if the text is accepted
	Same bool   // the text is the form that the interpreter writes
	Err  string // why it is refused
}

// TestJSONRandom compares MarshalJSON and UnmarshalJSON of interfaces made at random with the
// interpreter, which shares only the reader of JSON text with them.
func TestJSONRandom(t *testing.T) {
	longRun(t, "builds a test program for each schema")
	mod := newModule(t)
	o := Options{Tests: true, Views: true, With: ir.Methods{JSON: true}}
	var c jsonCompare
	for i := range *wildCount {
		seed := *wildFirst + uint64(i)
		o.Package = fmt.Sprintf("w%02d", seed)
		s := schema{x: wild.Schema(seed, false)}
		c.add(t, mod, s.compileWith(t, mod, o), nil, o)
	}
	for _, name := range []string{"recursion", "lists", "kinds", "unions", "arrays", "scalars", "edge"} {
		text, err := os.ReadFile(filepath.Join(okDir, name+".x"))
		if err != nil {
			t.Fatal(err)
		}
		o.Package = name
		s := schema{x: string(text)}
		c.add(t, mod, s.compileWith(t, mod, o), nil, o)
	}
	c.check(t, mod)
}

// TestJSONUnits does the same with the units of spec/x.
func TestJSONUnits(t *testing.T) {
	longRun(t, "builds a test program for each unit")
	mod := newModule(t)
	var c jsonCompare
	dirs, _ := filepath.Glob("../../../../spec/x/*")
	for _, dir := range dirs {
		files, _ := filepath.Glob(dir + "/*.x")
		c.files(t, mod, filepath.Base(dir), files)
	}
	c.check(t, mod)
}

// jsonCompare counts the packages and cases of a comparison.
type jsonCompare struct{ cases, same, accepted, packages int }

// files compares a unit, if it compiles.
func (c *jsonCompare) files(t *testing.T, mod module, pkg string, files []string) {
	t.Helper()
	r, err := sema.Compile(sema.Options{Files: files, Include: []string{"../../../../spec/x"}, ImportRoot: "example.org", Generate: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Unit == nil {
		return // other tests report it
	}
	views := true
	for _, imp := range r.Unit.Imports {
		imp.Package = "example.org/" + imp.Unit
		views = views && (imp.Bind == nil || imp.Bind.Views) // else its types have no views to use
	}
	o := Options{Package: pkg, Tests: true, Views: views, With: ir.Methods{JSON: true, String: true}}
	out, diags, err := Generate(r.Unit, r.Bind, o)
	if err != nil || len(diags) > 0 {
		t.Fatalf("%s: %v, %v", pkg, err, diags)
	}
	mod.add(t, pkg, out)
	c.add(t, mod, r.Unit, r.Bind, o)
}

// add adds the cases of a generated package to it.
func (c *jsonCompare) add(t *testing.T, mod module, u *ir.Unit, b *ir.Bind, o Options) {
	t.Helper()
	n := gonames.New()
	n.AddImports(u)
	n.Add(u.Decls, b, true)
	all := jsonCases(rand.New(rand.NewPCG(17, 17)), u, n)
	for _, x := range all {
		c.cases++
		if x.Same {
			c.same++
		} else if x.Err == "" {
			c.accepted++
		}
	}
	c.packages++
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	child, err := os.ReadFile("testdata/json_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	mod.write(t, o.Package+"/cases.json", text)
	mod.write(t, o.Package+"/json_test.go", bytes.Replace(child, []byte("package json"), []byte("package "+o.Package), 1))
}

// check runs the comparison.
func (c *jsonCompare) check(t *testing.T, mod module) {
	t.Helper()
	c.count(t)
	mod.run(t, "-run", "TestJSON")
}

// count checks that the cases are many and of all kinds.
func (c *jsonCompare) count(t *testing.T) {
	t.Helper()
	t.Logf("%d packages, %d texts, %d of them as written by the interpreter, %d others accepted", c.packages, c.cases, c.same, c.accepted)
	if c.packages == 0 || c.same < c.cases/5 || c.accepted < c.cases/20 || c.same+c.accepted > c.cases*9/10 {
		t.Error("the cases do not cover much")
	}
}

// jsonCases asks the interpreter about texts for each type of u: the JSON of random values, and its
// mutations.
func jsonCases(r *rand.Rand, u *ir.Unit, n *gonames.Names) (all []jsonCase) {
	for _, d := range u.Decls {
		if d.Kind == ir.Const || d.Kind == ir.Program {
			continue
		}
		if d.List != nil {
			d = d.List.Whole
		}
		typ := &ir.Type{Kind: ir.Ref, Ref: d, Size: d.Size}
		for i := range 8 {
			// With text that is UTF-8, and other.
			w := &gosample.Sampler{Rand: r, Deep: i % 5, C: i%2 == 1}
			root, err := dynamic.DecodeAll(w.Append(nil, d), typ, dynamic.Limits{})
			if err != nil {
				continue // too large for the default limits
			}
			text := dynamic.AppendJSON(nil, root)
			if len(text) > 1<<13 {
				continue
			}
			all = append(all, jsonAnswer(n.Decl(d), typ, text))
			for range 4 {
				all = append(all, jsonAnswer(n.Decl(d), typ, mutateJSON(r, text)))
			}
		}
	}
	return all
}

// jsonAnswer returns the case for a text.
func jsonAnswer(name string, typ *ir.Type, text []byte) jsonCase {
	c := jsonCase{Type: name, Text: text}
	root, err := dynamic.ParseJSON(text, typ, "", dynamic.Limits{})
	var xdr []byte
	if err == nil {
		xdr, err = dynamic.Encode(root)
	}
	if err != nil {
		c.Err = err.Error()
		return c
	}
	c.XDR, c.Same = fmt.Sprintf("%x", xdr), bytes.Equal(dynamic.AppendJSON(nil, root), text)
	return c
}

// jsonValue is the place of a value in a text.
type jsonValue struct {
	start, end int
	members    []jsonValue // of an object, with the keys
}

// jsonValues returns the places of the values in a text.
func jsonValues(r *jsontext.Reader, all []jsonValue) []jsonValue {
	v := jsonValue{start: r.Offset()}
	at := r.Place()
	r.Skip()
	v.end = r.Offset()
	r.Return(at)
	i := len(all)
	all = append(all, v)
	switch r.Kind() {
	case jsontext.Object:
		var members []jsonValue
		for r.Open(); r.More(); {
			key := r.Offset()
			r.Key()
			all = jsonValues(r, all)
			members = append(members, jsonValue{start: key, end: r.Offset()})
		}
		all[i].members = members
	case jsontext.Array:
		for r.Open(); r.More(); {
			all = jsonValues(r, all)
		}
	default:
		r.Skip()
	}
	return all
}

// jsonWords replace values.
var jsonWords = []string{
	"null", "true", "false", "0", "-0", "1", "-1", "7", "1.0", "1e2", "4294967295", "4294967296", "-2147483649",
	"18446744073709551615", "18446744073709551616", "1e400", "3.4028236e38", `"-9223372036854775808"`, `"+1"`, `" 1"`, `"1"`, `""`, `"00"`,
	`"0g"`, `"é\n\ud83d\ude00"`, `"NaN"`, `"NaN:7fc00001"`, `"NaN:7ff0000000000001"`, `"NaN:1"`, `"Infinity"`, `"-Infinity"`, `"M2"`,
	"{}", "[]", "[0]", "[null]", `{"value":null}`, `{"value":1}`, `{"hex":"6161"}`, `{"text":"a"}`, `{"base64":"YWE="}`, `{"hex":"61","text":"a"}`,
	`{"discriminant":1}`, `{"discriminant":0,"arm":0}`, `{"arm":null}`,
}

// mutateJSON changes a text: mostly so that it is still JSON.
func mutateJSON(r *rand.Rand, text []byte) []byte {
	in, err := jsontext.NewReader(text)
	if err != nil {
		panic(err)
	}
	all := jsonValues(in, nil)
	replace := func(v jsonValue, by []byte) []byte { return slices.Concat(text[:v.start], by, text[v.end:]) }
	v := all[r.IntN(len(all))]
	switch r.IntN(8) {
	case 0: // a value by another of the text
		w := all[r.IntN(len(all))]
		return replace(v, text[w.start:w.end])
	case 1: // the bytes
		out := slices.Clone(text)
		out[r.IntN(len(out))] ^= 1 << r.IntN(8)
		return out
	case 2:
		return text[:r.IntN(len(text))]
	case 3, 4, 5: // the order, or the number, of keys in all objects that are not within others
		for range 3 {
			if len(v.members) > 0 {
				break
			}
			v = all[r.IntN(len(all))]
		}
		var parts []string
		for _, m := range v.members {
			parts = append(parts, string(text[m.start:m.end]))
		}
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		if len(parts) == 0 {
			break
		}
		switch r.IntN(6) {
		case 0:
			parts = parts[1:]
		case 1:
			parts = append(parts, parts[0])
		case 2:
			parts = append(parts, `"more":0`)
		}
		return replace(v, []byte("{ "+strings.Join(parts, "\n,")+"\t}"))
	}
	return replace(v, []byte(jsonWords[r.IntN(len(jsonWords))]))
}
