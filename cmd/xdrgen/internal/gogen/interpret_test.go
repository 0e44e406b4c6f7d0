package gogen

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gonames"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/gosample"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/wild"
)

// Flags for longer runs: go test -run 'Random|Tirpc' -wild 40 -wild-first 100.
var (
	wildCount = flag.Int("wild", 3, "how many wild interfaces a test makes")
	wildFirst = flag.Uint64("wild-first", 0, "the seed of the first")
)

// interpretCase is an input for a type and the interpreter's answer. testdata/interpret_test.go.txt
// reads it.
type interpretCase struct {
	Type string // Go
	In   string // hexadecimal
	Read int    // bytes, if the input is accepted
	Code string // of the error, if it is refused
}

// TestInterpreterRandom generates interfaces made at random with their tests, and holds what they
// read against the interpreter, which shares no code with them: values, their mutations and their
// parts.
func TestInterpreterRandom(t *testing.T) {
	longRun(t, "builds a test program for each schema")
	mod := newModule(t)
	child, err := os.ReadFile("testdata/interpret_test.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]schema{}
	for seed := range uint64(6) {
		schemas[fmt.Sprintf("q%02d", seed)] = makeSchema(seed+1000, true)
	}
	for i := range *wildCount {
		seed := *wildFirst + uint64(i)
		schemas[fmt.Sprintf("w%02d", seed)] = schema{x: wild.Schema(seed, false)}
	}
	recursion, err := os.ReadFile(okDir + "/recursion.x")
	if err != nil {
		t.Fatal(err)
	}
	schemas["recursion"] = schema{x: string(recursion)}
	cases, refused := 0, map[string]int{}
	for pkg, s := range schemas {
		u := s.compile(t, mod, pkg, true)
		r := rand.New(rand.NewPCG(13, 13))
		all := interpretCases(r, u)
		for _, c := range all {
			refused[c.Code]++
		}
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		mod.write(t, pkg+"/cases.json", text)
		mod.write(t, pkg+"/interpret_test.go", bytes.Replace(child, []byte("package interpret"), []byte("package "+pkg), 1))
		cases += len(all)
	}
	t.Logf("%d schemas, %d inputs, by code of refusal: %v", len(schemas), cases, refused)
	for _, c := range []dynamic.Code{"", dynamic.Short, dynamic.Bool, dynamic.Padding, dynamic.Bound, dynamic.Enum, dynamic.Union} {
		if refused[string(c)] == 0 {
			t.Errorf("no input is refused as %q", c)
		}
	}
	mod.run(t)
}

// interpretCases asks the interpreter about random values for each type of u, and about their
// mutations and parts.
func interpretCases(r *rand.Rand, u *ir.Unit) (all []interpretCase) {
	n := gonames.New()
	n.Add(u.Decls, nil, true)
	for _, d := range u.Decls {
		if d.Kind == ir.Const || d.Kind == ir.Program || d.List != nil {
			continue
		}
		typ := &ir.Type{Kind: ir.Ref, Ref: d, Size: d.Size}
		for i := range 48 {
			w := &gosample.Sampler{Rand: r, Deep: i % 5}
			in := mutate(r, w.Append(nil, d), i)
			c := interpretCase{Type: n.Decl(d), In: fmt.Sprintf("%x", in)}
			root, err := dynamic.Decode(in, typ, dynamic.Limits{})
			var e *dynamic.Error
			if errors.As(err, &e) {
				c.Code = string(e.Code)
			} else {
				c.Read = root.Length
			}
			all = append(all, c)
		}
	}
	return all
}

// mutate spoils a valid encoding, each time in another way; the first is left
// as it is.
func mutate(r *rand.Rand, in []byte, way int) []byte {
	switch {
	case way == 0 || len(in) == 0:
	case way%4 == 1:
		return in[:r.IntN(len(in))]
	case way%4 == 3: // counts just over their bounds, labels next to labels
		at := in[4*r.IntN(len(in)/4):]
		binary.BigEndian.PutUint32(at, binary.BigEndian.Uint32(at)+uint32(1+r.IntN(3)))
	case way%4 == 2:
		in[r.IntN(len(in))] ^= 1 << r.IntN(8)
	default:
		word := []uint32{0, 1, 2, 3, 0x7fffffff, 0xffffffff, uint32(len(in) / 4)}[r.IntN(7)]
		binary.BigEndian.PutUint32(in[4*r.IntN(len(in)/4):], word)
	}
	return in
}
