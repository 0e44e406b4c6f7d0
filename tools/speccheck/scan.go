package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// place is where something is cited: a file, the declaration in it that holds the citation, and the
// line.
type place struct {
	file, symbol string
	line         int
}

// cited holds the places that cite one duty, or one section.
type cited struct {
	endpoint []place // tests at an endpoint
	parts    []place // all other tests
	code     []place // product code
}

// citations holds what the tree cites.
type citations struct {
	duties   map[int]*cited
	sections map[section]*cited
	unknown  []string // citations of sections and duties that do not exist
}

// duty returns the places that cite a duty.
func (c *citations) duty(n int) *cited {
	if c.duties[n] == nil {
		c.duties[n] = &cited{}
	}
	return c.duties[n]
}

// section returns the places that cite a section.
func (c *citations) section(s section) *cited {
	if c.sections[s] == nil {
		c.sections[s] = &cited{}
	}
	return c.sections[s]
}

// endpoints are the folders whose tests run an endpoint: what they test takes messages from a peer
// and acts on them. A name that ends in a slash stands for all folders below it. Tests elsewhere
// look at codecs, or at parts that see no message.
var endpoints = []string{
	"rdmaio",                 // client and server over a provider
	"rdmaio/internal/test/",  // the same, by subject
	"rdmaio/connconf",        // the connection configuration protocol, over them
	"rdmaio/xchar",           // transport characteristics: an endpoint, and connections with it
	"rdmaio/internal/engine", // the protocol itself, stepped by tests that play its peer
	"rdmaio/internal/sim",    // two engines
	"rdmaio/verbs/",          // what every provider must do, between two queue pairs
	"rdmaio/providers/",      // providers
	"nfs/cmd/nfsserve",       // an NFS server, over TCP and RDMA

	"cmd/rpcrdma/internal/conform", // both ends, against the cases of conform
	"runtime/oncrpc/gss",           // RPCSEC_GSS, over carriers
	"runtime/oncrpc/rpc",           // programs over carriers
	"runtime/oncrpc/rpcbind",       // a client of rpcbind, against a server
}

// harness lists the folders without product code: their code outside of test files serves tests.
var harness = []string{
	"bench/", "examples/filestore/", "examples/notes/", "examples/readwrite/", "internal/", "internal/peertest/", "internal/rdmaiotest/",
	"internal/rpctest/", "rdmaio/internal/sim/", "rdmaio/internal/test/", "internal/v2test/", "runtime/xdr/codectest/",
}

// shared lists the product code in folders of harness: what the provider, the tests of dissectors
// and the benchmarks use.
var shared = []string{"internal/rdmatcp/"}

// product reports whether the code of a folder, outside of test files, is the product's.
func product(dir string) bool {
	return !under(harness, dir) || under(shared, dir)
}

// under reports whether a folder is in a list: under its own name, or below a name that ends in a
// slash.
func under(list []string, dir string) bool {
	return slices.ContainsFunc(list, func(e string) bool {
		return dir == e || strings.HasSuffix(e, "/") && strings.HasPrefix(dir+"/", e)
	})
}

// citation is R24, or a range R60 to R75 or R60-R75.
var citation = regexp.MustCompile(`\bR([1-9][0-9]{0,2})\b(?:\s*(?:to|-|–)\s*R([1-9][0-9]{0,2})\b)?`)

// numbers returns the duties that a text cites, up to the last one.
func numbers(text string, last int) []int {
	var out []int
	for _, m := range citation.FindAllStringSubmatch(text, -1) {
		out = append(out, span(m[1], m[2], last)...)
	}
	return out
}

// span returns the numbers of a citation: one, or a range.
func span(first, end string, last int) []int {
	from, _ := strconv.Atoi(first)
	to := from
	if end != "" {
		to, _ = strconv.Atoi(end)
	}
	var out []int
	for n := from; n <= to && n <= last; n++ {
		out = append(out, n)
	}
	return out
}

// text is a comment or a string with the place where it begins.
type text struct {
	place
	body string
}

// at returns the place of the byte i of the text.
func (t text) at(i int) place {
	p := t.place
	p.line += strings.Count(t.body[:i], "\n")
	return p
}

// cites calls add for each duty and each section that the text cites, with the place of the
// citation. A text whose duties do not count has a last duty of 0.
func (c *citations) cites(t text, last int, add func(d *cited, at place)) {
	for _, m := range citation.FindAllStringSubmatchIndex(t.body, -1) {
		if last == 0 {
			break
		}
		first, end, at := t.body[m[2]:m[3]], "", t.at(m[0])
		if m[4] >= 0 {
			end = t.body[m[4]:m[5]]
		}
		for _, n := range span(first, end, last) {
			add(c.duty(n), at)
		}
		if n, _ := strconv.Atoi(cmp.Or(end, first)); n > last {
			c.none(at, "R%d, and docs/requirements.md has R1 to R%d", n, last)
		}
	}
	for _, m := range sectionsCited.FindAllStringSubmatchIndex(t.body, -1) {
		doc, at := t.body[m[2]:m[3]], t.at(m[0])
		for _, number := range sectionNumber.FindAllStringSubmatch(t.body[m[0]:m[1]], -1) {
			s := section{doc, number[1]}
			if !s.exists() {
				c.none(at, "%v, which is not a section of that document; it has %s",
					s, strings.Join(lookup(doc).nearest(s.number), ", "))
			}
			add(c.section(s), at)
		}
	}
}

// none records that a place cites what does not exist.
func (c *citations) none(at place, format string, args ...any) {
	c.unknown = append(c.unknown, fmt.Sprintf("%s:%d: found %s", at.file, at.line, fmt.Sprintf(format, args...)))
}

// scan reads the Go files of the module, its sidecars and its errata. It leaves out generated
// files, and this command's own, whose tests use numbers that prove nothing.
func scan(root string, groups []group) (*citations, error) {
	last := 0
	for _, g := range groups {
		last += len(g.rows)
	}
	found := &citations{duties: map[int]*cited{}, sections: map[section]*cited{}}
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
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case strings.HasSuffix(base, ".go") && !strings.HasSuffix(base, "_xdr.go"):
			return found.goFile(name, rel, last)
		case strings.HasSuffix(base, ".bind"), path.Dir(rel) == "spec/errata":
			return found.specFile(name, rel, last)
		}
		return nil
	})
	return found, err
}

// specFile reads a sidecar or a file of errata. A citation belongs to the directive in its line or
// in the next line that has one.
func (c *citations) specFile(name, rel string, last int) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		t := text{place{rel, "", i + 1}, line}
		for _, next := range lines[i:] {
			directive, _, _ := strings.Cut(next, "#")
			if words := strings.Fields(directive); len(words) > 0 {
				t.symbol = strings.Join(words[:min(len(words), 3)], " ")
				break
			}
		}
		c.product(t, last)
	}
	return nil
}

// product records what a text of product code cites.
func (c *citations) product(t text, last int) {
	c.cites(t, last, func(d *cited, at place) { d.code = append(d.code, at) })
}

// test records what a text in the test at a place cites.
func (c *citations) test(t text, at place, last int) {
	endpoint := under(endpoints, path.Dir(t.file))
	c.cites(t, last, func(d *cited, _ place) {
		if endpoint {
			d.endpoint = append(d.endpoint, at)
		} else {
			d.parts = append(d.parts, at)
		}
	})
}
