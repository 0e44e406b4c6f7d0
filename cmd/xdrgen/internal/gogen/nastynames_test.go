package gogen

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/wild"
)

// nastyWords are words that generated code has, too: methods, variables, packages, suffixes.
var nastyWords = strings.Fields("a A b v n off err e d i p s c w more list kind fault seen at xdr codec text io iter math binary strconv json " +
	"context rpc oncrpc view scan end begin of value present site list min_size max_size fixed_size amplification parse all " +
	"xdr_clone xdr_equal xdr_extent new String valid Clone equal encode_to marshal_JSON program client server new_client new_service service " +
	"version procs Extension DDPBindings ctx args res get get_into into get_submit submit call Proc proc_get error byte len nil true any init main " +
	"func type map range select go defer chan interface import package var uint32 int32 bool_t float32 string_ XDRSize PutXDR fail_XDR")

// nasty gives the names of an interface others that meet names of the generator, or each other as
// soon as they are Go names. No two XDR names become one.
func nasty(x string, r *rand.Rand) string {
	used := map[string]bool{"": true, "NONE": true, "FEW": true, "ALL": true, "next": true, "program": true, "version": true}
	for _, keyword := range strings.Fields("bool case const default double quadruple enum float hyper int opaque string struct switch typedef union unsigned void TRUE FALSE item left right kids last rest both one leaf first d more") {
		used[keyword] = true
	}
	given := map[string]string{}
	return regexp.MustCompile(`\b(e|t|s|u|h|p|r|k|d|f|m|M|node)\d+\b`).ReplaceAllStringFunc(x, func(name string) string {
		for given[name] == "" {
			word := nastyWords[r.IntN(len(nastyWords))]
			switch r.IntN(6) {
			case 0:
				word = strings.ToUpper(word)
			case 1:
				word += "_"
			case 2:
				word += "_" + nastyWords[r.IntN(len(nastyWords))]
			case 3:
				word = "_" + word
			case 4:
				word = strings.ToUpper(word[:1]) + word[1:]
			}
			if !used[word] {
				used[word] = true
				given[name] = word
			}
		}
		return given[name]
	})
}

// TestNastyNamesCompile type-checks packages with names that the generator and Go use, and that are
// equal in Go: gen refuses none, and check says nothing about them.
func TestNastyNamesCompile(t *testing.T) {
	seeds := 40
	if testing.Short() {
		seeds = 6
	}
	checker := newChecker(t)
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 7))
		x := wild.Schema(1000+seed, false) + "program P1 { version V1 { void f901(int) = 1; int f902(hyper, int) = 2; string f903(void) = 3; } = 1;\n" +
			"version f904 { void f901(int) = 1; bool f902(bool) = 2; void f905(void) = 3; } = 2; } = 77;\n"
		x = nasty(x, r)
		file := filepath.Join(t.TempDir(), "unit.x")
		if err := os.WriteFile(file, []byte(x), 0o666); err != nil {
			t.Fatal(err)
		}
		unit, err := sema.Compile(sema.Options{Files: []string{file}, Stubs: true, Generate: true})
		if err != nil || unit.Unit == nil {
			t.Fatalf("%s\n%v %v", x, err, unit.Diags)
		}
		for _, d := range Refused(unit.Unit, unit.Bind) {
			t.Errorf("seed %d: check: %s", seed, d.Message)
		}
		pkg := fmt.Sprintf("nasty%d", seed)
		files, diags, err := Generate(unit.Unit, unit.Bind, Options{Package: pkg, ImportPath: "example.org/" + pkg, Views: true, Tests: true, Stubs: true, Async: true, With: allMethods()})
		if err != nil || len(diags) > 0 {
			t.Errorf("seed %d: %v %v", seed, diags, err)
			continue
		}
		if err := checker.check("example.org/"+pkg, files); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, x)
		}
	}
}
