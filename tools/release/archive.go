package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"path"
	"slices"
	"strings"
	"time"
)

// file is a file of an archive.
type file struct {
	name string // with slashes
	mode int64  // its permissions
	data []byte
}

// tree is a list of files.
type tree []file

// under returns the files below a folder, sorted.
func (t tree) under(dir string) tree {
	out := make(tree, 0, len(t))
	for _, f := range t {
		out = append(out, file{name: path.Join(dir, f.name), mode: f.mode, data: f.data})
	}
	slices.SortFunc(out, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return out
}

// folders returns the folders of all files, each once, parents first, with a slash at the end.
func (t tree) folders() []string {
	seen := map[string]bool{}
	var out []string
	for _, f := range t {
		for i, c := range f.name {
			if dir := f.name[:i+1]; c == '/' && dir != "./" && !seen[dir] {
				seen[dir] = true
				out = append(out, dir)
			}
		}
	}
	slices.Sort(out)
	return out
}

// tarGz returns a compressed archive, in which all files have one time and owner 0.
func (t tree) tarGz(at time.Time) ([]byte, error) {
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	header := func(h tar.Header) error {
		h.ModTime, h.Uname, h.Gname, h.Format = at, "root", "root", tar.FormatGNU
		return w.WriteHeader(&h)
	}
	for _, dir := range t.folders() {
		if err := header(tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	for _, f := range t {
		if err := header(tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// zip returns the files as a zip archive, with one time.
func (t tree) zip(at time.Time) ([]byte, error) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, f := range t {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		part, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// gzipped returns compressed data without a time.
func gzipped(data []byte) ([]byte, error) {
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// isManual reports whether a file is a manual page.
func isManual(name string) bool { return strings.HasPrefix(name, "share/man/") }
