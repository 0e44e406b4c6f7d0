package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// Finding is a violation of a rule. Line is 0 if it concerns the whole file or package.
type Finding struct {
	Path    string // from the module's root
	Line    int
	Rule    string // such as "row" or "arrow": testdata has a case for each
	Message string
}

func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", f.Path, f.Rule, f.Message)
	}
	return fmt.Sprintf("%s:%d: %s: %s", f.Path, f.Line, f.Rule, f.Message)
}

// Check reads the module at root, and the further modules that go.work uses, and returns all
// violations, sorted by file and line. It returns an error for a file that it cannot read or parse.
func Check(root string, table []Row) ([]Finding, error) {
	c, err := newChecker(root, table)
	if err != nil {
		return nil, err
	}
	c.goMods()
	if err := filepath.WalkDir(root, c.visit); err != nil {
		return nil, err
	}
	sort.SliceStable(c.findings, func(i, j int) bool {
		a, b := c.findings[i], c.findings[j]
		if a.Path != b.Path {
			return a.Path < b.Path
		}
		return a.Line < b.Line
	})
	return c.findings, nil
}

type checker struct {
	root        string
	module      string    // path of the root module
	modules     []*module // the root module is the first
	table       []Row
	fset        *token.FileSet
	large, over map[string]Size // types over the limits, by package and name: allowed, and found
	oneWord     map[string]int  // tests with names of one word, by package: allowed
	findings    []Finding
}

func newChecker(root string, table []Row) (*checker, error) {
	c := &checker{root: root, table: table, fset: token.NewFileSet(), large: Large(), over: make(map[string]Size), oneWord: OneWord()}
	var err error
	if c.modules, err = readModules(root); err != nil {
		return nil, err
	}
	c.module = c.modules[0].path
	return c, nil
}

func (c *checker) report(path string, line int, rule, format string, args ...any) {
	c.findings = append(c.findings, Finding{path, line, rule, fmt.Sprintf(format, args...)})
}

// visit checks a folder of the walk as a package.
func (c *checker) visit(dir string, entry fs.DirEntry, err error) error {
	if err != nil || !entry.IsDir() {
		return err
	}
	if dir != c.root && c.elsewhere(dir, entry.Name()) {
		return filepath.SkipDir
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		return err
	}
	rel, err := filepath.Rel(c.root, dir)
	if err != nil {
		return err
	}
	return c.pkg(filepath.ToSlash(rel), files)
}

// elsewhere reports whether a folder has no packages of the modules: the go command does not look
// into it, or it is a module that go.work does not use.
func (c *checker) elsewhere(dir, name string) bool {
	if skipped(name) {
		return true
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return false
	}
	rel, err := filepath.Rel(c.root, dir)
	return err != nil || c.moduleOf(filepath.ToSlash(rel)).folder != filepath.ToSlash(rel)
}

// pkg checks the package at name, a path from the module's root.
func (c *checker) pkg(name string, files []string) error {
	row := find(c.table, name)
	if row == nil {
		c.report(name, 0, "row", "no row of internal/archtest/table.go matches this package: add one with the imports that it may have")
	}
	documented, onlyTests, types := false, true, make(sizes)
	var tests names
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel := path.Join(name, filepath.Base(file))
		isTest := strings.HasSuffix(file, "_test.go")
		public := isPublic(name) && !isTest
		measured := !isTest && !generated.Match(beforePackage(text))
		mode := parser.ImportsOnly
		if public || measured || row != nil && row.Sequential {
			mode = parser.SkipObjectResolution
		}
		syntax, err := parser.ParseFile(c.fset, rel, text, mode|parser.ParseComments)
		if err != nil {
			return err
		}
		onlyTests = onlyTests && isTest
		documented = documented || !isTest && describes(syntax)
		c.lines(rel, text, isTest)
		if isTest && !generated.Match(beforePackage(text)) {
			tests.add(text)
		}
		if row != nil {
			c.imports(name, rel, syntax, row, isTest)
		}
		if row != nil && row.Sequential {
			c.sequential(rel, syntax)
		}
		if public {
			c.exported(rel, syntax)
		}
		if measured {
			types.measure(c.fset, rel, syntax)
		}
	}
	c.size(name, types)
	c.testNames(name, tests)
	if !documented && !onlyTests {
		c.report(name, 0, "comment", "no package comment: describe the package in doc.go (\"Package %s ...\")", path.Base(name))
	}
	return nil
}

