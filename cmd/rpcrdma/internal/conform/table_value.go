package conform

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform/program"
)

// value is an argument of a procedure that returns it.
type value struct {
	name string
	hex  string
	back string // the right value, which comes back unless the server refuses the wrong one
	bad  bool   // GARBAGE_ARGS
}

// values are the arguments of one procedure.
type values struct {
	name, section string
	proc          uint32
	list          []value
}

// tooMuch is the name of a value that bytes follow.
const tooMuch = "followed-by-4-bytes"

// valueTable has values of each XDR type, at their bounds and beyond, in hexadecimal.
var valueTable = []values{
	{"int", "RFC 4506 §4.1", program.ProcInt, []value{
		{name: "0", hex: "00000000"}, {name: "least", hex: "80000000"}, {name: "largest", hex: "7fffffff"}, {name: "minus-1", hex: "ffffffff"},
		{name: "none", bad: true}, {name: "2-bytes", hex: "0000", bad: true}, {name: tooMuch, hex: "0000000100000002", back: "00000001"},
	}},
	{"unsigned", "RFC 4506 §4.2", program.ProcUint, []value{{name: "0", hex: "00000000"}, {name: "largest", hex: "ffffffff"}, {name: "none", bad: true}}},
	{"hyper", "RFC 4506 §4.5", program.ProcHyper, []value{
		{name: "0", hex: "0000000000000000"}, {name: "least", hex: "8000000000000000"}, {name: "largest", hex: "7fffffffffffffff"}, {name: "minus-1", hex: "ffffffffffffffff"},
		{name: "order-of-halves", hex: "0000000100000002"}, {name: "4-bytes", hex: "00000001", bad: true},
	}},
	{"unsigned-hyper", "RFC 4506 §4.5", program.ProcUhyper, []value{{name: "largest", hex: "ffffffffffffffff"}, {name: "order-of-halves", hex: "0000000100000002"}, {name: "4-bytes", hex: "00000001", bad: true}}},
	{"float", "RFC 4506 §4.6", program.ProcFloat, []value{
		{name: "1.5", hex: "3fc00000"}, {name: "minus-0", hex: "80000000"}, {name: "infinity", hex: "7f800000"}, {name: "nan", hex: "7fc00000"}, {name: "smallest", hex: "00000001"}, {name: "largest", hex: "7f7fffff"},
	}},
	{"double", "RFC 4506 §4.7", program.ProcDouble, []value{
		{name: "1.5", hex: "3ff8000000000000"}, {name: "minus-0", hex: "8000000000000000"}, {name: "infinity", hex: "7ff0000000000000"}, {name: "nan", hex: "7ff8000000000000"},
		{name: "smallest", hex: "0000000000000001"}, {name: "4-bytes", hex: "3ff80000", bad: true},
	}},
	{"bool", "RFC 4506 §4.4", program.ProcBool, []value{
		{name: "false", hex: "00000000"}, {name: "true", hex: "00000001"}, {name: "2", hex: "00000002", bad: true}, {name: "minus-1", hex: "ffffffff", bad: true}, {name: "first-byte", hex: "01000000", bad: true},
	}},
	{"enum", "RFC 4506 §4.3", program.ProcEnum, []value{
		{name: "0", hex: "00000000"}, {name: "2", hex: "00000002"}, {name: "1000", hex: "000003e8"}, {name: "unassigned", hex: "00000001", bad: true}, {name: "negative", hex: "fffffffe", bad: true},
	}},
	{"opaque-fixed", "RFC 4506 §4.9", program.ProcFixed, []value{
		{name: "5-bytes", hex: "0102030405000000"}, {name: "padding-not-zero", hex: "01020304050000ff", back: "0102030405000000"}, {name: "without-padding", hex: "0102030405", bad: true}, {name: "4-bytes", hex: "01020304", bad: true},
	}},
	{"opaque", "RFC 4506 §4.10", program.ProcBytes, []value{
		{name: "0-bytes", hex: "00000000"}, {name: "1-byte", hex: "0000000101000000"}, {name: "2-bytes", hex: "0000000201020000"}, {name: "3-bytes", hex: "0000000301020300"}, {name: "4-bytes", hex: "0000000401020304"},
		{name: "bound", hex: "0000000a0102030405060708090a0000"}, {name: "over-the-bound", hex: "0000000b0102030405060708090a0b00", bad: true},
		{name: "padding-not-zero", hex: "0000000101ffffff", back: "0000000101000000"}, {name: "without-padding", hex: "0000000101", bad: true}, {name: "longer-than-message", hex: "0000000801020304", bad: true},
		{name: "2-gib", hex: "8000000001020304", bad: true}, {name: "4-gib", hex: "ffffffff01020304", bad: true}, {name: "none", bad: true},
	}},
	{"string", "RFC 4506 §4.11", program.ProcString, []value{
		{name: "empty", hex: "00000000"}, {name: "1-byte", hex: "0000000161000000"}, {name: "bound", hex: "00000009616263646566676869000000"}, {name: "over-the-bound", hex: "0000000a6162636465666768696a0000", bad: true},
		{name: "nul-inside", hex: "0000000361006200"}, {name: "padding-not-zero", hex: "0000000161ff0000", back: "0000000161000000"}, {name: "longer-than-message", hex: "0000000861626364", bad: true}, {name: "4-gib", hex: "ffffffff61626364", bad: true},
	}},
	{"array-fixed", "RFC 4506 §4.12", program.ProcThree, []value{{name: "3", hex: "000000010000000200000003"}, {name: "2", hex: "0000000100000002", bad: true}}},
	{"array", "RFC 4506 §4.13", program.ProcSeven, []value{
		{name: "0", hex: "00000000"}, {name: "1", hex: "0000000100000007"}, {name: "bound", hex: "00000007" + strings.Repeat("00000009", 7)}, {name: "over-the-bound", hex: "00000008" + strings.Repeat("00000009", 8), bad: true},
		{name: "longer-than-message", hex: "0000000300000001", bad: true}, {name: "4-gib", hex: "ffffffff00000001", bad: true}, {name: "length-wraps", hex: "4000000100000001", bad: true},
	}},
	{"struct", "RFC 4506 §4.14", program.ProcStruct, []value{
		{name: "full", hex: "00000001010203000000000100000002000000036162630000000000"[:48]}, {name: "empty-string", hex: "0000000001020300000000010000000200000000"},
		{name: "bool-2", hex: "0000000201020300000000010000000200000000", bad: true}, {name: "cut", hex: "00000001010203000000000100000002", bad: true},
	}},
	{"union", "RFC 4506 §4.15", program.ProcUnion, []value{
		{name: "void", hex: "00000000"}, {name: "int", hex: "0000000100000007"}, {name: "string", hex: "000000020000000161000000"}, {name: "default", hex: "000000630000000401020304"}, {name: "default-negative", hex: "ffffffff00000000"},
		{name: "default-over-the-bound", hex: "00000063000000050102030405000000", bad: true}, {name: "arm-missing", hex: "00000001", bad: true}, {name: "none", bad: true},
	}},
	{"optional", "RFC 4506 §4.19", program.ProcList, []value{
		{name: "absent", hex: "00000000"}, {name: "1-node", hex: "000000010000000700000000"}, {name: "100-nodes", hex: strings.Repeat("0000000100000007", 100) + "00000000"},
		{name: "2", hex: "000000020000000700000000", bad: true}, {name: "without-end", hex: "0000000100000007", bad: true}, {name: "end-2", hex: "000000010000000700000002", bad: true},
	}},
}

