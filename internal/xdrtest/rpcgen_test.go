package xdrtest

import (
	"strings"
	"testing"
)

// TestOracle proves that the second oracle refuses faulty vectors.
func TestOracle(t *testing.T) {
	pair := func(name, wire string) Vector { return Vector{Name: name, Type: "Pair", Bytes: []byte(wire)} }
	out := oracle(t, []byte("struct pair { bool a; opaque b<>; };"), []Vector{
		pair("good", "\x00\x00\x00\x01\x00\x00\x00\x00"),
		pair("long", "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"),
		pair("boolean", "\x00\x00\x00\x02\x00\x00\x00\x00"),
		pair("padding", "\x00\x00\x00\x01\x00\x00\x00\x01a\x00\x00\x07"),
		{Name: "elsewhere", Type: "Other"},
	}, map[string]string{"Pair": "pair"})
	for _, want := range []string{
		"good: ok", "long: decodes 8 of 12 bytes", "boolean: encodes to other bytes", "padding: encodes to other bytes",
	} {
		if !strings.Contains(out, "\n"+want+"\n") {
			t.Errorf("no %q in%s", want, out)
		}
	}
	if strings.Contains(out, "elsewhere") {
		t.Error("a vector of a type without an XDR name was not left out")
	}
}
