package syntax

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

func TestRawTextIsCutIntoPieces(t *testing.T) {
	text := `%#include <a.h> \
  more
const A = -0x1; // one
#if ON
struct /* two */ s {
#else
  % not "this
 #if 1
 #endif
#endif /* three */
"text" "
`
	want := []string{
		"cline %#include <a.h> \\\n  more", "word const", "word A", "mark =", "literal -0x1", "mark ;", "comment // one",
		"directive #if ON", "word struct", "comment /* two */", "word s", "mark {",
		"directive #else", "inactive \n  % not \"this\n #if 1\n #endif\n", "directive #endif /* three */", `literal "text"`, `literal "`,
	}
	kinds := []string{Word: "word", Literal: "literal", Mark: "mark", Comment: "comment", CLine: "cline", Directive: "directive", Inactive: "inactive", Bad: "bad"}
	var got []string
	for _, p := range Pieces(source.NewFile("f.x", []byte(text)), map[string]string{"ON": "1"}) {
		got = append(got, kinds[p.Kind]+" "+text[p.Start:p.End])
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// FuzzPieces checks that the pieces have all of the text but blanks, and nothing twice.
func FuzzPieces(f *testing.F) {
	f.Add("#if 0\n a /* b\n */ c\n%d\n#else\n@ e\n#endif f")
	f.Add("const A = 1;\r\n\x1a\x1a\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.TrimPrefix(text, "\ufeff")
		end := 0
		for _, p := range append(Pieces(source.NewFile("f.x", []byte(text)), nil), Piece{Start: len(text), End: len(text)}) {
			blanks := " \t\r\n\f\v"
			if p.Start == len(text) {
				blanks = dosBlanks
			}
			if p.Start < end || p.End < p.Start || strings.Trim(text[end:p.Start], blanks) != "" {
				t.Fatalf("%q: piece %+v after %d", text, p, end)
			}
			end = p.End
		}
	})
}
