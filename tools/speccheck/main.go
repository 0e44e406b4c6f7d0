// Command speccheck holds the requirements against the tree: which of the
// duties in docs/requirements.md a test proves, and where code cites them. It
// writes the table docs/conformance.md, which is never edited by hand.
//
//	speccheck [-root DIR] [-check | -lose LIST]
//
// A citation is an R-number in a comment, or in a string of a test: R24, or
// R24, R25, or R60 to R75 for a range. In the body or the doc comment of a test, fuzz
// target or example, or of a case of package verbstest, it is a proof; anywhere
// else in Go code it says where the duty is obeyed. A duty of behaviour is proved
// only by a test at an endpoint: scan.go lists the packages that have one.
//
// Exit code 3 says that a duty has lost its proof against the table there is, and
// that nothing was written: restore a test. Only where the proof was none,
// -lose R7,R9 names the duties that may lose it. With -check nothing is written
// in any case, and 3 also says that the table is not current.
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
	check := fs.Bool("check", false, "write nothing; exit with 3 if the table is not current or a proof is lost")
	lose := fs.String("lose", "", "`list` of duties, as R7,R9, that may lose a proof which was none")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(stderr, "speccheck: unexpected argument %q\n", fs.Arg(0))
		return 2
	}
	text, err := os.ReadFile(filepath.Join(*root, "docs/requirements.md"))
	if err != nil {
		fmt.Fprintln(stderr, "speccheck:", err)
		return 1
	}
	groups, err := parseRequirements(text)
	if err != nil {
		fmt.Fprintln(stderr, "speccheck:", err)
		return 1
	}
	found, err := scan(*root, groups)
	if err != nil {
		fmt.Fprintln(stderr, "speccheck:", err)
		return 1
	}
	table := render(groups, found)
	file := filepath.Join(*root, "docs/conformance.md")
	old, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		fmt.Fprintln(stderr, "speccheck:", err)
		return 1
	}
	may := numbers(*lose, math.MaxInt)
	lost := slices.DeleteFunc(losses(old, table), func(l loss) bool { return slices.Contains(may, l.id) })
	for _, l := range lost {
		fmt.Fprintf(stdout, "R%d was %s by a test and is not any more: restore a test that cites it\n", l.id, l.was)
	}
	switch {
	case len(lost) > 0:
		return 3
	case *check && !bytes.Equal(old, table):
		fmt.Fprintln(stdout, "docs/conformance.md is not current: run go run ./tools/speccheck")
		return 3
	case *check || bytes.Equal(old, table):
		return 0
	}
	if err := os.WriteFile(file, table, 0o666); err != nil {
		fmt.Fprintln(stderr, "speccheck:", err)
		return 1
	}
	fmt.Fprintln(stdout, "docs/conformance.md")
	return 0
}
