package xdrdoc

import (
	"regexp"
	"strings"
)

// Line is one line of XDR on its way into a .x file, with the place it came from.
type Line struct {
	Text    string // without marker, common indentation, line ending and trailing blanks
	Num     int    // its line in the document, or in the errata file if Erratum is set; from 1
	Erratum string // id of the erratum that added it, empty for the document's own lines
}

// Lines splits a document into lines, without byte order mark, carriage returns, form
// feeds, trailing blanks and markup (see plain). Index i is line i+1 of the file.
func Lines(doc []byte) []string {
	lines := RawLines(doc)
	plain(lines)
	return lines
}

// RawLines is Lines without the call of plain.
func RawLines(doc []byte) []string {
	s := strings.TrimPrefix(string(doc), "\ufeff")
	if s == "" {
		return nil
	}
	end := "\n"
	if !strings.Contains(s, end) {
		end = "\r" // line ends of classic Mac OS
	}
	lines := strings.Split(strings.TrimSuffix(s, end), end)
	for i, l := range lines {
		if strings.IndexByte(l, '\f') >= 0 {
			l = strings.ReplaceAll(l, "\f", "")
		}
		lines[i] = strings.TrimRight(l, " \t\r")
	}
	return lines
}

var (
	pageFooter = regexp.MustCompile(`^[ \t]*\S.*\[[Pp]age [0-9ivxl]+\]$`)
	pageHeader = regexp.MustCompile(`^[ \t]*(RFC[ -][0-9]+|I(?i:nternet)[ -]D(?i:raft))\b`)
)

// headerReach is the largest number of empty lines between a page's footer and the next page's
// header.
const headerReach = 8

// pageBreaks reports for each line whether it belongs to a page break: a footer, the header that
// follows it, and the empty lines around both. RFC 2223 §3 laid pages out this way.
func pageBreaks(lines []string) []bool {
	cut := make([]bool, len(lines))
	left := margin(lines)
	for i := 0; i < len(lines); i++ {
		if !pageFooter.MatchString(lines[i]) || width(lines[i]) != left {
			continue
		}
		for j := i - 1; j >= 0 && lines[j] == "" && !cut[j]; j-- {
			cut[j] = true
		}
		cut[i] = true
		h := nextHeader(lines, i)
		if h == 0 || width(lines[h]) != left {
			continue
		}
		for h+1 < len(lines) && lines[h+1] == "" {
			h++
		}
		for i < h {
			i++
			cut[i] = true
		}
	}
	return cut
}

// margin returns the width of the document's left margin, at which headings and the lines of page
// breaks begin: the margin of the first page break, or of the leftmost line if there is no page
// break.
func margin(lines []string) int {
	least := -1
	for i, s := range lines {
		if s == "" {
			continue
		}
		w := width(s)
		if pageFooter.MatchString(s) {
			if h := nextHeader(lines, i); h > 0 && width(lines[h]) == w {
				return w
			}
		}
		if least < 0 || w < least {
			least = w
		}
	}
	return max(least, 0)
}

// nextHeader returns the line of the page header that follows the footer at line i, or 0 if no
// header follows.
func nextHeader(lines []string, i int) int {
	h := i + 1
	for h < len(lines) && h <= i+headerReach && lines[h] == "" {
		h++
	}
	if h == len(lines) || !pageHeader.MatchString(lines[h]) {
		return 0
	}
	return h
}

// tabStop is the distance of tab stops in columns.
const tabStop = 8

// width returns the column, from 0, at which the text of a line begins.
func width(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			n++
		case '\t':
			n += tabStop - n%tabStop
		default:
			return n
		}
	}
	return n
}

// indentation returns the blanks and tabs a line begins with.
func indentation(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, " \t"))]
}
