package main

import (
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
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
			found := fixable(r.Diags, f)
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

// fixable returns the findings in a file that have a fix, in order of position. Of findings
// whose edits overlap, it returns the first.
func fixable(ds []diag.Diagnostic, f *source.File) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, d := range ds {
		if len(d.Fix) > 0 && d.Fix[0].Span.File == f {
			out = append(out, d)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Fix[0].Span.Start < out[j].Fix[0].Span.Start })
	kept, end := out[:0], -1
	for _, d := range out {
		if first := d.Fix[0].Span; first.Start > end {
			kept = append(kept, d)
			end = d.Fix[len(d.Fix)-1].Span.End
		}
	}
	return kept
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
	for len(ds) > 0 {
		line, n := ds[0].Span.Position().Line, 1
		for n < len(ds) && ds[n].Span.Position().Line == line {
			n++
		}
		proposeErratum(w, f, line, ds[:n])
		ds = ds[n:]
	}
}

func proposeErratum(w io.Writer, f *source.File, line int, ds []diag.Diagnostic) {
	whole := strings.Split(string(apply(f, ds)), "\n")
	last := line // last line that changes
	for _, d := range ds {
		last = max(last, d.Fix[len(d.Fix)-1].Span.EndPosition().Line)
	}
	added := whole[line-1 : last+len(whole)-lines(f)]
	from := line
	for from > 1 && !once(f, from, last) {
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
	for _, l := range added {
		fmt.Fprintf(w, "+%s\n", strings.TrimSuffix(l, "\r"))
	}
}

func lines(f *source.File) int { return strings.Count(string(f.Text), "\n") + 1 }

// once reports whether lines from to last occur in the file exactly once.
func once(f *source.File, from, last int) bool {
	var b strings.Builder
	for n := from; n <= last; n++ {
		b.WriteString("\n" + f.Line(n))
	}
	return strings.Count("\n"+string(f.Text)+"\n", b.String()+"\n") == 1
}
