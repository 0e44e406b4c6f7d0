package dynamic

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// twoFS has the text of the unit and its sidecar.
type twoFS struct{ unit, sidecar string }

func (f twoFS) ReadFile(name string) ([]byte, error) {
	switch {
	case strings.HasSuffix(name, ".x"):
		return []byte(f.unit), nil
	case strings.HasSuffix(name, ".bind"):
		return []byte(f.sidecar), nil
	}
	return nil, os.ErrNotExist
}
func (twoFS) ReadDir(string) ([]os.DirEntry, error) { return nil, os.ErrNotExist }

var codesUnit = twoFS{
	`const NUM = 1; const SELF = 2; const MANY = 3; const NIL = 4; const WORD = 5; const A = 1; const B = 8; const TOP = 0x80000000;
struct val { unsigned int which; opaque data<>; };
struct none { };
typedef none many<>;
typedef val set<>;
struct flags { unsigned int bits; int back; };
union same switch (int code) { case 5: hyper hint; default: void; };
`, `code property NUM many_num
code property SELF val
code property MANY many
code property NIL void
code property WORD word
code flag TOP void
code flag B void
code flag A void
number val.which property data
number flags.bits flag
number flags.back property
number same.code property
type many_num unsigned hyper
type word unsigned int
`,
}

func annotated(t testing.TB, typ string, data []byte, l Limits) (*Value, []*Error) {
	t.Helper()
	r, err := sema.Compile(sema.Options{Files: []string{"u.x"}, FS: codesUnit})
	if err != nil || r.Unit == nil {
		t.Fatal(err, r.Diags)
	}
	root, _ := Decode(data, mustType(t, r.Unit, typ), l)
	return root, NewCodes(r.Bind).Annotate(root, data, l)
}

// TestNumbersSelectTheirData shows the rows for numbers and for the data whose type they select.
func TestNumbersSelectTheirData(t *testing.T) {
	for _, c := range []struct {
		typ, xdr string
		rows     []string
		fault    string
	}{
		{"flags", "00000000 00000005", []string{"bits: 0 (no flags)", "back: WORD (5)"}, ""},
		{"flags", "80000009 ffffffff", []string{"bits: A | B | TOP (0x80000009)", "back: 4294967295 (unknown property)"}, ""},
		{"flags", "00000003 00000000", []string{"bits: A | unknown 0x2 (0x3)", "back: 0 (unknown property)"}, ""},
		{"flags", "00000004", []string{"bits: unknown 0x4 (0x4)"}, ""},
		{"same", "00000005 0000000000000009", []string{"code: WORD (5)", "hint: 9"}, ""},
		{"val", "00000001 00000008 0000000000000007", []string{"which: NUM (1)", "data: 8 bytes", "data: 7"}, ""},
		{"val", "00000001 00000007 0000000000000000", []string{"which: NUM (1)", "data: 7 bytes", "data rest 8"}, "data: offset 8: found 7 bytes before the end of the data of NUM, expected 8 (RFC 4506 §3)"},
		{"val", "00000005 00000006 0000000100000000", []string{"which: WORD (5)", "data: 6 bytes", "data: 1", "data rest 4"}, "data: offset 12: found 2 bytes after the value of WORD, expected the end of its data (the data is one value)"},
		{"val", "00000001 00000000", []string{"which: NUM (1)", "data: 0 bytes", "data rest 0"}, "data: offset 8: found 0 bytes before the end of the data of NUM, expected 8 (RFC 4506 §3)"},
		{"val", "00000004 00000000", []string{"which: NIL (4)", "data: 0 bytes"}, ""},
		{"val", "00000004 00000001 ff000000", []string{"which: NIL (4)", "data: 1 byte", "data rest 4"}, "data: offset 8: found 1 byte after NIL, which carries no data, expected the end of its data (the data is one value)"},
		{"val", "00000009 00000001 ff000000", []string{"which: 9 (unknown property)", "data: 1 byte", "data: 1 byte"}, ""},
		{"val", "00000001 00000008 00000000", []string{"which: NUM (1)", "data: 8 bytes"}, ""},
		{
			"val", "00000002 0000000c 00000005 00000004 00000007",
			[]string{"which: SELF (2)", "data: 12 bytes", "data.which: WORD (5)", "data.data: 4 bytes", "data.data: 7"},
			"",
		},
	} {
		data := unhex(t, c.xdr)
		root, faults := annotated(t, c.typ, data, Limits{})
		var rows []string
		for r := range Rows(root) {
			if r.Role == Rest {
				rows = append(rows, fmt.Sprintf("%s rest %d", r.Path, r.Length))
				continue
			}
			rows = append(rows, r.Path+": "+r.Text)
		}
		if d := cmp.Diff(c.rows, rows); d != "" {
			t.Errorf("%s %s:\n%s", c.typ, c.xdr, d)
		}
		var text []string
		for _, f := range faults {
			text = append(text, f.Error())
		}
		if got := strings.Join(text, "; "); got != c.fault {
			t.Errorf("%s %s:\nfound %s\nwant  %s", c.typ, c.xdr, got, c.fault)
		}
		checkRows(t, root, data[:root.Length])
	}
}

// TestAnnotateLimits checks that values in opaque data are bounded as other values are: in their
// number, and in their depth.
func TestAnnotateLimits(t *testing.T) {
	_, faults := annotated(t, "val", unhex(t, "00000003 00000004 ffffffff"), Limits{Values: 1000})
	if len(faults) != 1 || faults[0].Code != Memory {
		t.Errorf("many values: %v", faults)
	}
	var data []byte
	for range 200 {
		head := []byte{0, 0, 0, 2, 0, 0, byte(len(data) >> 8), byte(len(data))}
		data = append(head, data...)
	}
	_, faults = annotated(t, "val", data, Limits{})
	if len(faults) != 1 || faults[0].Code != Depth {
		t.Errorf("deep data: %v", faults)
	}
	set := append([]byte{0, 0, 0, 50}, bytes.Repeat(unhex(t, "00000003 00000004 000003e7"), 50)...)
	root, faults := annotated(t, "set", set, Limits{Values: 1500})
	if n := size(root); n > 3000 || len(faults) != 49 {
		t.Errorf("%d values, %d faults", n, len(faults))
	}
}

// size returns the number of values in a tree.
func size(v *Value) int {
	n := 1
	for _, item := range v.Items {
		n += size(item)
	}
	if v.Inner != nil {
		n += size(v.Inner)
	}
	return n
}

// TestAnnotateCut checks the rows for every prefix of a nested value.
func TestAnnotateCut(t *testing.T) {
	data := unhex(t, "00000002 00000014 00000002 0000000c 00000005 00000004 00000007")
	for n := range len(data) {
		root, faults := annotated(t, "val", data[:n], Limits{})
		checkRows(t, root, data[:root.Length])
		if len(faults) > 0 {
			t.Errorf("%d bytes: %v", n, faults)
		}
		for cut := 0; cut <= n; cut++ { // the count announces less than the nested value needs
			short := append(append([]byte{0, 0, 0, 2, 0, 0, 0, byte(cut)}, data[:cut]...), 0, 0, 0)
			root, faults := annotated(t, "val", short, Limits{})
			checkRows(t, root, short[:root.Length])
			for _, f := range faults {
				if e := (*Error)(nil); !errors.As(f, &e) || f.Offset+f.Length > 8+cut {
					t.Errorf("%d of %d bytes: %v", cut, n, f)
				}
			}
		}
	}
}
