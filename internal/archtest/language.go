package archtest

import (
	"go/ast"
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
	"unicode/utf8"
)

const (
	maxComment  = 100 // columns of a line with a comment; a tab takes tabWidth
	maxMarkdown = 120 // columns of a line of prose, link targets aside
	tabWidth    = 4
)

// CheckLanguage reads the comments and strings of hand-written Go files and the
// Markdown pages below root, nested modules included. It returns each match of
// the wordings (rule "wording" or "accent") and each line that is too wide (rule
// "width"), in the order of places. The test allows a number of each per package
// and page.
func CheckLanguage(root string, wordings []Wording) ([]Finding, error) {
	l := &language{checker: checker{root: root, fset: token.NewFileSet()}, wordings: wordings}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file != root && skipped(entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		return l.file(file)
	})
	sort.SliceStable(l.findings, func(i, j int) bool {
		a, b := l.findings[i], l.findings[j]
		return a.Path < b.Path || a.Path == b.Path && a.Line < b.Line
	})
	return l.findings, err
}

// skipped reports whether a folder holds no files of this check.
func skipped(folder string) bool {
	return folder == "testdata" || folder == "vendor" || strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_")
}

// Place returns what a finding counts for: the folder of a Go file, or a page.
func (f Finding) Place() string {
	if strings.HasSuffix(f.Path, ".go") {
		return path.Dir(f.Path)
	}
	return f.Path
}

type language struct {
	checker
	wordings []Wording
}

func (l *language) file(file string) error {
	isGo := strings.HasSuffix(file, ".go")
	if !isGo && !strings.HasSuffix(file, ".md") {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(l.root, file)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	switch {
	case !isGo:
		l.markdown(rel, string(text))
	case strings.HasSuffix(file, "_xdr.go") || generated.Match(beforePackage(text)):
	default:
		return l.source(rel, text)
	}
	return nil
}

// source checks the comments and strings of a Go file.
func (l *language) source(file string, text []byte) error {
	syntax, err := parser.ParseFile(l.fset, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	for _, group := range syntax.Comments {
		var plain []string
		first := l.fset.Position(group.Pos()).Line
		last := l.fset.Position(group.End()).Line
		for _, comment := range group.List {
			for line := range strings.SplitSeq(comment.Text, "\n") {
				plain = append(plain, strings.TrimLeft(strings.TrimPrefix(line, "//"), " \t"))
			}
		}
		l.prose(file, first, strings.Join(plain, "\n"))
		for n := first; n <= last && !output.MatchString(lines[n-1]); n++ {
			l.comment(file, n, lines[n-1])
		}
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if value, err := strconv.Unquote(lit.Value); err == nil {
				first := l.fset.Position(lit.Pos()).Line
				if lit.Value[0] != '`' {
					value = strings.ReplaceAll(value, "\n", " ") // stays on its line
				}
				l.prose(file, first, value)
			}
		}
		return true
	})
	return nil
}

// output matches the first line of an example's output, whose lines cannot be broken.
var output = regexp.MustCompile(`^\s*//\s*(?i:(unordered )?output:)`)

// comment checks the width of a line with a comment. Directives and words that
// cannot be broken, such as addresses, may be wider.
func (l *language) comment(file string, number int, line string) {
	_, text, ok := strings.Cut(line, "//")
	if !ok {
		text = line
	}
	if strings.HasPrefix(text, "go:") || !strings.Contains(strings.TrimSpace(text), " ") {
		return
	}
	if n := columns(line); n > maxComment {
		l.report(file, number, "width", "a comment reaches column %d, at most %d: break the line, or put the comment above the code", n, maxComment)
	}
}

func columns(line string) int {
	return utf8.RuneCountInString(line) + (tabWidth-1)*strings.Count(line, "\t")
}

var (
	target     = regexp.MustCompile(`\]\([^)\s]*\)`)
	inlineCode = regexp.MustCompile("`[^`\n]*`")
)

// markdown checks a page, but not its code, and the width of all but tables.
func (l *language) markdown(file, text string) {
	lines := strings.Split(text, "\n")
	fenced, block, blankBefore := false, false, true
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		isBlank := strings.TrimSpace(line) == ""
		block = strings.HasPrefix(line, "    ") && (block || blankBefore) || isBlank && block
		fenced = fenced != fence
		blankBefore = isBlank
		if fenced || fence || block {
			lines[i] = ""
			continue
		}
		lines[i] = inlineCode.ReplaceAllString(target.ReplaceAllString(line, "]"), "``")
		if n := utf8.RuneCountInString(target.ReplaceAllString(line, "]")); n > maxMarkdown && !strings.HasPrefix(strings.TrimSpace(line), "|") {
			l.report(file, i+1, "width", "%d columns, at most %d except in link targets, tables and code: break the line", n, maxMarkdown)
		}
	}
	l.prose(file, 1, strings.Join(lines, "\n"))
}

// prose reports the matches of the wordings in a text that begins at a line.
func (l *language) prose(file string, first int, text string) {
	lower := strings.ToLower(text)
	for _, w := range l.wordings {
		if !w.possible(lower) {
			continue
		}
		for _, at := range w.match.FindAllStringIndex(text, -1) {
			found := text[at[0]:at[1]]
			if w.except != nil && w.except.MatchString(found) {
				continue
			}
			line := first + strings.Count(text[:at[0]], "\n")
			l.report(file, line, w.rule, "%q: write %s", strings.Join(strings.Fields(found), " "), w.instead)
		}
	}
}
