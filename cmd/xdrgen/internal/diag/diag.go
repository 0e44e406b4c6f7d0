// Package diag holds what the compiler has to say about its input, as values:
// a rule from one table, a place, further places with labels, notes and help.
// It also renders them, for people and as JSON lines. Who finds a fault makes
// a Diagnostic and goes on; nobody prints.
package diag

import (
	"fmt"
	"sort"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

// Severity is how bad a fault is.
type Severity int

// The severities. A Warning is what has one reading only; an Error is what
// has none, or several.
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
	Own      *Info // the rule, where it stands in a table of another package; nil otherwise
	Severity Severity
	Span     source.Span // may be invalid: a finding about no one place
	Message  string      // what is wrong, lower case, no full stop
	Related  []Related
	Notes    []string
	Help     string // what to do; the rule's own line where empty
	Fix      []Edit // what does it, where there is just one way; nil otherwise
}

// Edit replaces a stretch of a text.
type Edit struct {
	Span source.Span
	Text string
}

// Related is a further place that a finding speaks of.
type Related struct {
	Span  source.Span
	Label string // "declared here"
}

// New returns a diagnostic with the rule's severity.
func New(r Rule, at source.Span, format string, args ...any) Diagnostic {
	return Diagnostic{Rule: r, Severity: r.Info().Severity, Span: at, Message: fmt.Sprintf(format, args...)}
}

// With returns d with one more place.
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

// Info returns what is known of the finding's rule.
func (d Diagnostic) Info() Info {
	if d.Own != nil {
		return *d.Own
	}
	return d.Rule.Info()
}

// Replace returns d with one more edit that mends it.
func (d Diagnostic) Replace(at source.Span, text string) Diagnostic {
	d.Fix = append(d.Fix[:len(d.Fix):len(d.Fix)], Edit{at, text})
	return d
}

// HelpText returns the help: its own, or that of the rule.
func (d Diagnostic) HelpText() string {
	if d.Help != "" {
		return d.Help
	}
	return d.Info().Fix
}

// Sort orders findings by file (in order of first appearance in files, others
// by name), then place, then code.
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

// Limit returns the findings up to and including error number n, and how many
// errors were cut. Findings must be sorted; n <= 0 means no limit.
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
