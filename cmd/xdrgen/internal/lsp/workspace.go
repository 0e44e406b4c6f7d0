package lsp

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// The limits of a search through the client's folders.
const (
	maxFiles   = 5000
	maxEntries = 200_000
)

// search finds the files that a query looks through.
type search struct {
	folders  []string
	open     []string               // paths of the open documents
	document func(text []byte) bool // Config.IsDocument
}

// search returns a search through the client's folders and the open documents, as they are now.
func (s *state) search() search {
	out := search{folders: slices.Clone(s.client.folders), document: s.cfg.IsDocument}
	for path := range s.texts {
		out.open = append(out.open, path)
	}
	slices.Sort(out.open)
	return out
}

// uris returns the function server.uri for the documents as they are now, for a job.
func (s *state) uris() func(path string) documentURI {
	open := map[string]documentURI{}
	for path, d := range s.texts {
		open[path] = d.uri
	}
	return func(path string) documentURI {
		if u, ok := open[path]; ok {
			return u
		}
		return uriOf(path)
	}
}

// files returns the open documents, and then the .x files below the client's folders. It skips
// folders whose name begins with a dot, node_modules and vendor.
func (s search) files(ctx context.Context) []string {
	out := slices.Clone(s.open)
	seen := map[string]bool{}
	for _, path := range out {
		seen[path] = true
	}
	entries := 0
	for _, root := range s.folders {
		// An error of a folder leaves it out.
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			name := filepath.Base(path)
			if entries++; ctx.Err() != nil || entries > maxEntries || len(out) >= maxFiles {
				return filepath.SkipAll
			}
			switch {
			case err != nil:
				return filepath.SkipDir
			case e.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor"):
				return filepath.SkipDir
			case !e.IsDir() && filepath.Ext(name) == ".x" && !seen[path]:
				seen[path] = true
				out = append(out, path)
			}
			return nil
		})
	}
	return out
}

// units returns the files of each unit.
func (s search) units(ctx context.Context, files snapshot) [][]string {
	var out [][]string
	seen := map[string]bool{}
	groups := grouping{files: files, document: s.document}
	for _, path := range s.files(ctx) {
		if ctx.Err() != nil {
			return nil
		}
		roots := groups.unitOf(path)
		if key := strings.Join(roots, "\x00"); roots != nil && !seen[key] {
			seen[key] = true
			out = append(out, roots)
		}
	}
	return out
}