// valueCases are the cases of arguments and results (RFC 4506).
func valueCases() []Case {
	var list []Case
	for i := range valueTable {
		t := &valueTable[i]
		for _, v := range t.list {
			list = append(list, valueCase(t, v))
		}
	}
	for _, n := range []int{100, 1000, 8000} {
		list = append(list, dataCase(n, TCP|UDP))
	}
	return append(list, dataCase(65536, TCP), dataCase(500_001, TCP))
}

func valueCase(t *values, v value) Case {
	allowed := []string{"SUCCESS " + v.hex}
	switch {
	case v.bad:
		allowed = []string{"GARBAGE_ARGS"}
	case v.back != "":
		allowed = []string{"SUCCESS " + v.back, "GARBAGE_ARGS"}
	}
	c := Case{Name: "value/" + t.name + "-" + v.name, Section: t.section, On: all, Echo: true}
	c.steps = one(func(target *Target) call { return target.call(t.proc, unhex(v.hex)) }, allowed...)
	return c
}

// dataCase has n bytes.
func dataCase(n int, on Carrier) Case {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * 7)
	}
	args := opaque(data)
	c := Case{Name: fmt.Sprintf("value/data-%d", n), Section: "RFC 4506 §4.10", On: on, Echo: true}
	c.steps = one(func(t *Target) call { return t.call(program.ProcData, args) }, "SUCCESS "+hex.EncodeToString(args))
	return c
}
