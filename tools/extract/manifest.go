package main

import (
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/xdrdoc"
)

// document is one block of the manifest.
type document struct {
	name    string
	version string
	sha256  string
	mode    string
	units   []*unit
	line    int // of its document line
}

// unit becomes one folder of spec/x and one package.
type unit struct {
	name   string
	target string
	files  []unitFile
	line   int
}

// unitFile is a .x file and the sections it is gathered from (mode sections only).
type unitFile struct {
	name     string
	sections []string
}

const (
	modeMarked   = xdrdoc.Marked
	modeSections = xdrdoc.Sections
	modeNone     = "none"
)

var (
	unitName    = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	plainName   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	sectionName = regexp.MustCompile(`^(?:table:)?(?:[0-9]+|[A-Z])(?:\.[0-9]+)*$`)
)

// parseManifest reads a manifest, see doc.go. Its errors begin with name:line.
func parseManifest(name string, text []byte) ([]*document, error) {
	p := manifestParser{units: map[string]int{}, names: map[string]int{}}
	for i, l := range xdrdoc.RawLines(text) {
		l, _, _ = strings.Cut(" "+l, " #")
		words := strings.Fields(l)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if err := p.word(i+1, words[0], words[1:]); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
	}
	for _, d := range p.docs {
		if err := d.complete(); err != nil {
			return nil, fmt.Errorf("%s:%d: document %s: %w", name, d.line, d.name, err)
		}
	}
	return p.docs, nil
}

type manifestParser struct {
	docs         []*document
	units, names map[string]int // line of first use
}

func (p *manifestParser) word(num int, key string, args []string) error {
	if key != "file" && len(args) != 1 {
		return fmt.Errorf("%s: found %d words after it, expected one", key, len(args))
	}
	if key == "document" {
		if !plainName.MatchString(args[0]) || args[0] == "errata" {
			return fmt.Errorf("document %q: expected the name of a file beside the manifest", args[0])
		}
		if first, ok := p.names[args[0]]; ok {
			return fmt.Errorf("document %s: named before at line %d", args[0], first)
		}
		p.names[args[0]] = num
		p.docs = append(p.docs, &document{name: args[0], line: num})
		return nil
	}
	if len(p.docs) == 0 {
		return fmt.Errorf("%s: found outside a block, which begins with a document line", key)
	}
	d := p.docs[len(p.docs)-1]
	switch key {
	case "version":
		return setOnce(key, &d.version, args[0])
	case "sha256":
		if b, err := hex.DecodeString(args[0]); err != nil || len(b) != 32 || strings.ToLower(args[0]) != args[0] {
			return fmt.Errorf("sha256 %q: expected 64 lower-case hexadecimal digits, as sha256sum prints them", args[0])
		}
		return setOnce(key, &d.sha256, args[0])
	case "mode":
		if m := args[0]; m != modeMarked && m != modeSections && m != modeNone {
			return fmt.Errorf("mode %q: expected marked, sections or none", m)
		}
		return setOnce(key, &d.mode, args[0])
	case "unit":
		if !unitName.MatchString(args[0]) {
			return fmt.Errorf("unit %q: expected lower-case letters and digits, a letter first", args[0])
		}
		if first, ok := p.units[args[0]]; ok {
			return fmt.Errorf("unit %s: named before at line %d", args[0], first)
		}
		p.units[args[0]] = num
		d.units = append(d.units, &unit{name: args[0], line: num})
		return nil
	case "target", "file":
	default:
		return fmt.Errorf("%q: unknown word, expected document, version, sha256, mode, unit, target or file", key)
	}
	if len(d.units) == 0 {
		return fmt.Errorf("%s: found without a unit line above it", key)
	}
	u := d.units[len(d.units)-1]
	if key == "target" {
		if path.Clean(args[0]) != args[0] || path.IsAbs(args[0]) || strings.HasPrefix(args[0], "..") || strings.Contains(args[0], `\`) {
			return fmt.Errorf("target %q: expected a clean path below the module, with forward slashes", args[0])
		}
		return setOnce(key, &u.target, args[0])
	}
	return u.add(args)
}

func (u *unit) add(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("file: found no name after it")
	}
	f := unitFile{name: args[0], sections: args[1:]}
	if !plainName.MatchString(f.name) || !strings.HasSuffix(f.name, ".x") {
		return fmt.Errorf("file %q: expected a plain name that ends in .x", f.name)
	}
	for _, g := range u.files {
		if g.name == f.name {
			return fmt.Errorf("file %s: named twice in unit %s", f.name, u.name)
		}
	}
	for _, s := range f.sections {
		if !sectionName.MatchString(s) {
			return fmt.Errorf("file %s: found %q, expected a section number such as 4.3, B.1 or table:2.4", f.name, s)
		}
	}
	u.files = append(u.files, f)
	return nil
}

func setOnce(key string, at *string, value string) error {
	if *at != "" {
		return fmt.Errorf("%s: given twice", key)
	}
	*at = value
	return nil
}

// complete checks a whole block and sets the default target.
func (d *document) complete() error {
	switch {
	case d.version == "":
		return fmt.Errorf("version is missing")
	case d.sha256 == "":
		return fmt.Errorf("sha256 is missing; `sha256sum` prints it")
	case d.mode == "":
		return fmt.Errorf("mode is missing, expected marked, sections or none")
	case d.mode == modeNone && len(d.units) > 0:
		return fmt.Errorf("mode none yields no unit, but unit %s is named", d.units[0].name)
	case d.mode != modeNone && len(d.units) == 0:
		return fmt.Errorf("mode %s needs a unit; a document without XDR has mode none", d.mode)
	}
	seen := map[string]string{}
	for _, u := range d.units {
		if len(u.files) == 0 {
			return fmt.Errorf("unit %s: names no file", u.name)
		}
		if u.target == "" {
			u.target = "gen/" + u.name
		}
		for _, f := range u.files {
			if other, ok := seen[f.name]; ok {
				return fmt.Errorf("file %s: is in units %s and %s; errata cannot distinguish them", f.name, other, u.name)
			}
			seen[f.name] = u.name
			if d.mode == modeSections && len(f.sections) == 0 {
				return fmt.Errorf("file %s: mode sections needs section numbers after the name", f.name)
			}
			if d.mode == modeMarked && len(f.sections) > 0 {
				return fmt.Errorf("file %s: mode marked takes no section numbers", f.name)
			}
		}
	}
	return nil
}
