package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/internal/golden"
)

// TestPage holds docs/errors.md against the texts.
func TestPage(t *testing.T) {
	golden.CheckString(t, "../../../../docs/errors.md", page(entries(t)))
}

// groups names the hundreds of the codes, in order.
var groups = []string{
	"Letters and grammar", "Names", "Values", "Types", "Unions", "Programs", "Files and preprocessor",
	"Dialect: one reading only, so these warn", "Sidecar", "Go names",
}

// page is docs/errors.md.
func page(entries []Entry) string {
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
