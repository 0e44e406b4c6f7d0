package main

import (
	"path/filepath"
	"strings"
	"testing"
)

const goodManifest = `# comment
document a.txt   # comment
	version 07
	sha256  ` + zeros + `
	mode    sections
	unit    one
		file one.x 4.3 B.1
	unit    two
		target runtime/two
		file two.x 6
document b.txt
	version 00
	sha256  ` + zeros + `
	mode    none
`

const zeros = "0000000000000000000000000000000000000000000000000000000000000000"

func TestParseManifest(t *testing.T) {
	docs, err := parseManifest("MANIFEST", []byte(goodManifest))
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) != 2 || len(docs[0].units) != 2 || docs[0].version != "07" || docs[1].mode != modeNone {
		t.Fatalf("got %+v", docs)
	}
	one, two := docs[0].units[0], docs[0].units[1]
	if one.target != "gen/one" || two.target != "runtime/two" {
		t.Errorf("targets %q and %q, want gen/one and runtime/two", one.target, two.target)
	}
	if f := one.files[0]; f.name != "one.x" || strings.Join(f.sections, " ") != "4.3 B.1" {
		t.Errorf("got file %+v", f)
	}
}

func TestParseManifestErrors(t *testing.T) {
	block := "document a.txt\nversion 1\nsha256 " + zeros + "\nmode marked\n"
	tests := []struct{ name, text, want string }{
		{"word before a block", "mode none", "M:1: mode: found outside a block, which begins with a document line"},
		{"unknown word", block + "color red", `M:5: "color": unknown word, expected document, version, sha256, mode, unit, target or file`},
		{"no value", "document", "M:1: document: found 0 words after it, expected one"},
		{"two values", block + "unit a b", "M:5: unit: found 2 words after it, expected one"},
		{"document with a path", "document ../a.txt", `M:1: document "../a.txt": expected the name of a file beside the manifest`},
		{"document named errata", "document errata", `M:1: document "errata": expected the name of a file beside the manifest`},
		{"document twice", block + "document a.txt", "M:5: document a.txt: named before at line 1"},
		{"version twice", block + "version 2", "M:5: version: given twice"},
		{"short sum", "document a.txt\nsha256 12", `M:2: sha256 "12": expected 64 lower-case hexadecimal digits, as sha256sum prints them`},
		{"unknown mode", "document a.txt\nmode all", `M:2: mode "all": expected marked, sections or none`},
		{"unit name", block + "unit A-b", `M:5: unit "A-b": expected lower-case letters and digits, a letter first`},
		{"unit twice", block + "unit a\nfile a.x\nunit a", "M:7: unit a: named before at line 5"},
		{"file without unit", block + "file a.x", "M:5: file: found without a unit line above it"},
		{"file without name", block + "unit a\nfile", "M:6: file: found no name after it"},
		{"file without .x", block + "unit a\nfile a.txt", `M:6: file "a.txt": expected a plain name that ends in .x`},
		{"file with a path", block + "unit a\nfile ../a.x", `M:6: file "../a.x": expected a plain name that ends in .x`},
		{"file twice", block + "unit a\nfile a.x\nfile a.x", "M:7: file a.x: named twice in unit a"},
		{"file in two units", block + "unit a\nfile a.x\nunit b\nfile a.x", "M:1: document a.txt: file a.x: is in units a and b; errata cannot distinguish them"},
		{"section number", block + "unit a\nfile a.x four", `M:6: file a.x: found "four", expected a section number such as 4.3, B.1 or table:2.4`},
		{"sections in mode marked", block + "unit a\nfile a.x 4", "M:1: document a.txt: file a.x: mode marked takes no section numbers"},
		{"no sections", strings.Replace(block, "marked", "sections", 1) + "unit a\nfile a.x", "M:1: document a.txt: file a.x: mode sections needs section numbers after the name"},
		{"target outside", block + "unit a\ntarget ../a", `M:6: target "../a": expected a clean path below the module, with forward slashes`},
		{"target absolute", block + "unit a\ntarget /a", `M:6: target "/a": expected a clean path below the module, with forward slashes`},
		{"no version", "document a.txt", "M:1: document a.txt: version is missing"},
		{"no sum", "document a.txt\nversion 1", "M:1: document a.txt: sha256 is missing; `sha256sum` prints it"},
		{"no mode", "document a.txt\nversion 1\nsha256 " + zeros, "M:1: document a.txt: mode is missing, expected marked, sections or none"},
		{"no unit", block, "M:1: document a.txt: mode marked needs a unit; a document without XDR has mode none"},
		{"unit in mode none", strings.Replace(block, "marked", "none", 1) + "unit a\nfile a.x", "M:1: document a.txt: mode none yields no unit, but unit a is named"},
		{"unit without file", block + "unit a", "M:1: document a.txt: unit a: names no file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := parseManifest("M", []byte(tt.text)); err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// FuzzManifest checks that no text panics, and that the blocks of an accepted manifest are complete
// and name no path outside of the module.
func FuzzManifest(f *testing.F) {
	f.Add(goodManifest)
	f.Add("document a.txt\nversion 1\nsha256 " + zeros + "\nmode marked\nunit a\ntarget gen/b\nfile a.x\n")
	f.Fuzz(func(t *testing.T, text string) {
		docs, err := parseManifest("M", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "M:") {
				t.Errorf("error without a line: %v", err)
			}
			return
		}
		for _, d := range docs {
			if d.version == "" || len(d.sha256) != 64 || (d.mode == modeNone) != (len(d.units) == 0) || !filepath.IsLocal(d.name) {
				t.Errorf("document %+v", d)
			}
			for _, u := range d.units {
				if !filepath.IsLocal(u.target) || !filepath.IsLocal(u.name) || len(u.files) == 0 {
					t.Errorf("unit %+v", u)
				}
				for _, file := range u.files {
					if !filepath.IsLocal(file.name) || (d.mode == modeSections) != (len(file.sections) > 0) {
						t.Errorf("file %+v", file)
					}
				}
			}
		}
	})
}
