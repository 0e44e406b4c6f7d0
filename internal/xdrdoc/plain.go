package xdrdoc

import (
	"regexp"
	"strings"
)

// plain removes the markup from the lines of a document: quotation marks of Markdown and mail, tags
// and entities of HTML and XML, overstriking, no-break spaces. It adds and removes no line, so that
// line numbers remain the document's.
func plain(lines []string) {
	markup := false
	for i, s := range lines {
		if strings.IndexByte(s, '\b') >= 0 {
			s = overstrike(s)
		}
		if strings.Contains(s, "\u00a0") {
			s = strings.ReplaceAll(s, "\u00a0", " ")
		}
		lines[i] = s
		markup = markup || marksUp.MatchString(s)
	}
	unquote(lines)
	verbatim, open := false, false
	for i, s := range lines {
		if open {
			_, rest, closed := strings.Cut(s, ">")
			s, open = rest, !closed
		}
		if markup && !open {
			s, verbatim = untag(s, verbatim)
			if at := tagBegins.FindStringIndex(s); at != nil && !verbatim {
				s, open = s[:at[0]], true
			}
		}
		if strings.IndexByte(s, '&') >= 0 {
			s = entities.Replace(s)
		}
		lines[i] = strings.TrimRight(s, " \t")
	}
}

// untag removes tags from a line. It leaves CDATA as it is, which may span lines: verbatim says
// that s begins inside CDATA, and the result says whether it ends there.
func untag(s string, verbatim bool) (string, bool) {
	var out strings.Builder
	for {
		sign := "<![CDATA["
		if verbatim {
			sign = "]]>"
		}
		text, rest, found := strings.Cut(s, sign)
		if !verbatim {
			text = tags.ReplaceAllString(text, "")
		}
		out.WriteString(text)
		if !found {
			return out.String(), verbatim
		}
		s, verbatim = rest, !verbatim
	}
}

var (
	// A line that identifies HTML or XML: no line of XDR begins like this.
	marksUp = regexp.MustCompile(`(?i)^[ \t]*<(?:!doctype|\?xml|html|pre|rfc|sourcecode|artwork)\b`)
	// The tags around code in HTML and in the XML of RFC 7991.
	tags = regexp.MustCompile(`<!--.*?-->|</?(?:` + tagNames + `)(?:[ \t]+[^<>]*)?/?>`)
	// A tag that continues on the next line.
	tagBegins = regexp.MustCompile(`<(?:` + tagNames + `)(?:[ \t]+[^<>]*)?$`)
	// XDR has no &, so that these are entities wherever they occur.
	entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`, "&apos;", "'", "&nbsp;", " ",
		"&#60;", "<", "&#62;", ">", "&#38;", "&", "&#34;", `"`, "&#39;", "'", "&#160;", " ",
		"&#x3C;", "<", "&#x3E;", ">", "&#x26;", "&", "&#x22;", `"`, "&#x27;", "'",
		"&#x3c;", "<", "&#x3e;", ">")

	quoted = regexp.MustCompile(`^[ \t]*(?:>[ \t]?)+`)
)

const tagNames = `pre|code|span|sourcecode|artwork|figure|div|html|body|tt|em|strong|a|br|hr|p|t|h[1-6]|rfc|front|middle|back|section`

// overstrike removes each character before a backspace, and the backspace. Terminals print bold so.
func overstrike(s string) string {
	var out []rune
	for _, c := range s {
		if c != '\b' {
			out = append(out, c)
		} else if len(out) > 0 {
			out = out[:len(out)-1]
		}
	}
	return string(out)
}

// unquote removes quotation signs from runs of at least two lines that have them. A single line
// that begins with > may be the end of a bound.
func unquote(lines []string) {
	for i := 0; i < len(lines); {
		n := i
		for n < len(lines) && quoted.MatchString(lines[n]) {
			n++
		}
		if n-i > 1 {
			for j := i; j < n; j++ {
				lines[j] = lines[j][len(quoted.FindString(lines[j])):]
			}
		}
		i = max(n, i+1)
	}
}

var (
	fence      = regexp.MustCompile("^[ \t]*(```+|~~~+)[ \t]*\\{?\\.?([A-Za-z0-9_+-]*)")
	sourcecode = regexp.MustCompile(`<(?:sourcecode|artwork)\b[^<>]*\btype="([^"]*)"`)
	tagHead    = regexp.MustCompile(`<(?:sourcecode|artwork)\b[^<>]*$`)
	closing    = regexp.MustCompile(`</(?:sourcecode|artwork)>`)
	directive  = regexp.MustCompile(`^[ \t]*\.\. (?:code-block|code|sourcecode|highlight)::[ \t]*(\w*)$`)
)

// otherCode reports for each line whether the document marks it as code of a language other than
// XDR: by a fence of Markdown, a directive of reStructuredText or a block of XML that names a
// language. Its argument is lines before plain.
func otherCode(lines []string) []bool {
	other := make([]bool, len(lines))
	inXML, skip := false, false
	mark, below := "", -1 // the fence that is open, the indentation of the directive that is
	head := ""            // of a tag that continues on the next line
	for i, s := range lines {
		q := s[len(quoted.FindString(s)):]
		switch m := fence.FindStringSubmatch(q); {
		case m != nil && mark != "" && strings.HasPrefix(m[1], mark) && m[2] == "":
			mark, skip = "", false
		case m != nil && mark == "" && !inXML:
			mark, skip = m[1], !isXDR(m[2])
		}
		if below >= 0 && q != "" && width(q) <= below {
			below, skip = -1, false
		}
		if m := directive.FindStringSubmatch(q); m != nil && mark == "" && !inXML && !isXDR(m[1]) {
			below, skip = width(q), true
		}
		tag := head + s
		if head = ""; tagHead.MatchString(tag) && len(tag) < 1000 {
			head = tag + " "
		}
		if m := sourcecode.FindStringSubmatch(tag); m != nil && mark == "" {
			inXML, skip = true, !isXDR(m[1])
		}
		other[i] = skip
		if inXML && closing.MatchString(s) {
			inXML, skip = false, false
		}
	}
	return other
}

// isXDR reports whether the name of a language may stand for XDR.
func isXDR(language string) bool {
	switch strings.ToLower(language) {
	case "", "xdr", "x", "rpc", "rpcl", "rpcgen", "text", "txt", "ascii-art", "plain":
		return true
	}
	return false
}
