// Package workspace lists the modules of this repository that its checks cover: those that go.work
// uses. The benchmarks are another module, which it does not use.
package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Folders returns the folders of the modules that the go.work in root uses, relative to root and
// with slashes. The first is ".", the root module. Without a go.work that is the only one.
func Folders(root string) ([]string, error) {
	file := filepath.Join(root, "go.work")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return []string{"."}, nil
	}
	if err != nil {
		return nil, err
	}
	folders, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	return folders, nil
}

// parse returns the folders of the use directives. Errors begin with the line.
func parse(text string) ([]string, error) {
	var folders []string
	block, number := "", 0 // the directive whose block is open
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case block != "" && words[0] == ")":
			block = ""
			continue
		case block != "":
			words = append([]string{block}, words...)
		case len(words) == 2 && words[1] == "(":
			block = words[0]
			continue
		}
		if words[0] != "use" {
			continue
		}
		folder := strings.Join(words[1:], " ")
		if unquoted, err := strconv.Unquote(folder); err == nil {
			folder = unquoted
		}
		folder = path.Clean(folder)
		if !filepath.IsLocal(filepath.FromSlash(folder)) {
			return nil, fmt.Errorf("%d: use %s: expected a folder below the one with go.work", number, folder)
		}
		folders = append(folders, folder)
	}
	if len(folders) == 0 || folders[0] != "." {
		return nil, fmt.Errorf("%d: found the modules %q, expected the root module first: use .", number, folders)
	}
	return folders, nil
}

// Of returns the folder, one of folders, whose module has a package or file. name is relative to
// the root module's folder, with slashes.
func Of(folders []string, name string) string {
	best := "."
	for _, folder := range folders {
		if (name == folder || strings.HasPrefix(name, folder+"/")) && len(folder) > len(best) {
			best = folder
		}
	}
	return best
}
