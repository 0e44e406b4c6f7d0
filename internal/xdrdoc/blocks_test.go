package xdrdoc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDefinitionsAreFoundInProse(t *testing.T) {
	tests := []struct {
		name, doc string
		want      string // taken lines, joined by |
		bad       string // lines of definitions that do not close
	}{
		{"prose around", "   Text struct here.\n\n      struct a {\n         int b;\n      };\n\n   More; text.", "3:struct a {|4:   int b;|5:};", ""},
		{
			"every kind", "struct a { int b; };\nenum c { D = 1 };\nunion e switch (int f) { default: void; };\ntypedef int g<>;\nconst H = 1;\nprogram I { version J { void K(void) = 1; } = 1; } = 2;",
			"1:struct a { int b; };|2:enum c { D = 1 };|3:union e switch (int f) { default: void; };|4:typedef int g<>;|5:const H = 1;|6:program I { version J { void K(void) = 1; } = 1; } = 2;", "",
		},
		{"brace on the next line", "  struct a\n  {\n    int b;\n  };", "1:struct a|2:{|3:  int b;|4:};", ""},
		{"parenthesis on the next line", "  union a switch\n    (int b) {\n  default: void;\n  };", "1:union a switch|2:  (int b) {|3:default: void;|4:};", ""},
		{"prose that begins with a keyword", "   struct layout is free; see\n   union members and\n   const correctness; or\n   enum\n   typedef of a thing.", "", ""},
		{"constants that need an erratum", "  const A 1;\n  const uint32 B = 2;\n  const C = -3;\n  const D = 0x1F; /* d */", "1:const A 1;|2:const uint32 B = 2;|3:const C = -3;|4:const D = 0x1F; /* d */", ""},
		{"page break inside", "  struct a {\n     int b;" + page + "     int c;\n  };", "1:struct a {|2:   int b;|10:   int c;|11:};", ""},
		{"page break between", "  struct a {\n  };" + page + "  struct b {\n  };", "1:struct a {|2:};|9:|10:struct b {|11:};", ""},
		{"adjacent without empty line", "  const A = 1;\n  const B = 2;", "1:const A = 1;|2:const B = 2;", ""},
		{"several empty lines become one", "  const A = 1;\n\n\n\n  const B = 2;", "1:const A = 1;|4:|5:const B = 2;", ""},
		{"empty line inside", "  struct a {\n    int b;\n\n    int c;\n  };", "1:struct a {|2:  int b;|3:|4:  int c;|5:};", ""},
		{"indentation differs", "    const A = 1;\n  struct b {\n  };", "1:const A = 1;|2:struct b {|3:};", ""},
		{"closing brace further left", "    struct a {\n      int b;\n  };", "1:  struct a {|2:    int b;|3:};", ""},
		{"tabs", "\tstruct a {\n\t\tint b;\n\t};", "1:struct a {|2:\tint b;|3:};", ""},
		{"braces in comments", "  struct a { /* } */\n    int b; /* {{ */\n  };", "1:struct a { /* } */|2:  int b; /* {{ */|3:};", ""},
		{"comment after the end", "  const A = 1; /* one\n    two */\n  prose", "1:const A = 1; /* one|2:  two */", ""},
		{"comment above", "  /*\n   * The a.\n   */\n  struct a {\n  };", "1:/*|2: * The a.|3: */|4:struct a {|5:};", ""},
		{"comment apart", "  /* prose */\n\n  struct a {\n  };", "3:struct a {|4:};", ""},
		{"comment never closed", "  /* prose\n  struct a {\n  };", "2:struct a {|3:};", ""},
		{"nested", "  struct a {\n    union switch (int b) {\n    case 1:\n      struct { int c; } d;\n    } e;\n  };", "1:struct a {|2:  union switch (int b) {|3:  case 1:|4:    struct { int c; } d;|5:  } e;|6:};", ""},
		{"C style name after the brace", "  union a switch (int b) {\n  default: void;\n  } c;", "1:union a switch (int b) {|2:default: void;|3:} c;", ""},
		{"last semicolon missing", "  struct a {\n    int b;\n  }\n\n  struct c {\n  }\n  struct d {\n  }", "1:struct a {|2:  int b;|3:}|4:|5:struct c {|6:}|7:struct d {|8:}", ""},
		{"damaged, then the next one", "  struct a {\n    int b;\n\n  struct c {\n  };", "4:struct c {|5:};", "1"},
		{"damaged, then prose further left", "    struct a {\n      int b;\n  Prose.\n    struct c {\n    };", "4:struct c {|5:};", "1"},
		{"prose on its line", "  typedef int a; which is known.\n  const B = 2; /* two */ const C = 3;\n  text;", "2:const B = 2; /* two */ const C = 3;", "1"},
		{"line comment", "  const A = 1; // one\n  prose;\n  typedef int b; // see http://x\n  more prose;", "1:const A = 1; // one|3:typedef int b; // see http://x", ""},
		{"constant without its semicolon", "  const A = 1\n  const B = 2;\n", "1:const A = 1|2:const B = 2;", ""},
		{"damaged at the end", "  struct a {\n    int b;", "", "1"},
		{"too many braces", "  union a switch (int b)) {\n  };", "", "1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := Lines([]byte(tt.doc))
			r := &blockReader{lines: lines, cut: pageBreaks(lines)}
			got, bad := r.read(span{0, len(lines)})
			if diff := cmp.Diff(tt.want, show(got)); diff != "" {
				t.Errorf("taken (-want +got):\n%s", diff)
			}
			var at []Line
			for _, b := range bad {
				at = append(at, Line{Num: b.Num})
			}
			if s := strings.ReplaceAll(show(at), ":", ""); s != tt.bad {
				t.Errorf("damaged at %q, want %q", s, tt.bad)
			}
		})
	}
}

