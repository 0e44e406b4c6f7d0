package main

import "regexp"

// tablePrefix before a section number asks for the constants of a table.
const tablePrefix = "table:"

// tableLine is a name and its number, alone on a line.
var tableLine = regexp.MustCompile(`^[ \t]*([A-Z][A-Z0-9_]*)[ \t]*=?[ \t]*(-?(?:0[xX][0-9A-Fa-f]+|[0-9]+))$`)

// table returns the constants that a span gives as a table, written as XDR has
// them.
func (r *blockReader) table(s span) []line {
	var out []line
	for i := s.from; i < s.to; i++ {
		if m := tableLine.FindStringSubmatch(r.lines[i]); m != nil && !r.cut[i] {
			out = append(out, line{text: "const " + m[1] + " = " + m[2] + ";", num: i + 1})
		}
	}
	return out
}
