package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// cited is where one requirement is cited.
type cited struct {
	endpoint map[string]bool // "folder Test", of tests at an endpoint
	parts    map[string]bool // "folder Test", of all others
	code     map[string]bool // file
}

// endpoints are the folders whose tests run an endpoint: what they test takes messages from a peer and
// acts on them. A name that ends in a slash stands for all folders below it. Tests elsewhere look at codecs, or at
// parts that see no message.
var endpoints = []string{
	"rdmaio",                 // client and server over a provider
	"rdmaio/rpc",             // programs over them
	"rdmaio/connconf",        // the connection configuration protocol, over them
	"rdmaio/internal/engine", // the protocol itself, stepped by tests that play its peer
	"rdmaio/internal/sim",    // two engines
	"rdmaio/verbs/",          // what every provider must do, between two queue pairs
	"rdmaio/providers/",      // providers
	"runtime/oncrpc/rpcbind", // a client of rpcbind, against a server
}

// atEndpoint reports whether the tests of a folder run an endpoint.
func atEndpoint(dir string) bool {
	return slices.ContainsFunc(endpoints, func(e string) bool {
		return dir == e || strings.HasSuffix(e, "/") && strings.HasPrefix(dir+"/", e)
	})
}

// citation is R24, or a range R60 to R75 or R60-R75.
var citation = regexp.MustCompile(`\bR([1-9][0-9]{0,2})\b(?:\s*(?:to|-|–)\s*R([1-9][0-9]{0,2})\b)?`)

// numbers returns the requirements that a text cites, up to the last one.
func numbers(text string, last int) []int {
	var out []int
	for _, m := range citation.FindAllStringSubmatch(text, -1) {
		from, _ := strconv.Atoi(m[1])
		to := from
		if m[2] != "" {
			to, _ = strconv.Atoi(m[2])
		}
		for n := from; n <= to && n <= last; n++ {
			out = append(out, n)
		}
	}
	return out
}

// scan reads every Go file of the module but generated ones, and this command's
// own, whose tests speak of numbers that prove nothing.
func scan(root string, groups []group) (map[int]*cited, error) {
	last := 0
	for _, g := range groups {
		last += len(g.rows)
	}
	found := map[int]*cited{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != root && (base == "testdata" || base == "bin" || base == "speccheck" || strings.HasPrefix(base, ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_xdr.go") {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		return scanFile(name, filepath.ToSlash(rel), last, found)
	})
	return found, err
}

func scanFile(name, rel string, last int, found map[int]*cited) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("%s: %w", rel, err)
	}
	dir := path.Dir(rel)
	suite := path.Base(dir) == "verbstest"
	test := strings.HasSuffix(rel, "_test.go") || suite
	add := func(n int, proof string) {
		c := found[n]
		if c == nil {
			c = &cited{map[string]bool{}, map[string]bool{}, map[string]bool{}}
			found[n] = c
		}
		switch {
		case proof == "":
			c.code[rel] = true
		case atEndpoint(dir):
			c.endpoint[proof] = true
		default:
			c.parts[proof] = true
		}
	}
	// owner is the test that a position lies in, its doc comment included.
	owner := func(pos token.Pos) string {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !test || !(suite || isTest(fn.Name.Name)) {
				continue
			}
			from := fn.Pos()
			if fn.Doc != nil {
				from = fn.Doc.Pos()
			}
			if from <= pos && pos < fn.End() {
				return dir + " " + fn.Name.Name
			}
		}
		return ""
	}
	for _, g := range f.Comments {
		proof := owner(g.Pos())
		if test && proof == "" {
			continue // a comment between tests proves nothing and is no code
		}
		for _, n := range numbers(g.Text(), last) {
			add(n, proof)
		}
	}
	if !test {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if proof := owner(lit.Pos()); proof != "" {
			for _, n := range numbers(lit.Value, last) {
				add(n, proof)
			}
		}
		return true
	})
	return nil
}

func isTest(name string) bool {
	for _, p := range []string{"Test", "Fuzz", "Example"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

func sorted(set map[string]bool) []string {
	out := make([]string, 0, len(set))
	for s := range set {
		out = append(out, s)
	}
	sort.Strings(out)
	return out
}
