package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// decodes matches code that decodes.
var decodes = regexp.MustCompile(`xdr\.NewDecoder\(|binary\.BigEndian\.Uint|\.UnmarshalBinary\(|\.DecodeXDR\(|oncrpc\.Peek\(|oncrpc\.ParseAuth`)

// Each package that reads what a peer sent has a target in which the peer is a client, and one in
// which it is a server.
func TestEachParserHasTargetsForBothRoles(t *testing.T) {
	all, err := targets("../..")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	// Handlers of servers, and a client.
	oneRole := []string{"runtime/oncrpc/replycache", "nfs/nfsd", "nfs/client", "nfs/client4", "nfs/nfs4"}
	for _, p := range parsers {
		listed[p.dir] = true
		if (len(p.clients) == 0 || len(p.servers) == 0) && (len(p.clients)+len(p.servers) == 0 || !slices.Contains(oneRole, p.dir)) {
			t.Errorf("%s has no target for one of the roles", p.dir)
		}
		for _, name := range append(slices.Clone(p.clients), p.servers...) {
			if !strings.Contains(name, " ") {
				name = p.dir + " " + name
			}
			if !slices.ContainsFunc(all, func(t target) bool { return t.String() == name }) {
				t.Errorf("%s: the target %s is not in the module", p.dir, name)
			}
		}
		for _, file := range p.files {
			if _, err := os.Stat(filepath.Join("../..", p.dir, file)); err != nil {
				t.Error(err)
			}
		}
	}
	found := make(map[string]bool)
	err = sources("../..", func(dir, name string, text []byte) error {
		if !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, "_xdr.go") && decodes.Match(text) {
			found[dir] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range found {
		if !listed[dir] && notParsers[dir] == "" {
			t.Errorf("%s decodes: add it to parsers, with a fuzz target for each role, or to notParsers with the reason", dir)
		}
	}
	for dir := range notParsers {
		if !found[dir] || listed[dir] {
			t.Errorf("%s is in notParsers, but decodes nothing or is in parsers too", dir)
		}
	}
}

// The corpora in the repository are small.
func TestCorporaAreSmall(t *testing.T) {
	const most = 2 << 20
	all, err := targets("../..")
	if err != nil {
		t.Fatal(err)
	}
	files, size := 0, int64(0)
	for _, target := range all {
		n, bytes := target.corpus("../..")
		files, size = files+n, size+bytes
		if n > 32 || bytes > 32*4096 {
			t.Errorf("%s has %d kept inputs of %d bytes, at most 32 of 4096 are expected", target, n, bytes)
		}
	}
	if size > most {
		t.Errorf("%d kept inputs have %d bytes, at most %d are expected", files, size, most)
	}
}