func TestSectionsEndAtTheNextHeading(t *testing.T) {
	const doc = `Contents
   4.  Layout . . . . . . 17
1. Introduction ......... 3
1.  Introduction
one
4.  Layout
four
4.3.  XDR
     4.  A list item
xdr
4.3.1 Detail
detail
4.30.  Other
other
5 Next
next
A. Appendix
A word
A.1.  More
more
Appendix B. Last
last`
	lines := Lines([]byte(doc))
	tests := []struct{ section, want string }{
		{"4.3", "     4.  A list item|xdr|4.3.1 Detail|detail"},
		{"4.3.1", "detail"},
		{"4.30", "other"},
		{"1", "one"},
		{"5", "next"},
		{"A", "A word|A.1.  More|more"},
		{"A.1", "more"},
		{"B", "last"},
	}
	for _, tt := range tests {
		spans, err := sectionSpans(lines, tt.section)
		if err != nil || len(spans) != 1 {
			t.Errorf("section %s: %v, %v", tt.section, spans, err)
			continue
		}
		if got := strings.Join(lines[spans[0].from:spans[0].to], "|"); got != tt.want {
			t.Errorf("section %s is %q, want %q", tt.section, got, tt.want)
		}
	}
	const missing = "section 4.4: no such heading; the document has 1 4 4.3 4.3.1 4.30 5 A A.1 B"
	if _, err := sectionSpans(lines, "4.4"); err == nil || err.Error() != missing {
		t.Errorf("got %v, want %s", err, missing)
	}
	const none = "section 1: the document has no numbered headings at the left margin"
	if _, err := sectionSpans([]string{"text"}, "1"); err == nil || err.Error() != none {
		t.Errorf("got %v, want %s", err, none)
	}
}

func TestTablesBecomeConstants(t *testing.T) {
	doc := "2.4 Sizes\n\n   These are sizes.\n\n   A_SIZE 64\n      The size.\n   B = 0x10" + page + "   C\t-3\n   NOT 1 2\n   Prose 7\n   D 12\n\n2.5 Types\n   E 5\n"
	lines := Lines([]byte(doc))
	r := &blockReader{lines: lines, cut: pageBreaks(lines)}
	got, _, bad, err := r.sections([]string{"table:2.4"})
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	want := "5:const A_SIZE = 64;|7:const B = 0x10;|15:const C = -3;|18:const D = 12;"
	if diff := cmp.Diff(want, show(got)); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	if _, _, _, err := r.sections([]string{"2.4"}); err == nil || !strings.Contains(err.Error(), "no XDR definition") {
		t.Errorf("without table: %v", err)
	}
	r = &blockReader{lines: []string{"1 One", "prose"}, cut: []bool{false, false}}
	if _, _, _, err := r.sections([]string{"table:1"}); err == nil || !strings.Contains(err.Error(), "NAME NUMBER") {
		t.Errorf("table without lines: %v", err)
	}
}
