package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// page is a manual page, of man(7).
type page struct {
	name, title   string // title is the command line: xdrgen check
	section       int
	version, date string
	see           []string // other pages
}

// roff returns the page of a help text: its first paragraph is the name, lines that begin with
// Usage: the synopsis, lines that end with a colon are headings, and terms with a column of text
// become a list.
func (p page) roff(help string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, ".TH %s %d %s \"rpcrdma %s\"\n.nh\n.ad l\n", escape(strings.ToUpper(p.name)), p.section, p.date, escape(p.version))
	first, rest := firstParagraph(help)
	purpose, more, _ := strings.Cut(strings.TrimPrefix(first, p.title+" "), ". ")
	fmt.Fprintf(&out, ".SH NAME\n%s \\- %s\n", escape(p.name), escape(strings.TrimRight(purpose, ".:")))
	w := writer{out: &out}
	if more != "" {
		w.heading("DESCRIPTION")
		out.WriteString(escapeLine(more) + "\n")
	} else if !strings.HasPrefix(rest, "Usage:") {
		w.heading("DESCRIPTION")
	}
	for line := range strings.Lines(rest) {
		w.line(strings.TrimRight(line, "\n"))
	}
	w.end()
	if len(p.see) > 0 {
		slices.Sort(p.see)
		fmt.Fprintf(&out, ".SH SEE ALSO\n%s\n", escape(strings.Join(p.see, ", ")))
	}
	return out.Bytes()
}

// firstParagraph returns the first lines of a text as one, and the rest.
func firstParagraph(text string) (first, rest string) {
	lines := strings.SplitAfter(strings.TrimRight(text, "\n")+"\n", "\n")
	n := 1
	for n < len(lines) && lines[n] != "\n" && !strings.HasPrefix(lines[n], " ") {
		n++
	}
	rest = strings.Join(lines[n:], "")
	return strings.Join(strings.Fields(strings.Join(lines[:n], "")), " "), strings.TrimPrefix(rest, "\n")
}

// writer turns the lines of a help text into requests.
type writer struct {
	out      *bytes.Buffer
	literal  bool // lines stay as they are
	examples bool // until the next heading
	usage    bool // until the next empty line
	list     bool // in the text of a term
	column   int  // of that text
	gap      bool // an empty line came
}

var (
	headingLine = regexp.MustCompile(`^[A-Z][^.;]*:$`)
	termLine    = regexp.MustCompile(`^ {1,6}(\S.*?)  +(\S.*)$`)
)

// line writes one line.
func (w *writer) line(s string) {
	indent := len(s) - len(strings.TrimLeft(s, " "))
	usage, isUsage := strings.CutPrefix(s, "Usage: ")
	switch {
	case s == "":
		w.gap = true
		return
	case isUsage:
		w.heading("SYNOPSIS")
		w.usage = true
		w.verbatim(usage)
	case w.usage && !w.gap:
		w.verbatim(strings.TrimPrefix(s, "       "))
	case headingLine.MatchString(s):
		w.heading(strings.TrimSuffix(s, ":"))
		w.examples = s == "Examples:"
	case indent == 0:
		if w.usage {
			w.heading("DESCRIPTION")
		}
		w.paragraph()
		w.out.WriteString(escapeLine(s) + "\n")
	case w.examples:
		w.verbatim(s)
	case w.list && !w.gap && indent >= w.column:
		w.out.WriteString(escapeLine(strings.TrimSpace(s)) + "\n")
	default:
		w.term(s)
	}
	w.gap = false
}

// term begins the item of a list, or writes a line as it is that has no term.
func (w *writer) term(s string) {
	m := termLine.FindStringSubmatchIndex(s)
	if m == nil {
		w.verbatim(s)
		return
	}
	w.filled()
	fmt.Fprintf(w.out, ".TP\n%s\n%s\n", escapeLine(s[m[2]:m[3]]), escapeLine(s[m[4]:m[5]]))
	w.list, w.column = true, m[4]
}

// heading begins a section.
func (w *writer) heading(name string) {
	w.end()
	w.gap = false
	fmt.Fprintf(w.out, ".SH %s\n", escapeLine(strings.ToUpper(name)))
}

// paragraph begins a paragraph after an empty line or a list.
func (w *writer) paragraph() {
	w.filled()
	if w.gap || w.list {
		w.out.WriteString(".PP\n")
	}
	w.list = false
}

// verbatim writes a line as it is.
func (w *writer) verbatim(s string) {
	if !w.literal {
		if w.list {
			w.out.WriteString(".PP\n")
		}
		w.out.WriteString(".nf\n")
		w.literal, w.list = true, false
	} else if w.gap {
		w.out.WriteString(".sp\n")
	}
	w.out.WriteString(escapeLine(s) + "\n")
}

// filled returns to lines that are filled.
func (w *writer) filled() {
	if w.literal {
		w.out.WriteString(".fi\n")
	}
	w.literal = false
}

// end completes a section.
func (w *writer) end() {
	w.filled()
	w.examples, w.usage, w.list = false, false, false
}

// escape returns text in which no character has a meaning for roff.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
}

// escapeLine returns a line of text that roff does not take for a request.
func escapeLine(s string) string {
	s = escape(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
