package main

import (
	"regexp"
	"strings"
)

// line is one line of XDR on its way into a .x file, with the place it came from.
type line struct {
	text    string // without marker, common indentation, line ending and trailing blanks
	num     int    // its line in the document, or in the errata file if erratum is set; from 1
	erratum string // id of the erratum that added it, empty for the document's own lines
}

// documentLines splits a document into its lines: byte order mark, carriage returns, form feeds and trailing blanks
// are gone, and what is no text of the document, see plain, so that index i is line i+1 of the file as an editor counts
// it.
func documentLines(doc []byte) []string {
	lines := rawLines(doc)
	plain(lines)
	return lines
}

// rawLines is documentLines before plain.
func rawLines(doc []byte) []string {
	s := strings.TrimPrefix(string(doc), "\ufeff")
	if s == "" {
		return nil
	}
	end := "\n"
	if !strings.Contains(s, end) {
		end = "\r" // as old systems write lines
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
	pageFooter = regexp.MustCompile(`^\S.*\[[Pp]age [0-9ivxl]+\]$`)
	pageHeader = regexp.MustCompile(`^(RFC[ -][0-9]+|I(?i:nternet)[ -]D(?i:raft))\b`)
)

// headerReach is how many empty lines may stand between a page's footer and the next page's header.
const headerReach = 8

// furniture reports for each line whether it belongs to a page break: a footer, the header that follows it, and the
// empty lines around both. RFC 2223 §3 laid pages out this way.
func furniture(lines []string) []bool {
	cut := make([]bool, len(lines))
	for i := 0; i < len(lines); i++ {
		if !pageFooter.MatchString(lines[i]) {
			continue
		}
		for j := i - 1; j >= 0 && lines[j] == "" && !cut[j]; j-- {
			cut[j] = true
		}
		cut[i] = true
		h := i + 1
		for h < len(lines) && h <= i+headerReach && lines[h] == "" {
			h++
		}
		if h == len(lines) || !pageHeader.MatchString(lines[h]) {
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

// indentation returns the blanks and tabs a line begins with.
func indentation(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, " \t"))]
}
