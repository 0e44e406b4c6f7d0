package explain

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
)

// groups names the hundreds of the codes, in order.
var groups = []string{
	"Letters and grammar", "Names", "Values", "Types", "Unions", "Programs", "Files and preprocessor",
	"Dialect: one reading only, so these warn", "Sidecar", "Go names",
}

// Text returns an explanation for a terminal.
func (e Entry) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s (%s)\n\n%s\n", e.Code, e.Name, e.Severity, e.Words)
	if e.Section != "" {
		fmt.Fprintf(&b, "Rule: %s\n", e.Section)
	}
	fmt.Fprintf(&b, "Help: %s\n", e.Fix)
	return b.String() + Example("Wrong", e.Bad) + Example("Right", e.Good)
}

// Example returns the files of an example for a terminal, each under head.
func Example(head string, files []File) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "\n%s%s:\n\n", head, nameIfSeveral(f, files))
		for line := range strings.Lines(f.Text) {
			b.WriteString("    " + line)
		}
	}
	return b.String()
}

func nameIfSeveral(f File, files []File) string {
	if len(files) == 1 {
		return ""
	}
	return ", " + f.Name
}

// Markdown returns the page docs/errors.md.
func Markdown(entries []Entry) string {
	var b strings.Builder
	b.WriteString("# Findings of xdrgen\n\n" +
		"Made by `go test ./cmd/xdrgen/internal/explain -update` from the texts of `xdrgen explain`; each wrong example\n" +
		"has the finding it stands under, and each right one has none. Errors have no meaning, or several; warnings have\n" +
		"one reading only, and fail the check with `-strict`. The rules of lint and compat are in\n" +
		"[rules.md](rules.md).\n")
	last := ""
	for _, e := range entries {
		if group := e.Code[:5]; group != last {
			last = group
			title := group
			if i := int(group[4] - '0'); i < len(groups) {
				title = groups[i]
			}
			fmt.Fprintf(&b, "\n## %s\n", title)
		}
		e.markdown(&b)
	}
	return b.String()
}

func (e Entry) markdown(b *strings.Builder) {
	plain := strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`)
	kind := ""
	if e.Severity == diag.Warning {
		kind = " (warning)"
	}
	fmt.Fprintf(b, "\n### %s %s%s\n\n%s\n", e.Code, e.Name, kind, plain.Replace(e.Words))
	if e.Section != "" {
		fmt.Fprintf(b, "Rule: %s. ", e.Section)
	}
	fmt.Fprintf(b, "Help: %s.\n", plain.Replace(e.Fix))
	for _, part := range []struct {
		head  string
		files []File
	}{{"Wrong", e.Bad}, {"Right", e.Good}} {
		for _, f := range part.files {
			fmt.Fprintf(b, "\n%s%s:\n\n```\n%s```\n", part.head, nameIfSeveral(f, part.files), f.Text)
		}
	}
}
