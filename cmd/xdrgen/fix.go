package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// maxFixRounds limits how often a unit is compiled again. A fix can uncover faults that
// the parser could not see before.
const maxFixRounds = 20

// fix applies the fixes of all findings that have exactly one, in the files of the command
// line, and lists them on log. A file that was extracted from a document is not changed,
// because the document does not change and each deviation from it is reviewed; for it,
// fix proposes errata on log.
func (c *checkCmd) fix(log io.Writer, o sema.Options) error {
	o.Every = true
	proposed := map[string]bool{}
	for range maxFixRounds {
		r, err := sema.Compile(o)
		if err != nil {
			return err
		}
		changed := false
		for _, f := range r.Files {
			if !c.given(f) {
				continue
			}
			found := diag.Fixable(r.Diags, f)
			switch {
			case len(found) == 0:
			case f.Origin != nil && !proposed[f.Name]:
				proposed[f.Name] = true
				proposeErrata(log, f, found)
			case f.Origin == nil:
				if _, err := writeFile(filepath.FromSlash(f.Name), apply(f, found)); err != nil {
					return err
				}
				changed = true
				for _, d := range found {
					p := d.Span.Position()
					info := d.Rule.Info()
					fmt.Fprintf(log, "%s:%d:%d: fixed: %s %s: %s\n", f.Name, p.Line, p.Column, info.Code, info.Name, d.Message)
				}
			}
		}
		if !changed {
			return nil
		}
	}
	return nil
}

// given reports whether a file is on the command line.
func (c *checkCmd) given(f *source.File) bool {
	for _, name := range c.Files {
		if filepath.ToSlash(name) == f.Name {
			return true
		}
	}
	return false
}

// apply returns the text of a file after the edits of the findings.
func apply(f *source.File, ds []diag.Diagnostic) []byte {
	var edits []diag.Edit
	for _, d := range ds {
		edits = append(edits, d.Fix...)
	}
	return diag.Apply(f, edits)
}

// proposeErrata prints an erratum for each line with findings, in the form that
// tools/extract reads.
func proposeErrata(w io.Writer, f *source.File, ds []diag.Diagnostic) {
	place, _ := ds[0].Span.Origin()
	fmt.Fprintf(w, "# Errata for %s, which was extracted from %s. Review them, and complete section and reason.\n", f.Base(), place.Document)
	r := newRepeats(f)
	for len(ds) > 0 {
		line, n := ds[0].Span.Position().Line, 1
		for n < len(ds) && ds[n].Span.Position().Line == line {
			n++
		}
		proposeErratum(w, f, r, line, ds[:n])
		ds = ds[n:]
	}
}

func proposeErratum(w io.Writer, f *source.File, r *repeats, line int, ds []diag.Diagnostic) {
	last := line // last line that changes
	for _, d := range ds {
		last = max(last, d.Fix[len(d.Fix)-1].Span.EndPosition().Line)
	}
	from := line
	for from > 1 && !r.once(from, last) {
		from--
	}
	info := ds[0].Rule.Info()
	fmt.Fprintf(w, "\nerratum %s-%d\nfile    %s\nsection ?\n", info.Name, line, f.Base())
	fmt.Fprintf(w, "reason  %s: %s.\n@@\n", strings.TrimSpace(info.Section+" "+info.Name), ds[0].Message)
	for n := from; n < line; n++ {
		fmt.Fprintf(w, " %s\n", f.Line(n))
	}
	for n := line; n <= last; n++ {
		fmt.Fprintf(w, "-%s\n", f.Line(n))
	}
	for _, l := range strings.Split(string(applyTo(f, line, last, ds)), "\n") {
		fmt.Fprintf(w, "+%s\n", strings.TrimSuffix(l, "\r"))
	}
}

// applyTo returns lines from to last of a file with the edits of findings. All edits are in these
// lines.
func applyTo(f *source.File, from, last int, ds []diag.Diagnostic) []byte {
	begin, end := f.LineSpan(from).Start, f.LineSpan(last).End
	part := source.NewFile("", f.Text[begin:end])
	var edits []diag.Edit
	for _, d := range ds {
		for _, e := range d.Fix {
			if e.Span.File == f {
				edits = append(edits, diag.Edit{Span: source.Span{File: part, Start: e.Span.Start - begin, End: min(e.Span.End, end) - begin}, Text: e.Text})
			}
		}
	}
	return diag.Apply(part, edits)
}

// repeats finds which runs of lines a file has more than once.
type repeats struct {
	// runs has, by the number of lines less one and by the last line, the name of the run
	// that ends there: equal runs have one name. It is made as far as it is needed.
	runs  [][]int
	count []map[int]int // of the runs, by name
}

func newRepeats(f *source.File) *repeats {
	lines := strings.Split(string(f.Text), "\n")
	names := map[string]int{}
	first := make([]int, len(lines)+1) // lines count from 1
	for i, l := range lines {
		l = strings.TrimSuffix(l, "\r")
		if _, ok := names[l]; !ok {
			names[l] = len(names)
		}
		first[i+1] = names[l]
	}
	r := &repeats{}
	r.add(first, 1)
	return r
}

// add adds the runs of one more line, which begin with line first and end there or later.
func (r *repeats) add(runs []int, first int) {
	count := map[int]int{}
	for _, name := range runs[min(first, len(runs)):] {
		count[name]++
	}
	r.runs, r.count = append(r.runs, runs), append(r.count, count)
}

// once reports whether the file has lines from to last once only.
func (r *repeats) once(from, last int) bool {
	for n := len(r.runs); n <= last-from; n++ {
		names := map[[2]int]int{}
		runs := make([]int, len(r.runs[0]))
		for i := n + 1; i < len(runs); i++ {
			key := [2]int{r.runs[n-1][i], r.runs[0][i-n]}
			if _, ok := names[key]; !ok {
				names[key] = len(names)
			}
			runs[i] = names[key]
		}
		r.add(runs, n+1)
	}
	n := last - from
	return r.count[n][r.runs[n][last]] == 1
}
