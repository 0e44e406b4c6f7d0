package diag

import "unicode"

// tabStop is the distance of tab stops. XDR files mix tabs of eight columns with spaces.
const tabStop = 8

// wide has the characters that take two columns of a terminal: those with the East Asian Width
// "wide" or "full width" in Unicode.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1},
		{0x231a, 0x231b, 1},
		{0x23e9, 0x23ec, 1},
		{0x25fd, 0x25fe, 1},
		{0x2614, 0x2615, 1},
		{0x2648, 0x2653, 1},
		{0x26aa, 0x26ab, 1},
		{0x2705, 0x270a, 5},
		{0x270b, 0x2728, 29},
		{0x274c, 0x274e, 2},
		{0x2753, 0x2755, 1},
		{0x2795, 0x2797, 1},
		{0x2e80, 0x303e, 1},
		{0x3041, 0x33ff, 1},
		{0x3400, 0x4dbf, 1},
		{0x4e00, 0x9fff, 1},
		{0xa000, 0xa4cf, 1},
		{0xa960, 0xa97c, 1},
		{0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1},
		{0xfe10, 0xfe19, 1},
		{0xfe30, 0xfe6b, 1},
		{0xff01, 0xff60, 1},
		{0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x1f300, 0x1f64f, 1},
		{0x1f680, 0x1f6ff, 1},
		{0x1f900, 0x1f9ff, 1},
		{0x20000, 0x3fffd, 1},
	},
}

// columns returns the number of columns that a character takes at column col, counted from 0.
func columns(r rune, col int) int {
	switch {
	case r == '\t':
		return tabStop - col%tabStop
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me) || r >= 0x200b && r <= 0x200d || r == 0xfeff:
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}
