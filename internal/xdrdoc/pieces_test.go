package xdrdoc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPiecesInCommentsAreRevealed takes away the comment signs around members and arms only.
func TestPiecesInCommentsAreRevealed(t *testing.T) {
	const added = "/* Following lines are to be added to enum e */\n"
	for _, tt := range []struct{ name, in, want string }{
		{"members", added + "/*\nA = 1,\nB = 0x2\n*/\nconst C = 3;", added + "A = 1,\nB = 0x2\nconst C = 3;"},
		{"members with comments", added + "/*\n A = 1, /* one */\n B = 2  /* two */\n*/", added + " A = 1, /* one */\n B = 2  /* two */"},
		{"arms", "/* In nfs_argop4: */\n\n/*\ncase A: T4args a;\ncase B:\ncase C:\n  opaque b<4>;\ndefault:\n  void;\n*/", "/* In nfs_argop4: */\n\ncase A: T4args a;\ncase B:\ncase C:\n  opaque b<4>;\ndefault:\n  void;"},
		{"twice", added + "/*\nA = 1,\n*/\n" + added + "/*\nB = 2,\n*/", added + "A = 1,\n" + added + "B = 2,"},
		{"prose", added + "/*\n * A = 1 is new.\n */", added + "/*\n * A = 1 is new.\n */"},
		{"a word of prose", added + "/*\nA = 1,\nand others\n*/", added + "/*\nA = 1,\nand others\n*/"},
		{"without an announcement", "/* Obsolete */\n/*\nA = 1,\n*/", "/* Obsolete */\n/*\nA = 1,\n*/"},
		{"without a comment above", "/*\nA = 1,\n*/", "/*\nA = 1,\n*/"},
		{"a definition between", added + "const C = 1;\n/*\nA = 1,\n*/", added + "const C = 1;\n/*\nA = 1,\n*/"},
		{"empty", added + "/*\n\n*/", added + "/*\n\n*/"},
		{"never closed", added + "/*\nA = 1,", added + "/*\nA = 1,"},
		{"definitions", added + "/*\nstruct a {\n int x;\n};\n*/", added + "/*\nstruct a {\n int x;\n};\n*/"},
	} {
		var lines []Line
		for i, s := range strings.Split(tt.in, "\n") {
			lines = append(lines, Line{Text: s, Num: i + 1})
		}
		if diff := cmp.Diff(tt.want, strings.TrimSuffix(written(RevealPieces(lines)), "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
