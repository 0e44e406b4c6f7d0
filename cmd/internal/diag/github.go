package diag

import (
	"fmt"
	"io"
	"strings"
)

// WriteGitHub writes a finding as a workflow command of GitHub Actions, which shows it next to the
// source line.
func WriteGitHub(w io.Writer, d Diagnostic) error {
	info := d.Info()
	var b strings.Builder
	b.WriteString("::" + d.Severity.String() + " ")
	if d.Span.Valid() {
		from, to := d.Span.Position(), d.Span.EndPosition()
		fmt.Fprintf(&b, "file=%s,line=%d,", property(d.Span.File.Name), from.Line)
		if to.Line == from.Line { // GitHub takes columns only for a span within a line
			fmt.Fprintf(&b, "col=%d,endColumn=%d,", from.Column, max(to.Column, from.Column))
		} else {
			fmt.Fprintf(&b, "endLine=%d,", to.Line)
		}
	}
	fmt.Fprintf(&b, "title=%s::%s\n", property(info.Code+" "+info.Name), message(longMessage(d)))
	_, err := io.WriteString(w, b.String())
	return err
}

// longMessage returns the whole finding as text: message, places, notes, rule and help.
func longMessage(d Diagnostic) string {
	lines := []string{clean(d.Message)}
	if o, ok := d.Span.Origin(); ok {
		lines = append(lines, "from: "+o.String())
	}
	for _, r := range d.Related {
		lines = append(lines, clean(r.Label)+": "+strings.TrimSuffix(where(r.Span), ":"))
	}
	for _, n := range d.Notes {
		lines = append(lines, "note: "+clean(n))
	}
	if s := d.Info().Section; s != "" {
		lines = append(lines, "rule: "+s)
	}
	if h := d.HelpText(); h != "" {
		lines = append(lines, "help: "+clean(h))
	}
	return strings.Join(lines, "\n")
}

func message(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(message(s))
}
