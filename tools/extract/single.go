package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// single extracts the XDR of one document without manifest and errata.
func (o *options) single() int {
	raw, err := os.ReadFile(o.doc)
	if err != nil {
		fmt.Fprintf(o.stderr, "extract: %v\n", err)
		return exitFailed
	}
	parts, found, err := extractSingle(raw, o.mode, o.section)
	for _, n := range found.notes() {
		fmt.Fprintf(o.stderr, "extract: %s: %s\n", o.doc, n)
	}
	if err != nil {
		fmt.Fprintf(o.stderr, "extract: %s: %v\n", o.doc, err)
		return exitFailed
	}
	if o.out == "-" && len(parts) > 1 && parts[0].alone {
		var names []string
		for _, p := range parts {
			names = append(names, p.name)
		}
		fmt.Fprintf(o.stderr, "extract: %s: the document divides its XDR into the files %s, which do not compile as one: use -o DIR\n",
			o.doc, strings.Join(names, ", "))
	}
	base := filepath.Base(o.doc)
	rest := strings.TrimSuffix(base, filepath.Ext(base)) + ".x"
	for i, p := range parts {
		if o.out == "-" {
			_, err = o.stdout.Write(text(p.own(i)))
		} else {
			if p.name == "" {
				p.name = rest
			}
			path := filepath.Join(o.out, p.name)
			if err = (output{path, text(p.lines)}).write(); err == nil {
				err = output{path + ".origin", originMap(base, p.lines)}.write()
			}
			fmt.Fprintln(o.stdout, path)
		}
		if err != nil {
			fmt.Fprintf(o.stderr, "extract: %v\n", err)
			return exitFailed
		}
	}
	if len(found.lost) > 0 {
		return exitFindings
	}
	return exitOK
}

// singleFindings holds findings about a document that was extracted.
type singleFindings struct {
	lost     []unclosed // definitions that were not taken
	repeated int        // number of repeated definitions that were left out
}

func (f singleFindings) notes() []string {
	var out []string
	for _, b := range f.lost {
		out = append(out, b.note())
	}
	if f.repeated > 0 {
		out = append(out, fmt.Sprintf("left out %d definitions that repeat an earlier one word for word", f.repeated))
	}
	return out
}

// extractSingle extracts a document that no manifest describes. It returns an error if there is no
// XDR.
func extractSingle(doc []byte, mode, sections string) (parts []part, found singleFindings, err error) {
	if strings.HasPrefix(string(doc), "\xff\xfe") || strings.HasPrefix(string(doc), "\xfe\xff") {
		return nil, found, fmt.Errorf("the document is encoded in UTF-16, expected UTF-8: convert it")
	}
	lines := documentLines(doc)
	all := marked(lines)
	if mode == "" && len(all) > 0 {
		mode = modeMarked
	}
	if mode == modeMarked {
		if len(all) == 0 {
			return nil, found, fmt.Errorf("found no line that begins with ///, which -mode marked needs; try -mode sections")
		}
		return split(all), found, nil
	}
	r := &blockReader{lines: lines, cut: pageBreaks(lines), seen: map[string]int{}}
	for i, other := range otherCode(rawLines(doc)) {
		r.cut[i] = r.cut[i] || other
	}
	var taken []line
	if sections == "" {
		taken, found.lost = r.read(span{0, len(lines)})
	} else if taken, _, found.lost, err = r.sections(strings.Split(sections, ",")); err != nil {
		return nil, found, err
	}
	found.repeated = r.repeated
	if len(taken) == 0 {
		return nil, found, fmt.Errorf("found no XDR: no line begins with /// and none begins a definition")
	}
	return []part{{lines: taken}}, found, nil
}
