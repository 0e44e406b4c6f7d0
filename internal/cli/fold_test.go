package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestFoldKeepsTermsAndFillsTheirText checks the forms of lines that help texts have.
func TestFoldKeepsTermsAndFillsTheirText(t *testing.T) {
	for name, c := range map[string]struct{ in, want []string }{
		"short lines stay": {
			[]string{"One line.", "Another.", "", "  -a  first"},
			[]string{"One line.", "Another.", "", "  -a  first"},
		},
		"prose": {
			[]string{"This paragraph has a line of more columns than there are.", "It ends here.", "", "next"},
			[]string{"This paragraph has a line of more columns", "than there are. It ends here.", "", "next"},
		},
		"a flag": {
			[]string{"  -views N    also write checks, views and scans,", "              like the line views", "  -w          write"},
			[]string{"  -views N    also write checks, views and", "              scans, like the line views", "  -w          write"},
		},
		"a list in a column": {
			[]string{"  -with N  methods:", "             clone  a deep copy of the whole value, or an error", "  -x       none"},
			[]string{"  -with N  methods:", "             clone  a deep copy of the", "                    whole value, or an", "                    error", "  -x       none"},
		},
		"usage": {
			[]string{"Usage: xdrgen gen -o DIR [-package NAME] [-I dir] FILE.x", "       xdrgen gen -names [-format text|json] [-I dir] FILE", "", "x"},
			[]string{"Usage: xdrgen gen -o DIR [-package NAME]", "              [-I dir] FILE.x", "       xdrgen gen -names", "              [-format text|json] [-I dir]", "              FILE", "", "x"},
		},
		"examples": {
			[]string{"Examples:", "  xdrgen gen -o gen/ext -D 'a b c d' -I spec ext.x", "  xdrgen gen -names proto.x     show all names", "  xdrgen check a.x"},
			[]string{"Examples:", "  xdrgen gen -o gen/ext -D 'a b c d' -I \\", "      spec ext.x", "  xdrgen gen -names proto.x", "      show all names", "  xdrgen check a.x"},
		},
		"an example with a comment below it": {
			[]string{"Examples:", "  xdrgen check a.x \\", "          -I spec", "          check a file, and print a fix for each finding", "  xdrgen check b.x"},
			[]string{"Examples:", "  xdrgen check a.x \\", "          -I spec", "          check a file, and print a fix", "          for each finding", "  xdrgen check b.x"},
		},
		"an example with a long command below its first line": {
			[]string{"Examples:", "  xdrgen check \\", "          -I spec -format text a.x b.x c.x d.x"},
			[]string{"Examples:", "  xdrgen check \\", "          -I spec -format text a.x b.x \\", "              c.x d.x"},
		},
		"a list of points": {
			[]string{"  - a file that another compiler accepts must be accepted", "    and build;", "  1. the second", "  2. the third"},
			[]string{"  - a file that another compiler accepts", "    must be accepted and build;", "  1. the second", "  2. the third"},
		},
		"three columns": {
			[]string{"  code  A B  type of a code point, which has", "             flags, for each header type"},
			[]string{"  code  A B  type of a code point, which", "             has flags, for each header", "             type"},
		},
		"a long term": {
			[]string{"  PROGRAM.VERSION.PROCEDURE[.x]  an item of data"},
			[]string{"  PROGRAM.VERSION.PROCEDURE[.x]", "      an item of data"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Fold(strings.Join(c.in, "\n"), 42)
			if diff := cmp.Diff(strings.Join(c.want, "\n"), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for line := range strings.Lines(got) {
				if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 42 {
					t.Errorf("%d columns: %s", len(line), line)
				}
			}
			if again := Fold(got, 200); name == "short lines stay" && again != got {
				t.Errorf("folded again: %s", again)
			}
		})
	}
}

// TestFoldedHelpHasAllWords checks that a text in a narrow terminal has the words of the whole one.
func TestFoldedHelpHasAllWords(t *testing.T) {
	text := "Write it.\n\nUsage: a b [-c d] [-e f]\n\nExamples:\n  a b -c 'd e f g h i' | jq '.x y' > z    say more of it\n\n  -c D   text of some length in here, which goes on for more than two lines of a narrow terminal\n"
	want := strings.Fields(text)
	for width := range 100 {
		got := strings.Fields(strings.ReplaceAll(Fold(text, width), " \\\n", "\n"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d columns: %s", width, diff)
		}
		if n := widest(strings.Split(Fold(text, width), "\n")); n > max(width, leastWidth) {
			t.Errorf("%d columns in %d", n, width)
		}
	}
}

// TestWidthOfNoTerminalIs80 checks a writer that is not a file.
func TestWidthOfNoTerminalIs80(t *testing.T) {
	if got := Width(new(strings.Builder)); got != DefaultWidth {
		t.Errorf("%d columns", got)
	}
}
