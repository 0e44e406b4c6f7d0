package xdrdoc

import "regexp"

// tablePrefix before a section number selects the constants of a table.
const tablePrefix = "table:"

// tableLine is a name and its number, alone on a line.
var tableLine = regexp.MustCompile(`^[ \t]*([A-Z][A-Z0-9_]*)[ \t]*=?[ \t]*(-?(?:0[xX][0-9A-Fa-f]+|[0-9]+))$`)

// table returns the constants of a table in a span as XDR definitions.
func (r *blockReader) table(s span) []Line {
	var out []Line
	for i := s.from; i < s.to; i++ {
		if m := tableLine.FindStringSubmatch(r.lines[i]); m != nil && !r.cut[i] {
			out = append(out, Line{Text: "const " + m[1] + " = " + m[2] + ";", Num: i + 1})
		}
	}
	return out
}
