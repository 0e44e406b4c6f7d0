package reference_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/reference"
	"github.com/rpcrdma/rpcrdma/internal/golden"
	"github.com/rpcrdma/rpcrdma/internal/growth"
)

// compile compiles a file.
func compile(t testing.TB, file string) *sema.Result {
	t.Helper()
	r, err := sema.Compile(sema.Options{Files: []string{file}, Include: []string{"../../../../spec/x"}, Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	if r.Unit == nil {
		t.Fatal(r.Diags)
	}
	return r
}

// page returns the page of a file, and text its text.
func page(t testing.TB, file string, only ...string) string {
	r := compile(t, file)
	return string(reference.HTML(r.Unit, reference.Options{Bind: r.Bind, Only: only}))
}

func text(t testing.TB, file string, only ...string) string {
	r := compile(t, file)
	return string(reference.Text(r.Unit, reference.Options{Bind: r.Bind, Only: only}))
}

// TestHostileUnitIsText compares the descriptions of a unit with markup and changes of direction in
// its comments with reviewed ones. No markup of the unit reaches the page.
func TestHostileUnitIsText(t *testing.T) {
	html := page(t, "testdata/hostile.x")
	golden.CheckString(t, "testdata/hostile.html", html)
	for _, bad := range []string{"<script", "<img", "onerror=\"", "<b>markup", "</style>*", "\u202e", "\u2066", "href=\"javascript"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if n := strings.Count(html, "<style"); n != 1 {
		t.Errorf("%d styles", n)
	}
	plain := text(t, "testdata/hostile.x")
	golden.CheckString(t, "testdata/hostile.txt", plain)
	for line := range strings.Lines(plain) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 72 && strings.Contains(strings.TrimSpace(line), " ") || strings.ContainsAny(line, "\u202e\u2066\t") {
			t.Errorf("%d columns, or hidden characters: %q", n, line)
		}
	}
}

// TestChosenDeclarationsAreAlone describes two declarations. What they use and is not described has
// no links.
func TestChosenDeclarationsAreAlone(t *testing.T) {
	html := page(t, "testdata/hostile.x", "tree", "LIMIT")
	for want, n := range map[string]int{`<section id="struct-tree">`: 1, "<section ": 1, `href="#const-LIMIT"`: 2, "STORE": 0, "#typedef-LIMITED": 0} {
		if got := strings.Count(html, want); got != n {
			t.Errorf("%d times %s, want %d", got, want, n)
		}
	}
	if got := text(t, "testdata/hostile.x", "OTHER"); got != "Constants\n\n   const OTHER = 7\n" {
		t.Errorf("%q", got)
	}
}

// TestPlacesInDocuments finds the line and the section of a declaration in an RFC.
func TestPlacesInDocuments(t *testing.T) {
	doc := "1.  One\n\n   Text.\n\n2.  Two\n\n2.1.  Part\n\n\n   struct a {\n     int b;\n   };\n\nAppendix B.  More\n\n   const C = 1;\n"
	xdr := strings.NewReplacer("1.  One", "\v", "   Text.", "\v", "2.  Two", "\v", "2.1.  Part", "\v", "Appendix B.  More", "\v").Replace(doc)
	dir := t.TempDir()
	file := filepath.Join(dir, "rfc9999.txt")
	if err := os.WriteFile(file, []byte(doc), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := sema.Compile(sema.Options{Files: []string{file}, FS: oneDocument{xdr: xdr, doc: doc}})
	if err != nil || r.Unit == nil {
		t.Fatal(err, r)
	}
	html := string(reference.HTML(r.Unit, reference.Options{}))
	for _, want := range []string{
		`<a href="#L10">rfc9999.txt:10</a>`, `<b id="L10">10</b>struct a {`,
		`<a href="https://www.rfc-editor.org/rfc/rfc9999#section-2.1">RFC 9999, section 2.1</a>`,
		`<a href="https://www.rfc-editor.org/rfc/rfc9999.txt#:~:text=struct%20a">in the text</a>`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if plain := string(reference.Text(r.Unit, reference.Options{})); !strings.Contains(plain, "struct, 4 bytes, rfc9999.txt:10, RFC 9999, section 2.1") {
		t.Error(plain)
	}
}

// oneDocument is a file system with one document.
type oneDocument struct {
	sema.Disk
	xdr, doc string
}

func (d oneDocument) ReadFile(string) ([]byte, error) { return []byte(d.xdr), nil }
func (d oneDocument) Document(string) []byte          { return []byte(d.doc) }

// TestPagesGrowWithTheUnit describes units of many types. The cost is linear.
func TestPagesGrowWithTheUnit(t *testing.T) {
	costs, err := growth.Linear(250, func(n int) func() int {
		var b strings.Builder
		b.WriteString("typedef unsigned int word;\nstruct t0 { word w; };\n")
		for i := range n {
			fmt.Fprintf(&b, "/* Type %d. */\nstruct t%d {\n  t%d a;\n  t0 b<%d>;\n  word c;\n};\n", i, i+1, i, i)
		}
		file := filepath.Join(t.TempDir(), "many.x")
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		r := compile(t, file)
		return func() int {
			return len(reference.HTML(r.Unit, reference.Options{})) + len(reference.Text(r.Unit, reference.Options{}))
		}
	})
	if err != nil {
		t.Error(err)
	}
	t.Log(costs)
}

// TestLinesOfTwoFilesDiffer describes a unit that adds to another one's declarations. Lines of both
// files have links.
func TestLinesOfTwoFilesDiffer(t *testing.T) {
	html := page(t, "../../../../spec/x/nfs42xattr/nfs42xattr.x")
	if !strings.Contains(html, `<b id="L1-`) || !strings.Contains(html, `href="#L1-`) {
		t.Error("all lines have numbers of one file")
	}
}

// The largest unit of the repository fits into a MiB.
func TestPageOfNFSIsSmall(t *testing.T) {
	if n := len(page(t, "../../../../spec/x/nfs42/nfs42.x")); n > 1<<20 || n < 500_000 {
		t.Errorf("%d bytes", n)
	}
}
