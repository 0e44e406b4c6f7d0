package xdrdoc

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// proto is a protocol that the tests put into documents of several forms.
const proto = `const MAX = 16;
enum kind { ONE = 1, TWO = 2 };
struct item {
    opaque data<MAX>;
    item *next;
};
union u switch (kind k) {
case ONE:
    item i;
default:
    void;
};
`

// TestEveryFormHasTheSameXDR extracts the same XDR from documents of all forms.
func TestEveryFormHasTheSameXDR(t *testing.T) {
	escaped := strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;").Replace(proto)
	before := func(prefix, text string) string {
		return prefix + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix) + "\n"
	}
	marked := before("   /// ", proto)
	for _, tt := range []struct{ name, doc string }{
		{"marked", "Title\n\n" + marked},
		{"marked without a blank", before("///", proto)},
		{"marked with tabs", before("\t///\t", proto)},
		{"code begins", "1.  Code\n\n   <CODE BEGINS> file \"p.x\"\n" + before("   ", proto) + "   <CODE ENDS>\n\n2.  End\n"},
		{"byte order mark, carriage returns", "\ufeff" + strings.ReplaceAll("Title\n"+marked, "\n", "\r\n")},
		{"carriage returns alone", strings.ReplaceAll("Title\n"+marked, "\n", "\r")},
		{"page within", "Title\n\n" + strings.Replace(before("   ", proto), "   struct", page+"   struct", 1)},
		{"HTML", "<html>\n<p>A <em>struct</em>:</p>\n<pre class=\"x\">" + escaped + "</pre>\n</html>\n"},
		{"HTML, marked", "<pre>\n" + before("/// ", escaped) + "</pre>\n"},
		{"XML", "<rfc><section>\n<sourcecode type=\"xdr\"><![CDATA[\n" + proto + "]]></sourcecode>\n</section></rfc>\n"},
		{"XML, escaped", "<artwork type=\"xdr\">\n" + escaped + "</artwork>\n"},
		{"XML, marked, ended on the last line", "<artwork><![CDATA[\n" + strings.TrimSuffix(before("/// ", proto), "\n") + "]]></artwork></rfc>\n"},
		{"XML, with another language", "<sourcecode type=\"c\">\nstruct other { int x; };\n</sourcecode>\n<sourcecode type=\"xdr\">\n" + escaped + "</sourcecode>\n"},
		{"XML, bounds without entities", "<artwork><![CDATA[\n" + strings.ReplaceAll(proto, "MAX", "t") + "]]></artwork>\n"},
		{"Markdown", "# Title\n\n```xdr\n" + proto + "```\n\n```c\nstruct other { int x; };\n```\n"},
		{"XML, a tag of two lines", "<sourcecode\n  type=\"xdr\"><![CDATA[" + proto + "]]></sourcecode>\n<sourcecode\n  type=\"c\">\nstruct other { int x; };\n</sourcecode>\n"},
		{
			"HTML, pages", "<!DOCTYPE html>\n<pre>\n" + strings.Replace(escaped, "struct", "\n<span class=\"grey\">Author    Informational    [Page 2]</span></pre>\n"+
				"<hr class='noprint'/><!--NewPage--><pre class='newpage'><a name=\"page-3\"></a>\n<span class=\"grey\">RFC 9998    Title    July 1999</span>\n\nstruct", 1) + "</pre>\n",
		},
		{"Markdown, a fence in a fence", "````markdown\n```c\nstruct other { int x; };\n```\nstruct more { int x; };\n````\n```\n" + proto + "```\n"},
		{"reStructuredText", "Title\n=====\n\n.. code-block:: c\n\n   struct other { int x; };\n\n.. code-block:: xdr\n\n" + before("   ", proto) + "\nText.\n"},
		{"Markdown, quoted", "> # Title\n>\n> ~~~ xdr\n" + before("> ", proto) + "> ~~~\n"},
		{"Markdown, quoted, marked", before("> /// ", proto)},
		{"mail, quoted twice", before("> > /// ", proto)},
		{"blanks that do not break", strings.ReplaceAll(before("    ", proto), "    ", "\u00a0 \u00a0 ")},
		{"overstruck", strings.ReplaceAll(marked, "struct", "s\bst\btr\bru\buc\bct\bt")},
		{"printed twice", "2.  Types\n\n" + before("   ", proto) + "\n9.  All of it\n\n" + before("  ", proto)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := Extract([]byte(tt.doc), Options{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range d.Parts {
				for _, l := range p.Lines {
					if s := strings.TrimSpace(l.Text); s != "" {
						got = append(got, s)
					}
				}
			}
			var want []string
			text := proto
			if strings.Contains(tt.doc, "<t>") {
				text = strings.ReplaceAll(proto, "MAX", "t")
			}
			for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
				want = append(want, strings.TrimSpace(l))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n%s", tt.doc, diff)
			}
		})
	}
}

// TestUTF16IsRefused checks the error for a document in another encoding.
func TestUTF16IsRefused(t *testing.T) {
	doc := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(proto)) {
		doc = append(doc, byte(u), byte(u>>8))
	}
	if _, err := Extract(doc, Options{}); err == nil || !strings.Contains(err.Error(), "UTF-16") {
		t.Errorf("%v, expected UTF-16", err)
	}
}

func TestTextWithoutMarkupIsKept(t *testing.T) {
	for _, s := range []string{"opaque a<MAX>;", "opaque a<MAX", "opaque a<t>;", "opaque a<code>;", "> one line", "a < b > c", "   >;", "x & y"} {
		lines := []string{s, "", s}
		plain(lines)
		if lines[0] != s || lines[2] != s {
			t.Errorf("%q became %q", s, lines)
		}
	}
}
