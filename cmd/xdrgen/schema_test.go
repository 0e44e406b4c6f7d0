package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schema is the part of JSON Schema that the files of docs/schema use. Unlike JSON Schema, it
// rejects members that a schema does not mention.
type schema struct {
	Ref        string            `json:"$ref"`
	Defs       map[string]schema `json:"$defs"`
	OneOf      []schema
	Type       string
	Const      any
	Enum       []any
	Pattern    string
	Minimum    *float64
	Items      *schema
	Properties map[string]schema
	Required   []string
}

func readSchema(t *testing.T, name string) schema {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// fault returns how v differs from s, a part of root, or "" if it does not.
func (root schema) fault(s schema, v any, at string) string {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		d, ok := root.Defs[name]
		if !ok {
			return "no definition " + name
		}
		return root.fault(d, v, at)
	}
	if len(s.OneOf) > 0 {
		var faults []string
		for _, o := range s.OneOf {
			faults = append(faults, root.fault(o, v, at))
		}
		if fit := slices.Index(faults, ""); fit >= 0 && slices.Index(faults[fit+1:], "") < 0 {
			return ""
		}
		return at + ": not just one of: " + strings.Join(faults, "; ")
	}
	if s.Const != nil && v != s.Const || len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		return fmt.Sprintf("%s: %v, expected %v%v", at, v, s.Const, s.Enum)
	}
	kind := s.Type
	if kind == "" && s.Properties == nil {
		return ""
	}
	switch x := v.(type) {
	case string:
		if kind != "string" || !regexp.MustCompile(s.Pattern).MatchString(x) {
			return fmt.Sprintf("%s: string %q, expected %s %s", at, x, kind, s.Pattern)
		}
	case bool:
		if kind != "boolean" {
			return at + ": a boolean, expected " + kind
		}
	case float64:
		if kind != "integer" || x != float64(int64(x)) || s.Minimum != nil && x < *s.Minimum {
			return fmt.Sprintf("%s: number %v, expected %s", at, x, kind)
		}
	case []any:
		if kind != "array" {
			return at + ": an array, expected " + kind
		}
		for i, e := range x {
			if f := root.fault(*s.Items, e, fmt.Sprintf("%s[%d]", at, i)); f != "" {
				return f
			}
		}
	case map[string]any:
		if kind != "object" {
			return at + ": an object, expected " + kind
		}
		for _, r := range s.Required {
			if _, ok := x[r]; !ok {
				return at + ": no member " + r
			}
		}
		for _, name := range slices.Sorted(maps.Keys(x)) {
			p, ok := s.Properties[name]
			if !ok {
				return at + ": the schema does not speak of " + name
			}
			if f := root.fault(p, x[name], at+"."+name); f != "" {
				return f
			}
		}
	default:
		return fmt.Sprintf("%s: %v", at, v)
	}
	return ""
}

