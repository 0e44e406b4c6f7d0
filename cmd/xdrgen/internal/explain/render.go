package explain

import (
	"fmt"
	"strings"
)

// Text returns the explanation as plain text.
func (e Entry) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s (%s)\n\n%s\n", e.Code, e.Name, e.Severity, e.Words)
	if e.Section != "" {
		fmt.Fprintf(&b, "Rule: %s\n", e.Section)
	}
	fmt.Fprintf(&b, "Help: %s\n", e.Fix)
	return b.String() + Example("Wrong", e.Bad) + Example("Right", e.Good)
}

// Example returns the files of an example as plain text, each with the heading head.
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

// nameIfSeveral returns the name of a file for its heading, if the example has several files.
func nameIfSeveral(f File, files []File) string {
	if len(files) == 1 {
		return ""
	}
	return ", " + f.Name
}
