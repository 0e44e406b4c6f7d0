package diag

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

// spans returns the segments of a text between [ and ], in order, in a file without these
// characters.
func spans(t *testing.T, name, marked string) []source.Span {
	t.Helper()
	var text []byte
	var at []int
	for _, c := range []byte(marked) {
		if c == '[' || c == ']' {
			at = append(at, len(text))
		} else {
			text = append(text, c)
		}
	}
	f := source.NewFile(name, text)
	var out []source.Span
	for i := 0; i+1 < len(at); i += 2 {
		out = append(out, source.Span{File: f, Start: at[i], End: at[i+1]})
	}
	return out
}

// excerptOf returns the excerpt of a finding at the span with index primary. The other spans are
// related places with labels.
func excerptOf(t *testing.T, primary int, all []source.Span, labels ...string) string {
	t.Helper()
	d := New(DuplicateName, all[primary], "m").Helpf("h")
	for i, s := range all {
		if i != primary {
			d = d.With(s, labels[0])
			labels = labels[1:]
		}
	}
	return text(t, d)
}

// text returns the text of a finding without its first line and its rule.
func text(t *testing.T, d Diagnostic) string {
	t.Helper()
	var b strings.Builder
	if err := WriteText(&b, d, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(b.String(), "\n")
	return regexp.MustCompile(` += rule: .*\n`).ReplaceAllString(rest, "")
}

func TestExcerptsShowThePlaces(t *testing.T) {
	tests := []struct {
		name, text string
		primary    int
		labels     []string
		want       string
	}{
		{
			"two on a line", "[ab] [cd];", 1,
			[]string{"first"},
			"  |\n1 | ab cd;\n  | -- ^^\n  | first\n",
		},
		{
			"three on a line", "[a] [b] [c];", 1,
			[]string{"left", "right"},
			"  |\n1 | a b c;\n  | - ^ - right\n  | left\n",
		},
		{
			"labels below each other", "[a] [b] [c];", 2,
			[]string{"one", "two"},
			"  |\n1 | a b c;\n  | - - ^\n  | | two\n  | one\n",
		},
		{
			"order of lines, one between", "[a]\nb\n[c]\n", 0,
			[]string{"there"},
			"  |\n1 | a\n  | ^\n2 | b\n3 | c\n  | - there\n",
		},
		{
			"far apart", "[a]\n\n\n\n\n\n\n\n\n[b]\n", 1,
			[]string{"there"},
			"   |\n 1 | a\n   | - there\n...\n10 | b\n   | ^\n",
		},
		{
			"tabs", "\tint\t[a\tb]; /* x */", 0, nil,
			"  |\n1 |         int     a       b; /* x */\n  |                 ^^^^^^^^^\n",
		},
		{
			"wide and combining", "漢e\u0301 [字x];", 0, nil,
			"  |\n1 | 漢e\u0301 字x;\n  |     ^^^\n",
		},
		{
			"over two lines", "a [b\n\t c] d", 0, nil,
			"  |\n1 | a b\n  |   ^\n2 |          c d\n  |          ^\n",
		},
		{
			"over four lines", "a [b\nc\nd\ne]\n", 0, nil,
			"  |\n1 | a b\n  |   ^\n...\n4 | e\n  | ^\n",
		},
		{"with the end of the line", "ab [c\n]d\n", 0, nil, "  |\n1 | ab c\n  |    ^\n"},
		{"with empty lines at the end", "ab [c\n\n\n]d\n", 0, nil, "  |\n1 | ab c\n  |    ^\n"},
		{"empty lines alone", "ab\n[\n\n]d\n", 0, nil, "  |\n2 |\n  | ^\n"},
		{"to a line that ends in an empty one", "a [b\nc\n\n]d\n", 0, nil, "  |\n1 | a b\n  |   ^\n2 | c\n  | ^\n"},
		{"nothing at the end", "ab[]\n", 0, nil, "  |\n1 | ab\n  |   ^\n"},
		{"end of file", "ab\n[]", 0, nil, "  |\n2 |\n  | ^\n"},
		{"control characters", "\x1b[a]\u202e;", 0, nil, "  |\n1 | \ufffda\ufffd;\n  |  ^\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := excerptOf(t, tt.primary, spans(t, "t.x", tt.text), tt.labels...)
			want := tt.want + strings.Repeat(" ", strings.IndexByte(tt.want, '|')) + "= help: h\n"
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestOtherFile writes a finding with places in several files. Its own file is first.
func TestOtherFile(t *testing.T) {
	a, b := spans(t, "a.x", "x\n[a] [b]"), spans(t, "dir/b.x", "[z]")
	got := text(t, New(DuplicateName, a[1], "m").With(b[0], "there").With(a[0], "here").Helpf("h"))
	want := "  |\n2 | a b\n  | - ^\n  | here\n  ::: dir/b.x:1:1\n  |\n1 | z\n  | - there\n  = help: h\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestLongLines checks that long lines are cut around the marked text, and that the mark is under
// it.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("a", 500)
	for name, text := range map[string]string{
		"middle": long + "[MARK]" + long, "start": "[MARK]" + long, "end": long + "[MARK]",
		"tabs": strings.Repeat("\t", 60) + "[MARK]" + long, "wide": strings.Repeat("漢", 300) + "[MARK]" + strings.Repeat("漢", 300),
		"only": "[MARK]",
	} {
		lines := strings.Split(excerptOf(t, 0, spans(t, "t.x", text)), "\n")
		before, after, ok := strings.Cut(lines[1], "MARK")
		col := 0
		for _, r := range before {
			col += columns(r, col)
		}
		if !ok || strings.Index(lines[2], "^^^^") != col {
			t.Errorf("%s: the mark is not under its word:\n%s\n%s", name, lines[1], lines[2])
		}
		if n := len([]rune(lines[1])); n > maxColumns+10 {
			t.Errorf("%s: %d characters are shown", name, n)
		}
		if strings.HasPrefix(text, "[") != (before == "1 | ") || strings.HasSuffix(text, "]") != (after == "") {
			t.Errorf("%s: found no sign of the cut: %s", name, lines[1])
		}
	}
	// Two marks too far apart: the line is written twice, in order.
	got := excerptOf(t, 1, spans(t, "t.x", "[LEFT]"+long+"[MARK]"), "there")
	left, right := strings.Index(got, "---- there"), strings.Index(got, "^^^^")
	if left < 0 || right < left || strings.Count(got, "1 | ") != 2 {
		t.Errorf("far apart:\n%s", got)
	}
	if got := excerptOf(t, 0, spans(t, "t.x", "["+long+"]")); strings.Count(got, "^") > maxColumns {
		t.Errorf("the mark is longer than the excerpt:\n%s", got)
	}
}

// TestFixLines checks the lines that are written for a fix.
func TestFixLines(t *testing.T) {
	for _, tt := range []struct{ name, text, put, want string }{
		{"insert", "int a[]\nint b;", ";", "1 ~ int a;\n  |      +\n"},
		{"replace", "\t[uint] a;", "unsigned int", "1 ~         unsigned int a;\n  |         ~~~~~~~~~~~~\n"},
		{"remove", "int a;[;]\n", "", "1 ~ int a;\n"},
		{"a line less", "a\n[b\n]c\n", "", "2 ~ c\n"},
		{"a line more", "a[]\nc\n", "\nb", "1 ~ a\n2 ~ b\n"},
		{"twice", "[a] + [b]\n", "xx", "1 ~ xx + xx\n  | ~~   ~~\n"},
	} {
		all := spans(t, "t.x", tt.text)
		d := New(DuplicateName, all[0], "m").Helpf("h")
		for _, s := range all {
			d = d.Replace(s, tt.put)
		}
		got := text(t, d)
		_, got, _ = strings.Cut(got, "= help: h (check -fix does it)\n")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestSegmentsHaveOneColor checks that each segment has its colour once.
func TestSegmentsHaveOneColor(t *testing.T) {
	all := spans(t, "t.x", "[abc] [def]")
	var b strings.Builder
	if err := WriteText(&b, New(DuplicateName, all[1], "m").With(all[0], "first"), TextOptions{Color: true}); err != nil {
		t.Fatal(err)
	}
	want := blue + "---" + reset + " " + red + "^^^" + reset + "\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("found no %q in %q", want, b.String())
	}
}
