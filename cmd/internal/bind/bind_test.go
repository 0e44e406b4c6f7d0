package bind

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
)

func parse(text string) (*File, []string) {
	var found []string
	f := Parse(source.NewFile("u.bind", []byte(text)), func(d diag.Diagnostic) {
		p := d.Span.Position()
		found = append(found, fmt.Sprintf("%d:%d %s: %s; %s", p.Line, p.Column, d.Rule.Info().Name, d.Message, d.Help))
	})
	return f, found
}

func TestEachStatementIsParsed(t *testing.T) {
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
message head start.kind
number  s.f property data default
number  s.g property other
number  s.flags flag
payload A_MSG
ddp     PROG.V1.READ result ok.data
ddp     PROG.V1.WRITE args data
with    none string
rpc
once    P.V.WRITE
nonblocking P.V.GET
reply   P.V.READ a.count
attributes fattr FATTR_ Attrs
views`)
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
	for _, m := range b.Messages {
		got = append(got, fmt.Sprint("message ", m.Struct, m.Path, " at ", m.Pos.Text()))
	}
	for _, n := range b.Numbers {
		got = append(got, fmt.Sprint("number ", n.Struct, ".", n.Field, " ", n.Space, " ", n.Data, " ", n.Default))
	}
	for _, o := range b.Once {
		got = append(got, fmt.Sprint("once ", o.Program, o.Version, o.Proc, " at ", o.Pos.Text()))
	}
	for _, n := range b.NonBlocking {
		got = append(got, fmt.Sprint("nonblocking ", n.Program, n.Version, n.Proc, " at ", n.Pos.Text()))
	}
	for _, r := range b.Replies {
		got = append(got, fmt.Sprint("reply ", r.Program, r.Version, r.Proc, r.Path))
	}
	for _, a := range b.Attributes {
		got = append(got, fmt.Sprint("attributes ", a.Struct, " ", a.Prefix, " ", a.GoName, " at ", a.Pos.Text()))
	}
	got = append(got, fmt.Sprint("rpc ", b.RPC))
	got = append(got, "payload "+f.Payloads[0].Text)
	got = append(got, b.Package, strings.Join(b.Imports, ","), strings.Join(b.With, ","), fmt.Sprint("views ", b.Views), f.Imports[0].Text, f.Open[0].Text, b.File)
	want := []string{
		"prefix a_long_", "prefix a_", "prefix b_", "rename x_y XY at x_y", "rename s.f Field at s.f",
		"code header-type A_MSG a_msg", "code property A_P", "code header-type A_NO  F_ONE,F_TWO", "code flag F_ONE", "ddp PROGV1READtrue [ok data]", "ddp PROGV1WRITEfalse [data]",
		"message head[start kind] at message head start.kind", "number s.f property data true", "number s.g property other false", "number s.flags flag  false", "once PVWRITE at P.V.WRITE", "nonblocking PVGET at P.V.GET", "reply PVREAD[a count]", "attributes fattr FATTR_ Attrs at attributes fattr FATTR_ Attrs", "rpc true", "payload A_MSG",
		"example.org/gen/u", "unit/file.x", "none,string", "views true", "unit/file.x", "codes", "u.bind",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFaultyStatementsAreReported(t *testing.T) {
	for text, want := range map[string]string{
		"renme a B":                              "1:1 bind-unknown-word: \"renme\" is not a statement of a sidecar; did you mean rename?",
		"\n  bogus":                              "2:3 bind-unknown-word: \"bogus\" is not a statement of a sidecar; ",
		"// names":                               "1:1 bind-unknown-word: \"//\" is not a statement of a sidecar; a comment in a sidecar begins with # and ends with the line",
		"code header_type A b F":                 "1:6 bind-syntax: \"header_type\" is not a space of code points; did you mean header-type?",
		"code":                                   "1:1 bind-syntax: found 1 word, expected code SPACE CONST TYPE|void, and FLAG... after a header-type; ",
		"# b\n\nenum a {\n  b = 1\n};":           "3:1 bind-unknown-word: found \"enum\": u.bind is XDR, expected a sidecar; give the XDR file as FILE, and with -bind its sidecar: xdrgen help sidecar",
		"prefix a\nenum b":                       "2:1 bind-unknown-word: \"enum\" is not a statement of a sidecar; ",
		"prefix":                                 "1:1 bind-syntax: found 1 word, expected prefix TEXT; ",
		"rename a b":                             "1:10 bind-syntax: \"b\" is not an exported Go name; start it with a capital letter, followed by letters, digits and _",
		"rename a A-B":                           "1:10 bind-syntax: \"A-B\" is not an exported Go name; start it with a capital letter, followed by letters, digits and _",
		"package a\npackage b":                   "2:1 bind-duplicate: second package; ",
		"prefix a\nprefix a":                     "2:8 bind-duplicate: second prefix a; ",
		"open a\nopen a":                         "2:6 bind-duplicate: second open of a; ",
		"import a/b.x\nimport a/b.x":             "2:8 bind-duplicate: second import of a/b.x; ",
		"code propetry A b":                      "1:6 bind-syntax: \"propetry\" is not a space of code points; did you mean property?",
		"code zzz A b":                           "1:6 bind-syntax: \"zzz\" is not a space of code points; use one of header-type, flag, property, characteristic, error, operation",
		"code flag A b":                          "1:13 bind-syntax: found \"b\", expected void: a flag carries no data; ",
		"code header-type A":                     "1:1 bind-syntax: found 3 words, expected code SPACE CONST TYPE|void, and FLAG... after a header-type; ",
		"code property A b F":                    "1:1 bind-syntax: found 5 words, expected code SPACE CONST TYPE|void, and FLAG... after a header-type; ",
		"message head":                           "1:1 bind-syntax: found 2 words, expected message STRUCT FIELD.PATH; ",
		"message head a..b":                      "1:14 bind-syntax: found \"a..b\", expected names separated by dots; ",
		"message a b\nmessage a c":               "2:1 bind-duplicate: second message of a; ",
		"number a.b":                             "1:1 bind-syntax: found 2 words, expected number STRUCT.FIELD SPACE, and DATA or DATA default after it; ",
		"number a.b flag c default d":            "1:1 bind-syntax: found 6 words, expected number STRUCT.FIELD SPACE, and DATA or DATA default after it; ",
		"number ab property":                     "1:8 bind-syntax: found \"ab\", expected STRUCT.FIELD; ",
		"number a.b.c property":                  "1:8 bind-syntax: found \"a.b.c\", expected STRUCT.FIELD; ",
		"number a.b errors":                      "1:12 bind-syntax: \"errors\" is not a space of code points; did you mean error?",
		"number a.b property c empty":            "1:23 bind-syntax: found \"empty\", expected default or the end of the line; ",
		"number a.b flag c":                      "1:17 bind-syntax: found \"c\", expected the end of the line: a flag carries no data; ",
		"number a.b flag\nnumber a.b error":      "2:8 bind-duplicate: second number a.b; ",
		"number a.b error d\nnumber a.c error d": "2:18 bind-duplicate: second number for the data a.d; ",
		"payload":                                "1:1 bind-syntax: found 1 word, expected payload CONST; ",
		"payload A\npayload A":                   "2:9 bind-duplicate: second payload A; ",
		"mesage a b":                             "1:1 bind-unknown-word: \"mesage\" is not a statement of a sidecar; did you mean message?",
		"ddp P.V args a":                         "1:5 bind-syntax: found \"P.V\", expected PROGRAM.VERSION.PROC; ",
		"ddp P.V.F arg a":                        "1:11 bind-syntax: found \"arg\", expected args or result; ",
		"ddp P.V.F args a..b":                    "1:16 bind-syntax: found \"a..b\", expected names separated by dots; ",
		"with":                                   "1:1 bind-syntax: found 1 word, expected with NAME...; ",
		"views all":                              "1:1 bind-syntax: found 2 words, expected views; ",
		"views\nviews":                           "2:1 bind-duplicate: second views; ",
		"with none\nwith string":                 "2:1 bind-duplicate: second with; ",
		"with string strnig":                     "1:13 bind-syntax: \"strnig\" is not an optional method; did you mean string?",
		"with string,json":                       "1:6 bind-syntax: \"string,json\" is not an optional method; separate the names with spaces: with string json",
		"rpc on":                                 "1:1 bind-syntax: found 2 words, expected rpc; ",
		"rpc\nrpc":                               "2:1 bind-duplicate: second rpc; ",
		"once":                                   "1:1 bind-syntax: found 1 word, expected once PROGRAM.VERSION.PROC; ",
		"once V.F":                               "1:6 bind-syntax: found \"V.F\", expected PROGRAM.VERSION.PROC; ",
		"once P.V.F\nonce P.V.F":                 "2:6 bind-duplicate: second once of P.V.F; ",
		"nonblocking":                            "1:1 bind-syntax: found 1 word, expected nonblocking PROGRAM.VERSION.PROC; ",
		"nonblocking V.F":                        "1:13 bind-syntax: found \"V.F\", expected PROGRAM.VERSION.PROC; ",
		"nonblocking P.V.F\nnonblocking P.V.F":   "2:13 bind-duplicate: second nonblocking of P.V.F; ",
		"reply P.V.F":                            "1:1 bind-syntax: found 2 words, expected reply PROGRAM.VERSION.PROC field.path; ",
		"reply P.V. n":                           "1:7 bind-syntax: found \"P.V.\", expected PROGRAM.VERSION.PROC; ",
		"reply P.V.F .n":                         "1:13 bind-syntax: found \".n\", expected names separated by dots; ",
		"reply P.V.F n\nreply P.V.F m":           "2:1 bind-duplicate: second reply of P.V.F; ",
		"attributes f F_":                        "1:1 bind-syntax: found 3 words, expected attributes STRUCT PREFIX GoName; ",
		"attributes f F_ attrs":                  "1:17 bind-syntax: \"attrs\" is not an exported Go name; start it with a capital letter, followed by letters, digits and _",
		"attributes f F_ A\nattributes f G_ B":   "2:12 bind-duplicate: second attributes of f; ",
		"ddp P.V.F args a\nddp P.V.F args  a":    "2:1 bind-duplicate: second ddp of a; ",
	} {
		if _, found := parse(text); len(found) != 1 || found[0] != want {
			t.Errorf("%q: %q, expected %q", text, found, want)
		}
	}
}
