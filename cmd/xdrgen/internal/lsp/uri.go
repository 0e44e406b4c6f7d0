package lsp

import (
	"net/url"
	"path/filepath"
	"strings"
)

// unsaved is the folder of documents that have no file, such as untitled:Untitled-1.
var unsaved = filepath.FromSlash("/\x00unsaved")

// path returns the absolute path of a document's file. For a document that has no file, it returns
// a path in the folder unsaved.
func (u documentURI) path() string {
	parsed, err := url.Parse(string(u))
	if err != nil || !strings.EqualFold(parsed.Scheme, "file") || parsed.Path == "" || strings.ContainsRune(parsed.Path, 0) {
		return filepath.Join(unsaved, url.PathEscape(string(u))+".x")
	}
	p := parsed.Path
	if filepath.Separator == '\\' {
		switch {
		case parsed.Host != "":
			p = "//" + parsed.Host + p
		case len(p) > 2 && p[2] == ':':
			p = p[1:] // of /c:/folder
		}
	}
	return filepath.Clean(filepath.FromSlash(p))
}

// hasFile reports whether a path can lead to a file.
func hasFile(path string) bool { return filepath.Dir(path) != unsaved }

// uriOf returns the URI of a file with an absolute path.
func uriOf(path string) documentURI {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // c:/folder
	}
	return documentURI((&url.URL{Scheme: "file", Path: p}).String())
}