// TestOutputFitsTheSchemas checks the JSON output of the commands, also for faults, against the
// schemas, and that the outputs have every member of the schemas.
func TestOutputFitsTheSchemas(t *testing.T) {
	dir, err := filepath.Abs("../../docs/schema")
	if err != nil {
		t.Fatal(err)
	}
	bad, err := filepath.Abs("testdata/bad")
	if err != nil {
		t.Fatal(err)
	}
	const types = "const N = 4;\nenum e { A = 0, B = 1 };\nunion u switch (e k) { case A: string s<N>; case B: u *next; };\nstruct l { u v; l *next; };\nstruct m { l *all; opaque o<>; bool b; double d; };\nstruct a { int v<>; };\n"
	files := map[string]string{
		"t.x": types, "t.bin": "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02ab\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02xy\x00\x00\x00\x00\x00\x01\x40\x00\x00\x00\x00\x00\x00\x00",
		"m.x":    "const A = 1; const F = 2;\nstruct head { int kind; unsigned int bits; };\nstruct body { int which; opaque data<>; };\n",
		"m.bind": "code header-type A body\ncode property A void\ncode flag F void\nmessage head kind\nnumber head.bits flag\nnumber body.which property data default\n",
		"m.hex":  "00000001 00000006 00000001 00000000\n00000001 00000002 00000001 00000004 00000005\n",
		"new.x":  strings.Replace(types, "bool b", "hyper b", 1) + "struct z { int a; };\n",
		"doc.x":  "struct a { int x; int x };\n", "doc.x.origin": "xdr-origin 1 d.txt\n1 errata d.txt fix 7\n",
		"docn.x": "const C = 1;\nstruct a { hyper x; };\n", "docn.x.origin": "xdr-origin 1 d.txt\n1-2 d.txt 7\n",
		"doco.x": "const D = 1;\nstruct a { int x; };\n", "doco.x.origin": "xdr-origin 1 d.txt\n1-2 errata d.txt fix 7\n",
	}
	files["p.x"], files["calls.pcapng"] = callsUnit, string(callsCapture())
	t.Chdir(writeFiles(t, files))
	outputs := map[string][]string{
		"findings.json": {"check doc.x", "check t.x", "lint -level advice t.x", "lint doc.x", "check -errors 1 doc.x"},
		"compat.json":   {"compat t.x new.x", "compat new.x t.x", "compat t.x t.x", "compat docn.x doco.x"},
		"dump.json":     {"dump -type m t.bin t.x", "dump -type l t.bin t.x", "dump -rest -type u t.bin t.x", "dump -type u -hex 00000007 t.x", "dump -type a -hex 0000000900000000 t.x", "dump -message -split lines -as hex m.hex m.x", "dump -type head -split ends -hex 00000001000000020000000300000000 m.x"},
		"calls.json":    {"dump calls.pcapng p.x", "dump -v calls.pcapng"},
		"ladder.json":   {"dump -ladder text calls.pcapng calls.pcapng p.x"},
		"value.json":    {"json -type m t.bin t.x"},
		"sizes.json":    {"lint -sizes t.x"},
		"names.json":    {"gen -names t.x", "gen -names doco.x"},
	}
	badFiles, err := filepath.Glob(bad + "/*.x")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range badFiles {
		outputs["findings.json"] = append(outputs["findings.json"], "check -I "+bad+"/inc "+f)
	}
	for name, commands := range outputs {
		s, seen := readSchema(t, filepath.Join(dir, name)), map[string]bool{}
		for _, c := range commands {
			args := strings.Fields(c)
			if args[0] == "json" {
				args = append(args, "-compact")
			} else {
				args = append(args, "-format", "json")
			}
			stdout, stderr, _ := runCommand(t, args...)
			if stdout == "" {
				t.Errorf("%s: stdout is empty\n%s", c, stderr)
			}
			for _, v := range s.checkLines(t, name+": "+c, stdout) {
				collect(v, seen)
			}
		}
		for kind, d := range s.Defs {
			for p := range d.Properties {
				if !seen[p] {
					t.Errorf("%s: no output has the member %s of %s", name, p, kind)
				}
			}
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(outputs)) {
		if text, _ := help("formats"); !strings.Contains(text, "docs/schema/"+topic) {
			t.Errorf("help formats does not mention %s", topic)
		}
	}
}

// checkLines checks lines of JSON against the schema, and returns their values.
func (root schema) checkLines(t *testing.T, what, lines string) []any {
	t.Helper()
	var out []any
	for line := range strings.Lines(lines) {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if f := root.fault(root, v, "$"); f != "" {
			t.Errorf("%s: %s\n%s", what, f, line)
		}
		out = append(out, v)
	}
	return out
}

// collect records the names of members.
func collect(v any, seen map[string]bool) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			collect(e, seen)
		}
	case map[string]any:
		for name, e := range x {
			seen[name] = true
			collect(e, seen)
		}
	}
}

// TestSchemaFaults checks that the schema rejects wrong output.
func TestSchemaFaults(t *testing.T) {
	s := readSchema(t, "../../docs/schema/findings.json")
	const good = `{"v":1,"type":"summary","errors":0,"warnings":0,"hidden":0}`
	for line, want := range map[string]string{
		good: "",
		strings.Replace(good, `"v":1`, `"v":2`, 1):             "$.v: 2, expected 1",
		strings.Replace(good, `"errors":0,`, "", 1):            "no member errors",
		strings.Replace(good, `"hidden":0`, `"hidden":"0"`, 1): `string "0", expected integer`,
		strings.Replace(good, `"hidden":0`, `"hidden":-1`, 1):  "number -1",
		strings.Replace(good, `"v":1`, `"v":1,"new":1`, 1):     "does not speak of new",
		"[]": "an array, expected object",
	} {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if got := s.fault(s, v, "$"); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, expected %q", line, got, want)
		}
	}
}