// describes reports whether the file has a package comment that begins as usual.
func describes(f *ast.File) bool {
	text := f.Doc.Text()
	return strings.HasPrefix(text, "Package "+f.Name.Name+" ") || f.Name.Name == "main" && text != ""
}

var (
	generated    = regexp.MustCompile(`(?m)^// Code generated .*DO NOT EDIT\.$`)
	standardLine = regexp.MustCompile(`^// Code generated by xdrgen from \S.*\. DO NOT EDIT\.$`)
	sumLine      = regexp.MustCompile(`^//.*\bsha256\b.*\b[0-9a-f]{64}\b`)
)

// lines checks the length of a hand-written file, or the header of a generated one.
func (c *checker) lines(file string, text []byte, isTest bool) {
	if strings.HasSuffix(file, "_xdr.go") || generated.Match(beforePackage(text)) {
		c.header(file, text)
		return
	}
	limit := maxLines
	if isTest {
		limit = maxTestLines
	}
	if n := bytes.Count(text, []byte("\n")); n > limit {
		c.report(file, 0, "length", "found %d lines, expected at most %d: split the file by topic", n, limit)
	}
}

func beforePackage(text []byte) []byte {
	if i := bytes.Index(text, []byte("\npackage ")); i >= 0 {
		return text[:i+1]
	}
	return nil
}

func (c *checker) header(file string, text []byte) {
	lines := strings.SplitN(string(text), "\n", 3)
	if !standardLine.MatchString(lines[0]) {
		c.report(file, 1, "header", "found first line %s, expected \"// Code generated by xdrgen from SOURCE. DO NOT EDIT.\": regenerate the file, or rename it if it is hand-written", strconv.Quote(lines[0]))
		return
	}
	if len(lines) < 2 || !sumLine.MatchString(lines[1]) {
		c.report(file, 2, "header", "the second line has no sha256 of the source: regenerate the file")
	}
}

// imports checks each import of the file against the row.
func (c *checker) imports(pkg, file string, syntax *ast.File, row *Row, isTest bool) {
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // impossible: the parser accepted it
		}
		line := c.fset.Position(spec.Pos()).Line
		if imported == "C" && asanOnly(syntax) {
			continue
		}
		rule, problem := c.importProblem(pkg, path.Base(file), imported, row, isTest)
		if rule != "" {
			c.report(file, line, rule, "import %q: %s", imported, problem)
		}
	}
}

// asanOnly reports whether a file is built with -asan only, which needs a C compiler anyway.
func asanOnly(syntax *ast.File) bool {
	for _, group := range syntax.Comments {
		for _, comment := range group.List {
			expr, err := constraint.Parse(comment.Text)
			if err != nil || comment.Pos() > syntax.Package {
				continue
			}
			without := func(others bool) bool {
				return expr.Eval(func(tag string) bool { return tag != "asan" && others })
			}
			return !without(true) && !without(false)
		}
	}
	return false
}

// importProblem returns the rule that the import breaks and a message, or "".
func (c *checker) importProblem(pkg, file, imported string, row *Row, isTest bool) (rule, problem string) {
	switch {
	case imported == "C":
		return "cgo", "the module builds without a C compiler"
	case imported == "unsafe":
		if anyOf(row.Unsafe, func(p string) bool { ok, _ := path.Match(p, file); return ok }) {
			return "", ""
		}
		return "unsafe", "not a file that row " + strconv.Quote(row.Package) + " lists for it"
	case within(c.module, imported):
		target := strings.TrimPrefix(strings.TrimPrefix(imported, c.module), "/")
		if rule, problem := c.betweenModules(pkg, target, isTest); rule != "" {
			return rule, problem
		}
		if isTest || row.allows(pkg, target) {
			return "", ""
		}
		return "arrow", fmt.Sprintf("row %q allows imports of %s: reverse the dependency, or change the row with an ADR", row.Package, list(row.Imports))
	case strings.Contains(strings.SplitN(imported, "/", 2)[0], "."):
		inside := func(p string) bool { return within(p, imported) }
		if anyOf(row.Outside, inside) || isTest && anyOf(testOutside, inside) {
			return "", ""
		}
		return "outside", fmt.Sprintf("row %q allows imports of %s from other modules: a new dependency needs an ADR", row.Package, list(row.Outside))
	case !isTest && anyOf(row.Deny, func(p string) bool { return within(p, imported) }):
		return "deny", fmt.Sprintf("row %q denies it", row.Package)
	}
	return "", ""
}

func list(patterns []string) string {
	if len(patterns) == 0 {
		return "nothing"
	}
	return strings.Join(patterns, ", ")
}
