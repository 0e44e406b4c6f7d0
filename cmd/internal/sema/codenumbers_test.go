package sema

import (
	"strings"
	"testing"
)

const numbersUnit = `const MSG = 0; const ERR = 4; const P_SIZE = 1;
struct start { unsigned int xid; unsigned int kind; opaque raw<>; };
typedef start begin;
struct head { begin first; unsigned int flags; hyper wide; };
struct val { int which; opaque data<8>; opaque fixed[4]; string name<>; };
enum which { SOME = 1 };
struct list { which w; opaque data<>; list *next; };
union fail switch (unsigned int code) { case 1: opaque data<>; default: void; };
`

// TestNumberLinesAreChecked checks the statements that say where messages have code points, and
// their faults.
func TestNumberLinesAreChecked(t *testing.T) {
	const codes = "code header-type MSG head\ncode property ERR void\n"
	for _, c := range []struct{ line, want string }{
		{"message head first.kind\npayload MSG", ""},
		{"number val.which property data default", ""},
		{"number list.w error data", ""},
		{"number fail.code error", ""},
		{"number head.flags flag\nnumber start.kind header-type\nmessage head first.kind", ""},
		{"message none kind", "bind-unknown-name: the unit has no struct or union none"},
		{"message heat first.kind", "bind-unknown-name: the unit has no struct or union heat (did you mean head?)"},
		{"message which SOME", "bind-unknown-name: the unit has no struct or union which"},
		{"message fail code", "bind-code: fail is a union, expected a struct that messages begin with (name the struct that messages begin with)"},
		{"message list w", "bind-code: list is a linked list, expected a struct that messages begin with (name the struct that messages begin with)"},
		{"message head first.kid", "bind-unknown-name: struct start has no field kid (use one of xid, kind, raw)"},
		{"message head frist.kind", "bind-unknown-name: struct head has no field frist (use one of first, flags, wide)"},
		{"message head flags.kind", "bind-code: field flags of head is unsigned int, expected a struct (name the fields from the struct down to the number of the header type)"},
		{"message head first", "bind-code: field first of head is struct start, expected a number of 32 bits (name the field that holds the number of the code point)"},
		{"message head wide", "bind-code: field wide of head is hyper, expected a number of 32 bits (name the field that holds the number of the code point)"},
		{"number start.kind property\nmessage head first.kind", "bind-duplicate: start.kind has the number of the header type, but also numbers of the space property"},
		{"number val.with property", "bind-unknown-name: struct val has no field with (use one of which, data, fixed, name)"},
		{"number val.name property", "bind-code: field name of val is string, expected a number of 32 bits (name the field that holds the number of the code point)"},
		{"number val.which property dat", "bind-unknown-name: struct val has no field dat (use one of which, data, fixed, name)"},
		{"number val.which property fixed", "bind-code: field fixed of val is opaque, expected opaque data with a count (name the opaque field that holds the data of the code point)"},
		{"number val.which property name", "bind-code: field name of val is string, expected opaque data with a count (name the opaque field that holds the data of the code point)"},
		{"number fail.data error", "bind-unknown-name: union fail has no field data (use one of code)"},
		{"payload ERR", "bind-unknown-name: the sidecar has no header type ERR (add the line: code header-type ERR TYPE)"},
	} {
		r := compileFiles(t, Options{}, map[string]string{"u.x": numbersUnit, "u.bind": codes + c.line + "\n"}, "u.x")
		var got []string
		for _, d := range r.Diags {
			text := d.Rule.Info().Name + ": " + d.Message
			if d.Help != "" {
				text += " (" + d.Help + ")"
			}
			got = append(got, text)
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s:\nfound %s\nwant  %s", c.line, s, c.want)
		}
	}
}

// TestNumbersOfUnits checks that the statements of an included unit hold for its structs, and that
// an extension adds its own.
func TestNumbersOfUnits(t *testing.T) {
	r := compileFiles(t, Options{ImportRoot: "example.org"}, map[string]string{
		"base/base.x": numbersUnit, "base/base.bind": "code header-type MSG head\nmessage head first.kind\npayload MSG\n",
		"ext/ext.x":    "#include \"base/base.x\"\nconst HINT = 9; struct hint { start s; };\n",
		"ext/ext.bind": "code header-type HINT hint\npayload HINT\nmessage hint s.xid\n",
	}, "ext/ext.x")
	if r.Unit == nil || len(r.Diags) > 0 {
		t.Fatal(r.Diags)
	}
	base := r.Unit.Imports[0].Bind
	if n := base.Numbers; len(n) != 1 || n[0].Decl.Name != "start" || n[0].Field != "kind" || base.Messages[0].Decl.Name != "head" || !base.Codes[0].Payload {
		t.Errorf("base: %+v", base)
	}
	if n := r.Bind.Numbers; len(n) != 1 || n[0].Decl != base.Numbers[0].Decl || n[0].Field != "xid" || !r.Bind.Codes[0].Payload {
		t.Errorf("extension: %+v", r.Bind)
	}
}
