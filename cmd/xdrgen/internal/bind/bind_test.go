package bind

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/source"
)

func parse(text string) (*File, []string) {
	var found []string
	f := Parse(source.NewFile("u.bind", []byte(text)), func(d diag.Diagnostic) {
		p := d.Span.Position()
		found = append(found, fmt.Sprintf("%d:%d %s: %s; %s", p.Line, p.Column, d.Rule.Info().Name, d.Message, d.Help))
	})
	return f, found
}

func TestParse(t *testing.T) {
	f, found := parse(`# all statements
package	example.org/gen/u
prefix  a_
prefix  a_long_
prefix  b_
rename  x_y XY     # comment
rename  s.f Field
import  unit/file.x
open    codes
code    header-type A_MSG a_msg
code    property A_P void
code    header-type A_NO void F_ONE F_TWO
code    flag F_ONE void
ddp     PROG.V1.READ result ok.data
ddp     PROG.V1.WRITE args data`)
	if found != nil {
		t.Fatal(found)
	}
	b := f.Bind
	var got []string
	for _, p := range b.Prefixes {
		got = append(got, "prefix "+p.Text)
	}
	for _, r := range b.Renames {
		got = append(got, "rename "+r.XDR+" "+r.GoName+" at "+r.Pos.Text())
	}
	for _, c := range b.Codes {
		got = append(got, strings.TrimSpace("code "+c.Space+" "+c.Const+" "+c.Type+" "+strings.Join(c.Flags, ",")))
	}
	for _, d := range b.DDP {
		got = append(got, fmt.Sprint("ddp ", d.Program, d.Version, d.Proc, d.Reply, d.Path))
	}
	got = append(got, b.Package, strings.Join(b.Imports, ","), f.Imports[0].Text, f.Open[0].Text, b.File)
	want := []string{
		"prefix a_long_", "prefix a_", "prefix b_", "rename x_y XY at x_y", "rename s.f Field at s.f",
		"code header-type A_MSG a_msg", "code property A_P", "code header-type A_NO  F_ONE,F_TWO", "code flag F_ONE", "ddp PROGV1READtrue [ok data]", "ddp PROGV1WRITEfalse [data]",
		"example.org/gen/u", "unit/file.x", "unit/file.x", "codes", "u.bind",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBad(t *testing.T) {
	for text, want := range map[string]string{
		"renme a B":                           "1:1 bind-unknown-word: \"renme\" is not a statement of a sidecar; did you mean rename?",
		"\n  bogus":                           "2:3 bind-unknown-word: \"bogus\" is not a statement of a sidecar; ",
		"prefix":                              "1:1 bind-syntax: found 1 words, expected prefix TEXT; ",
		"rename a b":                          "1:10 bind-syntax: \"b\" is not an exported Go name; start it with a capital letter, followed by letters, digits and _",
		"rename a A-B":                        "1:10 bind-syntax: \"A-B\" is not an exported Go name; start it with a capital letter, followed by letters, digits and _",
		"package a\npackage b":                "2:1 bind-duplicate: second package; ",
		"prefix a\nprefix a":                  "2:8 bind-duplicate: second prefix a; ",
		"open a\nopen a":                      "2:6 bind-duplicate: second open of a; ",
		"import a/b.x\nimport a/b.x":          "2:8 bind-duplicate: second import of a/b.x; ",
		"code propetry A b":                   "1:6 bind-syntax: \"propetry\" is not a space of code points; did you mean property?",
		"code zzz A b":                        "1:6 bind-syntax: \"zzz\" is not a space of code points; use one of header-type, flag, property, characteristic, error, operation",
		"code flag A b":                       "1:13 bind-syntax: found \"b\", expected void: a flag carries no data; ",
		"code header-type A":                  "1:1 bind-syntax: found 3 words, expected code SPACE CONST TYPE|void, and FLAG... after a header-type; ",
		"code property A b F":                 "1:1 bind-syntax: found 5 words, expected code SPACE CONST TYPE|void, and FLAG... after a header-type; ",
		"ddp P.V args a":                      "1:5 bind-syntax: found \"P.V\", expected PROGRAM.VERSION.PROC; ",
		"ddp P.V.F arg a":                     "1:11 bind-syntax: found \"arg\", expected args or result; ",
		"ddp P.V.F args a..b":                 "1:16 bind-syntax: found \"a..b\", expected names separated by dots; ",
		"ddp P.V.F args a\nddp P.V.F args  a": "2:1 bind-duplicate: second ddp of a; ",
	} {
		if _, found := parse(text); len(found) != 1 || found[0] != want {
			t.Errorf("%q: %q, expected %q", text, found, want)
		}
	}
}
