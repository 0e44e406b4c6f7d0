package archtest

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// CheckDocs reads the pages beside the go.mod at root and below docs. It reports links to files
// that do not exist, pages and decision records that the index of their folder does not list, and
// importable packages about which docs/versions.md says nothing.
// It does not follow links to other hosts.
func CheckDocs(root string) ([]Finding, error) {
	pages, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(file, ".md") {
			pages = append(pages, file)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	c := &checker{root: root}
	if c.modules, err = readModules(root); err != nil {
		return nil, err
	}
	for _, page := range pages {
		if err := c.page(page); err != nil {
			return nil, err
		}
	}
	if err := c.index("docs", "[A-Za-z]*.md", "| [%[1]s](%[1]s) | contents |"); err != nil {
		return nil, err
	}
	if err := c.index("docs/adr", "[0-9]*.md", "| [%[2]s](%[1]s) | the decision |"); err != nil {
		return nil, err
	}
	if err := c.index("docs/adr", "[a-z]*.md", "| the question | [%[1]s](%[1]s) |"); err != nil {
		return nil, err
	}
	if err := c.questions("docs/adr"); err != nil {
		return nil, err
	}
	err = c.promises("docs/versions.md")
	return c.findings, err
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)\s]*)?\)`)

// page checks the links of one page.
func (c *checker) page(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(c.root, file)
	if err != nil {
		return err
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			if strings.Contains(m[1], ":") {
				continue // a link to another host
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), filepath.FromSlash(m[1]))); err != nil {
				c.report(filepath.ToSlash(rel), number, "link", "%s does not exist", m[1])
			}
		}
	}
	return nil
}

// index checks that README.md of a folder lists every page that matches a pattern. row is the
// format of the row to add; it gets the page's name, and the name up to the first hyphen.
func (c *checker) index(folder, pattern, row string) error {
	files, err := filepath.Glob(filepath.Join(c.root, filepath.FromSlash(folder), pattern))
	if err != nil || len(files) == 0 {
		return err
	}
	index := path.Join(folder, "README.md")
	text, err := os.ReadFile(filepath.Join(c.root, filepath.FromSlash(index)))
	if err != nil {
		return err
	}
	for _, file := range files {
		name := filepath.Base(file)
		if name != "README.md" && !strings.Contains(string(text), "]("+name+")") {
			number, _, _ := strings.Cut(name, "-")
			c.report(path.Join(folder, name), 0, "record", "not in %s: add a line %q", index, fmt.Sprintf(row, name, number))
		}
	}
	return nil
}

// indexHeading separates the questions of docs/adr/README.md from its index by number.
const indexHeading = "\n## Index\n"

// questions checks that each decision record of a folder belongs to a question: README.md links to
// it above the index by number, or a page of the folder that has no number does.
func (c *checker) questions(folder string) error {
	at := filepath.Join(c.root, filepath.FromSlash(folder))
	files, err := filepath.Glob(filepath.Join(at, "*.md"))
	if err != nil {
		return err
	}
	var answers strings.Builder
	var records []string
	for _, file := range files {
		name := filepath.Base(file)
		if '0' <= name[0] && name[0] <= '9' {
			records = append(records, name)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		above, _, _ := strings.Cut(string(text), indexHeading)
		answers.WriteString(above)
	}
	for _, name := range records {
		if !strings.Contains(answers.String(), "]("+name+")") {
			c.report(path.Join(folder, name), 0, "question", "neither a question of %s/README.md nor another page there links to this record", folder)
		}
	}
	return nil
}
