package xdrdoc

import (
	"regexp"
	"strings"
)

// maxPieces limits the lines of a comment that is searched for pieces.
const maxPieces = 1000

var (
	// toAdd is a comment that announces pieces, such as "Following lines are to be added to enum
	// nfs_opnum4" or "In nfs_argop4:".
	toAdd = regexp.MustCompile(`(?i)\b(?:add|added|append|appended|insert|inserted|extend|extended|extends|amend|amends|new cases?)\b|\bin [a-z_]\w*:`)
	// piece is a line of pieces, without comments: members of an enum or arms of a union.
	piece = regexp.MustCompile(`^(?:[A-Za-z_]\w*[ \t]*=[ \t]*-?\w+[ \t]*[,;]?` +
		`|(?:case[ \t]+-?\w+[ \t]*:[ \t]*)*(?:case[ \t]+-?\w+[ \t]*:|default[ \t]*:|void[ \t]*;|(?:[A-Za-z_]\w*[ \t]+)+\*?[A-Za-z_]\w*[ \t]*[^;{}]*;))$`)
	// remark is a comment that ends on its line.
	remark = regexp.MustCompile(`/\*.*?\*/`)
)

// RevealPieces returns marked lines without the comment signs around pieces. RFC 8276 has the
// members and arms that it adds to types of RFC 7863 in comments, below a comment that names the
// type:
//
//	/* Following lines are to be added to enum nfs_opnum4 */
//	/*
//	OP_GETXATTR                = 72,
//	*/
//
// The two lines with the signs alone are dropped if every other line between them is a piece.
func RevealPieces(lines []Line) []Line {
	var out []Line
	above := "" // the last comment that ended directly above
	for i := 0; i < len(lines); i++ {
		text := strings.TrimSpace(lines[i].Text)
		end := -1
		if text == "/*" && toAdd.MatchString(above) {
			end = piecesEnd(lines, i)
		}
		switch {
		case end > 0:
			out = append(out, lines[i+1:end]...)
			i, above = end, ""
			continue
		case strings.HasPrefix(text, "/*") && strings.HasSuffix(text, "*/"):
			above = text
		case text != "":
			above = ""
		}
		out = append(out, lines[i])
	}
	return out
}

// piecesEnd returns the line that closes the comment of pieces at line i, or
// -1.
func piecesEnd(lines []Line, i int) int {
	found := false
	for k := i + 1; k < min(len(lines), i+maxPieces); k++ {
		text := strings.TrimSpace(lines[k].Text)
		if text == "*/" {
			if found {
				return k
			}
			return -1
		}
		text = strings.TrimSpace(remark.ReplaceAllString(text, ""))
		if text == "" {
			continue
		}
		if !piece.MatchString(text) {
			return -1
		}
		found = true
	}
	return -1
}
