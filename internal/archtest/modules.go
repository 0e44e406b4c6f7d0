package archtest

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/workspace"
)

// module is one of the modules that go.work uses, as its go.mod describes it.
type module struct {
	folder   string // from the root module's folder
	path     string
	language string            // of the line "go"
	requires map[string]string // versions by module path
	replaces bool
}

var (
	moduleLine  = regexp.MustCompile(`(?m)^module\s+(\S+)`)
	goLine      = regexp.MustCompile(`(?m)^go\s+(\S+)`)
	requireLine = regexp.MustCompile(`(?m)^(?:require)?\s+([\w.-]+\.[\w.-]+/\S+)\s+(v\S+)`)
	replaceLine = regexp.MustCompile(`(?m)^replace\b`)
)

// readModules reads the go.mod files of the modules that go.work uses. The root module comes first.
func readModules(root string) ([]*module, error) {
	folders, err := workspace.Folders(root)
	if err != nil {
		return nil, err
	}
	var all []*module
	for _, folder := range folders {
		file := filepath.Join(root, filepath.FromSlash(folder), "go.mod")
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name := moduleLine.FindSubmatch(text)
		if name == nil {
			return nil, fmt.Errorf("%s: no module line", file)
		}
		m := &module{folder: folder, path: string(name[1]), requires: make(map[string]string), replaces: replaceLine.Match(text)}
		if line := goLine.FindSubmatch(text); line != nil {
			m.language = string(line[1])
		}
		for _, line := range requireLine.FindAllSubmatch(text, -1) {
			m.requires[string(line[1])] = string(line[2])
		}
		all = append(all, m)
	}
	return all, nil
}

// moduleOf returns the module that a package or file belongs to.
func (c *checker) moduleOf(name string) *module {
	var folders []string
	for _, m := range c.modules {
		folders = append(folders, m.folder)
	}
	return c.modules[slices.Index(folders, workspace.Of(folders, name))]
}

// goMods checks the go.mod files of the modules in folders: each has the path of its folder, the
// language version of the root module and the versions that it requires, and no replace line, which
// go install PACKAGE@VERSION refuses.
func (c *checker) goMods() {
	top := c.modules[0]
	for _, m := range c.modules[1:] {
		file := path.Join(m.folder, "go.mod")
		if want := path.Join(top.path, m.folder); m.path != want {
			c.report(file, 0, "gomod", "found module %s, expected %s", m.path, want)
		}
		if m.language != top.language {
			c.report(file, 0, "gomod", "found go %s, expected %s, as in the root module", m.language, top.language)
		}
		if m.replaces {
			c.report(file, 0, "gomod", "found a replace line: go install refuses modules that have one; put it into go.work")
		}
		for name, version := range m.requires {
			if want := top.requires[name]; want != "" && version != want {
				c.report(file, 0, "gomod", "requires %s %s, expected %s, as in the root module", name, version, want)
			}
		}
	}
}

// betweenModules checks an import of a package in another module of the workspace, where the go
// command would not: it reports a module that go.mod does not require, and an internal package that
// is not shared.
func (c *checker) betweenModules(pkg, imported string, isTest bool) (rule, problem string) {
	from, to := c.moduleOf(pkg), c.moduleOf(imported)
	switch shared := slices.Contains(sharedInternals, imported) || (isTest || strings.HasPrefix(from.folder, "test/")) && slices.Contains(sharedTestInternals, imported); {
	case from == to:
		return "", ""
	case from.requires[to.path] == "":
		return "module", fmt.Sprintf("%s does not require module %s, so it would not build without go.work: move the importing package there", path.Join(from.folder, "go.mod"), to.path)
	case !isPublic(imported) && !shared:
		return "shared", fmt.Sprintf("not one of the internal packages that other modules may import, which are %s, and for tests %s", list(sharedInternals), strings.Join(sharedTestInternals, ", "))
	}
	return "", ""
}
