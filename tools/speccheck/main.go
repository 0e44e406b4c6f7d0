// Command speccheck compares the duties in docs/requirements.md with the code and the tests that
// cite them. It writes pages that are never edited by hand: docs/conformance.md, by duty, and by
// section docs/rfc8166.md, docs/version2.md and docs/drafts.md.
//
//	speccheck [-root DIR] [-check | -lose LIST]
//	speccheck [-root DIR] -find R79|"version-two 4.2"|"RFC 8167 5.3"|xchar
//
// A citation is an R-number in a comment, or in a string of a test: R24, or R24, R25, or R60 to R75
// for a range. In the body or the doc comment of a test, fuzz target or example, or of a case of
// package verbstest, it proves the duty. In product code it says where the duty is obeyed. A duty
// of behaviour is proved only by a test at an endpoint: scan.go lists the packages that have one.
// "RFC 8166 §3.4.6" in such a comment or string cites the section. A draft is cited by its file
// name: "draft-ietf-nfsv4-rpcrdma-version-two-00 §4.2".
//
// With -find it prints the lines that cite a duty, or a section and its duties, or the sections of
// a document. document.go lists the documents with their names; a section without a document is one
// of RFC 8166.
//
// Exit code 3 reports findings, and nothing is written:
//
//   - A duty has lost its proof: restore a test. Only where the proof was none,
//     -lose R7,R9 names the duties that may lose it.
//   - A duty is proved and no product code cites it: cite it at the line that obeys.
//   - Code or a test cites a section or a duty that does not exist.
//   - With -check, which never writes: a page is not current.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("speccheck", flag.ContinueOnError)
	fs.SetOutput(stderr)
	root := fs.String("root", ".", "the module's `folder`")
	check := fs.Bool("check", false, "write nothing; exit with 3 if a table is not current or there are other findings")
	lose := fs.String("lose", "", "`list` of duties, as R7,R9, that may lose a proof which was none")
	where := fs.String("find", "", "print the lines that cite a `duty`, as R79, or a section, as \"version-two 4.2\", or the sections of a document, as xchar")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(stderr, "speccheck: unexpected argument %q\n", fs.Arg(0))
		return 2
	}
	fail := func(err error) int {
		fmt.Fprintln(stderr, "speccheck:", err)
		return 1
	}
	text, err := os.ReadFile(filepath.Join(*root, "docs/requirements.md"))
	if err != nil {
		return fail(err)
	}
	groups, err := parseRequirements(text)
	if err != nil {
		return fail(err)
	}
	found, err := scan(*root, groups)
	if err != nil {
		return fail(err)
	}
	if *where != "" {
		lines, err := find(groups, found, *where)
		if err != nil {
			fmt.Fprintf(stderr, "speccheck: -find: %v\n", err)
			return 2
		}
		fmt.Fprint(stdout, lines)
		return 0
	}
	tables := []table{{"docs/conformance.md", conformance(groups, found)}}
	for _, p := range pages {
		tables = append(tables, table{"docs/" + p.name, p.bySection(groups, found)})
	}
	code := 0
	finding := func(format string, args ...any) {
		fmt.Fprintf(stdout, format+"\n", args...)
		code = 3
	}
	old, err := os.ReadFile(filepath.Join(*root, tables[0].file))
	if err != nil && !os.IsNotExist(err) {
		return fail(err)
	}
	may := numbers(*lose, math.MaxInt)
	last := 0
	for _, g := range groups {
		last += len(g.rows)
	}
	if *lose != "" && (len(may) == 0 || slices.Max(may) > last) {
		fmt.Fprintf(stderr, "speccheck: -lose %q: expected duties of docs/requirements.md, R1 to R%d\n", *lose, last)
		return 2
	}
	for _, l := range losses(old, tables[0].text) {
		if !slices.Contains(may, l.id) {
			finding("R%d was %s by a test and is not any more: restore a test that cites it", l.id, l.was)
		}
	}
	for _, id := range uncited(groups, found) {
		finding("R%d is proved by a test, and no product code cites it: write %s at the line that obeys", id, citationOf(groups, id))
	}
	for _, u := range found.unknown {
		finding("%s", u)
	}
	for _, t := range tables {
		if code != 0 {
			break
		}
		file := filepath.Join(*root, t.file)
		old, err := os.ReadFile(file)
		switch {
		case err != nil && !os.IsNotExist(err):
			return fail(err)
		case bytes.Equal(old, t.text):
			continue
		case *check:
			finding("%s is not current: run make conformance", t.file)
			continue
		}
		if err := os.WriteFile(file, t.text, 0o666); err != nil {
			return fail(err)
		}
		fmt.Fprintln(stdout, t.file)
	}
	return code
}

// table is a page that this command writes.
type table struct {
	file string
	text []byte
}
