package xdrdoc

import (
	"strings"
	"testing"
)

// TestTextInPlaceKeepsLinesAndColumns checks where the words of documents are in the text that the
// compiler reads.
func TestTextInPlaceKeepsLinesAndColumns(t *testing.T) {
	for _, tt := range []struct{ name, doc, want string }{
		{"marked", "Title\n   /// const A = 1;\nText.\n\t///\tconst B = 2; \nEnd\n", "\v\n       const A = 1;\n\v\n\t   \tconst B = 2;\n\v\n"},
		{"byte order mark", "\ufeff/// const A = 1;\n", "     const A = 1;\n"},
		{"quoted", "> > /// const A = 1;\n> > /// const B = 2;\n", "        const A = 1;\n        const B = 2;\n"},
		{"entities", "<pre>\n/// opaque a&lt;4&gt; x;\n</pre>\n", "\v\n    opaque a<   4>    x;\n\v\n"},
		{"entities in comments", "<pre>\n/// int a; /* -&gt; b */\n/// /*\n/// &lt;b&gt; c */ int d;\n</pre>\n", "\v\n    int a; /* -> b */\n    /*\n    <b> c */ int d;\n\v\n"},
		{"CDATA", "<artwork><![CDATA[const A = 1;]]></artwork>\n", "                  const A = 1;\n"},
		{"tags within", "<pre>\nconst <b>x</b>\n<span class=\"k\">const</span> <em>A</em> = 1;\n</pre>\n", "\v\n\v\n                const            A      = 1;\n\v\n"},
		{"overstruck", "/// c\bcon\bnst A = 1;\n", "const A = 1;\n"},
		{"characters of several bytes", "é → /* ä */ const A = 1;\n/// /* ö */ const B = 2;\n", "\v\n    /* ö */ const B = 2;\n"},
	} {
		d, err := Extract([]byte(tt.doc), Options{})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := string(Place([]byte(tt.doc), d.Parts[0].Lines)); got != tt.want {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// TestLongLinesArePlacedInLinearTime places a line of a megabyte whose start repeats.
func TestLongLinesArePlacedInLinearTime(t *testing.T) {
	doc := "<pre>\n/// const A = 1;" + strings.Repeat(" /* &lt; */", 100_000) + "\n</pre>\n"
	d, err := Extract([]byte(doc), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(Place([]byte(doc), d.Parts[0].Lines)); !strings.Contains(got, "\nconst A = 1; /* < */") {
		t.Errorf("got %.80q", got)
	}
}

// TestDocumentsAreTold recognizes documents and interface files.
func TestDocumentsAreTold(t *testing.T) {
	for text, want := range map[string]bool{
		"   /// struct a {\n": true, "> /// const A = 1;\n": true,
		"<rfc>\n": true, "  <sourcecode type=\"xdr\">\n": true, "```xdr\n": true, "~~~ xdr\n": true,
		"1. One\n\n2. Two\n": true, "# One\n\n## Two\n": true,
		"": false, "/// struct a is gone\n": false, "1. One\n": false, "# define A 1\n# 1 \"a.x\"\n": false,
		"/*\n1. One\n2. Two\n*/\nconst A = 1;\n": false, "   /// struct a {\n\x00": false, "01020304\n": false,
	} {
		if got := IsDocument([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
