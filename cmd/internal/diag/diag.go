// Package diag declares the findings of the compiler as values: a rule from a table, a place,
// related places with labels, notes and help. It also writes them, as text for people and in
// forms for programs. A stage of the compiler that finds a fault returns a Diagnostic and
// continues. Only the commands print.
package diag

import (
	"fmt"
	"sort"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// Severity is the severity of a finding.
type Severity int

// The severities. A Warning is a fault with only one possible meaning. An Error is a fault with
// no meaning or with several.
const (
	Warning Severity = iota + 1
	Error
)

// String returns "warning" or "error".
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Diagnostic is one finding.
type Diagnostic struct {
	Rule     Rule
	Own      *Info // the rule if it is in a table of another package; then Rule is not used
	Severity Severity
	Span     source.Span // not valid if the finding is not about one place
	Message  string      // the fault, in lower case, without a full stop
	Related  []Related
	Notes    []string
	Help     string // what to do; if empty, the help of the rule
	Fix      []Edit // the edits that correct the fault if there is only one way, in order of place
}

// Edit replaces a segment of a text.
type Edit struct {
	Span source.Span
	Text string
}

// Related is another place that a finding refers to.
type Related struct {
	Span  source.Span
	Label string // "declared here"
}

// New returns a diagnostic with the rule's severity.
func New(r Rule, at source.Span, format string, args ...any) Diagnostic {
	return Diagnostic{Rule: r, Severity: r.Info().Severity, Span: at, Message: fmt.Sprintf(format, args...)}
}

// With returns d with one more related place, unless the place is not valid.
func (d Diagnostic) With(at source.Span, label string) Diagnostic {
	if at.Valid() {
		d.Related = append(d.Related[:len(d.Related):len(d.Related)], Related{at, label})
	}
	return d
}

// Note returns d with one more note.
func (d Diagnostic) Note(format string, args ...any) Diagnostic {
	d.Notes = append(d.Notes[:len(d.Notes):len(d.Notes)], fmt.Sprintf(format, args...))
	return d
}

// Helpf returns d with its help replaced.
func (d Diagnostic) Helpf(format string, args ...any) Diagnostic {
	d.Help = fmt.Sprintf(format, args...)
	return d
}

// Info returns the description of the finding's rule.
func (d Diagnostic) Info() Info {
	if d.Own != nil {
		return *d.Own
	}
	return d.Rule.Info()
}

// Replace returns d with one more edit in its fix.
func (d Diagnostic) Replace(at source.Span, text string) Diagnostic {
	d.Fix = append(d.Fix[:len(d.Fix):len(d.Fix)], Edit{at, text})
	return d
}

// HelpText returns the help of d. If d has no help, it returns the help of d's rule.
func (d Diagnostic) HelpText() string {
	if d.Help != "" {
		return d.Help
	}
	return d.Info().Fix
}

// Distinct returns the findings without those that repeat another: the text of an included unit can
// be compiled twice, once for a unit that amends it.
func Distinct(ds []Diagnostic) []Diagnostic {
	type key struct {
		rule    Rule
		at      source.Span
		message string
	}
	seen := make(map[key]bool, len(ds))
	out := ds[:0:0]
	for _, d := range ds {
		k := key{d.Rule, d.Span, d.Message}
		if !seen[k] {
			seen[k] = true
			out = append(out, d)
		}
	}
	return out
}

// Sort sorts findings by file, then place, then code. Files are in the order of the list files.
// Other files follow by name.
func Sort(ds []Diagnostic, files []*source.File) {
	rank := make(map[*source.File]int, len(files))
	for i, f := range files {
		rank[f] = i + 1
	}
	key := func(f *source.File) (int, string) {
		if f == nil {
			return 0, ""
		}
		if r := rank[f]; r > 0 {
			return r, ""
		}
		return len(files) + 1, f.Name
	}
	sort.SliceStable(ds, func(i, j int) bool {
		a, b := ds[i], ds[j]
		if ra, na := key(a.Span.File); true {
			rb, nb := key(b.Span.File)
			if ra != rb {
				return ra < rb
			}
			if na != nb {
				return na < nb
			}
		}
		if a.Span.Start != b.Span.Start {
			return a.Span.Start < b.Span.Start
		}
		return a.Rule < b.Rule
	})
}

// Count returns the number of errors and warnings.
func Count(ds []Diagnostic) (errors, warnings int) {
	for _, d := range ds {
		if d.Severity == Error {
			errors++
		} else {
			warnings++
		}
	}
	return errors, warnings
}

// HasErrors reports whether one of the findings is an error.
func HasErrors(ds []Diagnostic) bool {
	n, _ := Count(ds)
	return n > 0
}

// Limit returns the findings up to and including error number n, and the number of errors that it
// left out. Findings must be sorted. If n is not positive, there is no limit.
func Limit(ds []Diagnostic, n int) (kept []Diagnostic, cut int) {
	total, _ := Count(ds)
	if n <= 0 || total <= n {
		return ds, 0
	}
	seen := 0
	for i, d := range ds {
		if d.Severity != Error {
			continue
		}
		if seen++; seen == n {
			return ds[:i+1], total - n
		}
	}
	return ds, 0
}
