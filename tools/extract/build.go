package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

// docResult holds the results for a document of the manifest.
type docResult struct {
	doc    *document
	lines  int // of the document
	marked int // lines with the marker, in any mode
	units  []*unitResult
	notes  []string // for the user to check; not findings
}

// unitResult holds the results of one unit.
type unitResult struct {
	unit   *unit
	looked int // lines with the marker, or lines of the sections looked through
	files  []*fileResult
}

// fileResult is one .x file.
type fileResult struct {
	name   string
	taken  []xdrdoc.Line // as extracted
	lines  []xdrdoc.Line // with errata
	errata []*erratum
}

// checksumError reports a document whose checksum is not the one in the manifest.
type checksumError struct {
	file, manifest string
	line           int // of the document's block
	want, have     string
}

func (e *checksumError) Error() string { return e.file + ": " + e.message() + "; " + e.help() }

func (e *checksumError) message() string {
	return fmt.Sprintf("its sha256 is %s, but %s:%d names %s", e.have, e.manifest, e.line, e.want)
}

func (e *checksumError) help() string {
	return "restore the document if the change was an accident; for a new revision, review its errata and enter the new sum in the manifest"
}

// build extracts all documents of the manifest. It returns the results that it could make, and the
// errors, joined.
func build(manifest, specDir string) ([]*docResult, error) {
	raw, err := os.ReadFile(manifest)
	if err != nil {
		return nil, err
	}
	docs, err := parseManifest(manifest, raw)
	if err != nil {
		return nil, err
	}
	var results []*docResult
	errs := strayErrata(specDir, docs)
	for _, d := range docs {
		r, err := buildDocument(manifest, specDir, d)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		results = append(results, r)
	}
	return results, errors.Join(errs...)
}

// strayErrata returns an error for each errata file that would not be applied because it belongs to
// no document with XDR.
func strayErrata(specDir string, docs []*document) []error {
	dir := filepath.Join(specDir, "errata")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []error{err}
	}
	var errs []error
	for _, e := range entries {
		if !slices.ContainsFunc(docs, func(d *document) bool { return d.name == e.Name() && d.mode != modeNone }) {
			errs = append(errs, fmt.Errorf("%s: no document of the manifest with XDR has this name; expected errata to have the name of their document", filepath.Join(dir, e.Name())))
		}
	}
	return errs
}

func buildDocument(manifest, specDir string, d *document) (*docResult, error) {
	name := filepath.Join(specDir, d.name)
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("document %s of %s:%d: %w", d.name, manifest, d.line, err)
	}
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != d.sha256 {
		return nil, &checksumError{name, manifest, d.line, d.sha256, hex.EncodeToString(sum[:])}
	}
	errataName := filepath.Join(specDir, "errata", d.name)
	errataText, err := os.ReadFile(errataName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	errata, err := parseErrata(errataName, errataText)
	if err != nil {
		return nil, err
	}
	r, err := extractDocument(d, xdrdoc.Lines(raw))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := r.correct(errata); err != nil {
		return nil, fmt.Errorf("%s: %w", errataName, err)
	}
	return r, nil
}

// extractDocument takes the XDR of one document, before errata.
func extractDocument(d *document, lines []string) (*docResult, error) {
	r := &docResult{doc: d, lines: len(lines)}
	all := xdrdoc.MarkedLines(lines)
	r.marked = len(all)
	switch d.mode {
	case modeNone:
		if len(all) > 0 {
			return nil, fmt.Errorf("mode none, but %d lines begin with ///, the first at line %d; use mode marked", len(all), all[0].Num)
		}
	case modeMarked:
		return r, r.fromMarked(all)
	case modeSections:
		return r, r.fromSections(lines)
	}
	return r, nil
}

func (r *docResult) fromMarked(all []xdrdoc.Line) error {
	if len(all) == 0 {
		return errors.New("mode marked, but no line begins with ///; use mode sections or none")
	}
	var names []string
	for _, u := range r.doc.units {
		for _, f := range u.files {
			names = append(names, f.name)
		}
	}
	all = xdrdoc.RevealPieces(all)
	all, marks := xdrdoc.TakeMarks(all)
	for _, m := range marks {
		r.notes = append(r.notes, m.Note())
	}
	parts, err := xdrdoc.Assign(xdrdoc.Split(all), names)
	if err != nil {
		return err
	}
	for _, u := range r.doc.units {
		ur := &unitResult{unit: u}
		for _, f := range u.files {
			ur.looked += len(parts[0].Lines)
			ur.files = append(ur.files, &fileResult{name: f.name, taken: parts[0].Lines})
			parts = parts[1:]
		}
		r.units = append(r.units, ur)
	}
	return nil
}

func (r *docResult) fromSections(lines []string) error {
	for _, u := range r.doc.units {
		ur := &unitResult{unit: u}
		for _, f := range u.files {
			taken, looked, lost, err := xdrdoc.ReadSections(lines, f.sections)
			if err != nil {
				return fmt.Errorf("file %s: %w", f.name, err)
			}
			ur.looked += looked
			for _, b := range lost {
				r.notes = append(r.notes, b.Note())
			}
			ur.files = append(ur.files, &fileResult{name: f.name, taken: taken})
		}
		r.units = append(r.units, ur)
	}
	return nil
}

// correct applies the errata of the document to its files.
func (r *docResult) correct(errata []*erratum) error {
	known := map[string]bool{}
	for _, u := range r.units {
		for _, f := range u.files {
			known[f.name] = true
			for _, e := range errata {
				if e.file == f.name {
					f.errata = append(f.errata, e)
				}
			}
			var err error
			if f.lines, err = apply(f.taken, f.errata); err != nil {
				return err
			}
		}
	}
	for _, e := range errata {
		if !known[e.file] {
			return fmt.Errorf("line %d: erratum %s: the document yields no file %q", e.line, e.id, e.file)
		}
	}
	return nil
}
