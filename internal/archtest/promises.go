package archtest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// packageCell is the first cell of a row of a table, if it has names of packages.
var (
	packageCell = regexp.MustCompile("(?m)^\\| (`[^|]*) \\|")
	codeSpan    = regexp.MustCompile("`([^`]+)`")
)

// promises checks that the tables of a page name every package that other modules can import, and
// no other. A name that ends in "/..." stands for all packages below a folder.
func (c *checker) promises(page string) error {
	text, err := os.ReadFile(filepath.Join(c.root, filepath.FromSlash(page)))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	named := make(map[string]bool) // whether a package was found for it
	for _, cell := range packageCell.FindAllStringSubmatch(string(text), -1) {
		for _, span := range codeSpan.FindAllStringSubmatch(cell[1], -1) {
			named[span[1]] = false
		}
	}
	packages, err := c.importable()
	if err != nil {
		return err
	}
	for _, pkg := range packages {
		name := pkg
		for _, ok := named[name]; !ok; _, ok = named[name] {
			up := path.Dir(strings.TrimSuffix(name, "/..."))
			if up == "." {
				c.report(pkg, 0, "promise", "%s has no row for this package: say whom it is for", page)
				break
			}
			name = up + "/..."
		}
		if _, ok := named[name]; ok {
			named[name] = true
		}
	}
	for _, span := range codeSpan.FindAllStringSubmatch(string(text), -1) {
		if found, ok := named[span[1]]; ok && !found {
			c.report(page, 0, "promise", "%s is not a package that other modules can import: remove it", span[1])
			delete(named, span[1])
		}
	}
	return nil
}

// importable returns the packages that other modules can import, as paths from the module's root.
func (c *checker) importable() (packages []string, err error) {
	err = filepath.WalkDir(c.root, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || dir == c.root {
			return err
		}
		if c.elsewhere(dir, entry.Name()) {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(c.root, dir)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if !isPublic(rel) {
			return filepath.SkipDir
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if !mainPackage.Match(text) {
				packages = append(packages, rel)
			}
			break
		}
		return nil
	})
	return packages, err
}

var mainPackage = regexp.MustCompile(`(?m)^package main$`)
