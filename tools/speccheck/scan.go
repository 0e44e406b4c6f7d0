package main

import (
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

// cited holds the places that cite one duty.
type cited struct {
	endpoint []place // tests at an endpoint
	parts    []place // all other tests
	code     []place // product code
}

// citations holds what the tree cites.
type citations struct {
	duties   map[int]*cited
	sections map[section][]place // product code only
	unknown  []string            // citations of sections that do not exist
}

// duty returns the places that cite a duty.
func (c *citations) duty(n int) *cited {
	if c.duties[n] == nil {
		c.duties[n] = &cited{}
	}
	return c.duties[n]
}

// endpoints are the folders whose tests run an endpoint: what they test takes messages from a peer
// and acts on them. A name that ends in a slash stands for all folders below it. Tests elsewhere
// look at codecs, or at parts that see no message.
var endpoints = []string{
	"rdmaio",                 // client and server over a provider
	"rdmaio/connconf",        // the connection configuration protocol, over them
	"rdmaio/xchar",           // transport characteristics: an endpoint, and connections with it
	"rdmaio/internal/engine", // the protocol itself, stepped by tests that play its peer
	"rdmaio/internal/sim",    // two engines
	"rdmaio/verbs/",          // what every provider must do, between two queue pairs
	"rdmaio/providers/",      // providers
	"runtime/oncrpc/gss",     // RPCSEC_GSS, over carriers
	"runtime/oncrpc/rpc",     // programs over carriers
	"runtime/oncrpc/rpcbind", // a client of rpcbind, against a server
}

// harness lists the folders without product code: their code outside of test files serves tests.
var harness = []string{
	"bench/", "examples/", "internal/", "rdmaio/internal/peertest/", "rdmaio/internal/rdmaiotest/", "rdmaio/internal/sim/", "runtime/xdr/codectest/",
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

// cites calls duty for each duty that the text cites, up to the last one, and sect for each
// section.
func (t text) cites(last int, duty func(n int, at place), sect func(s section, at place)) {
	for _, m := range citation.FindAllStringSubmatchIndex(t.body, -1) {
		end := ""
		if m[4] >= 0 {
			end = t.body[m[4]:m[5]]
		}
		for _, n := range span(t.body[m[2]:m[3]], end, last) {
			duty(n, t.at(m[0]))
		}
	}
	for _, m := range sectionsCited.FindAllStringSubmatchIndex(t.body, -1) {
		for _, number := range sectionNumber.FindAllStringSubmatch(t.body[m[0]:m[1]], -1) {
			sect(section{t.body[m[2]:m[3]], number[1]}, t.at(m[0]))
		}
	}
}

// scan reads the Go files of the module, its sidecars and its errata. It leaves out generated
// files, and this command's own, whose tests use numbers that prove nothing.
func scan(root string, groups []group) (*citations, error) {
	last := 0
	for _, g := range groups {
		last += len(g.rows)
	}
	found := &citations{duties: map[int]*cited{}, sections: map[section][]place{}}
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
	t.cites(last, func(n int, at place) {
		d := c.duty(n)
		d.code = append(d.code, at)
	}, func(s section, at place) {
		if !s.exists() {
			c.unknown = append(c.unknown, fmt.Sprintf("%s:%d: found %s %s, which is no section of that document",
				at.file, at.line, s.rfc, "§"+s.number))
		}
		c.sections[s] = append(c.sections[s], at)
	})
}

// test records what a text of a test cites.
func (c *citations) test(t text, last int) {
	t.cites(last, func(n int, _ place) {
		d := c.duty(n)
		if under(endpoints, path.Dir(t.file)) {
			d.endpoint = append(d.endpoint, t.place)
		} else {
			d.parts = append(d.parts, t.place)
		}
	}, func(section, place) {})
}
