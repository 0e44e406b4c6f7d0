package xdrdoc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinesLoseTheirEndings(t *testing.T) {
	tests := []struct {
		name, doc string
		want      []string
	}{
		{"empty", "", nil},
		{"byte order mark", "\ufeff/// a\n", []string{"/// a"}},
		{"mark only at the start", "a\n\ufeffb\n", []string{"a", "\ufeffb"}},
		{"carriage returns", "a\r\n\r\nb\r\n", []string{"a", "", "b"}},
		{"form feed alone", "a\n\f\nb\n", []string{"a", "", "b"}},
		{"form feed before text", "a\n\f/// b\n", []string{"a", "/// b"}},
		{"trailing blanks", "a \t\n   \n", []string{"a", ""}},
		{"no newline at the end", "a\nb", []string{"a", "b"}},
		{"last line empty", "a\n\n", []string{"a", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Lines([]byte(tt.doc))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// page is a page break in the form of RFCs and drafts.
const page = "\n\n\nTalpey and Callaghan          Standards Track          [Page 21]\n\f\nRFC 5666                  RDMA Transport for RPC          January 2010\n\n\n"

func TestPageBreaksAreCutOut(t *testing.T) {
	tests := []struct{ name, doc, want string }{
		{"between text", "a" + page + "b", "a|b"},
		{"draft", "a\n\nExpires: October 2008     Talpey and Callaghan   [Page 2]\n\nInternet-Draft           RDMA Transport for RPC    April 2008\n\nb", "a|b"},
		{"flattened draft", "a\nNoveck Expires January 31, 2017 [Page 18]\nInternet-Draft Transport Characteristics July 2016\nb", "a|b"},
		{"last page has no header", "a\n\n\nSun Microsystems   [Page 9]", "a"},
		{"text after a footer is not a header", "a\nSun [Page 9]\n\nReferences\nb", "a||References|b"},
		{"header words without a footer are text", "RFC 1831 defines it\nb", "RFC 1831 defines it|b"},
		{"an indented line is not a footer", "   see [Page 3]\nb", "   see [Page 3]|b"},
		{"two in a row", "a" + page + page + "b", "a|b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := Lines([]byte(tt.doc))
			var kept []string
			for i, cut := range pageBreaks(lines) {
				if !cut {
					kept = append(kept, lines[i])
				}
			}
			if got := strings.Join(kept, "|"); got != tt.want {
				t.Errorf("kept %q, want %q", got, tt.want)
			}
		})
	}
}
