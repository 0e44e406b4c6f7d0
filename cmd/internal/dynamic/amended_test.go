package dynamic

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// family is a random protocol, two extensions, and one text that has all three.
type family struct {
	*rand.Rand
	enums  []*randomEnum
	unions []*randomUnion
	types  []string // type names of the base so far

	base, merged strings.Builder // definitions that no extension changes
	lines        [2][]string     // of the sidecars
	text         [2]strings.Builder
	loose        [2][]string
}

type randomEnum struct {
	name    string
	open    bool
	members [3][]string // of the base and the extensions
	number  int
}

type randomUnion struct {
	name string
	disc *randomEnum
	arms [3][]string // of the base and the extensions
	last string      // the default
}

// typ returns a type for a field: one of the base, or a number or data.
func (f *family) field(name string, own []string) string {
	all := append(slices.Clone(f.types), own...)
	if len(all) > 0 && f.IntN(3) > 0 {
		t := all[f.IntN(len(all))]
		return []string{t + " " + name, t + " " + name + "<3>", t + " *" + name, t + " " + name + "[2]"}[f.IntN(4)]
	}
	return []string{"int " + name, "hyper " + name, "opaque " + name + "<5>", "string " + name + "<>", "bool " + name}[f.IntN(5)]
}

func newFamily(seed uint64) *family {
	f := &family{Rand: rand.New(rand.NewPCG(seed, 9))}
	both := func(format string, args ...any) {
		fmt.Fprintf(&f.base, format, args...)
		fmt.Fprintf(&f.merged, format, args...)
	}
	for i := range 2 + f.IntN(3) {
		e := &randomEnum{name: fmt.Sprintf("kind%d", i), open: f.IntN(3) == 0}
		for range 1 + f.IntN(3) {
			e.add(0)
		}
		f.enums, f.types = append(f.enums, e), append(f.types, e.name)
	}
	for i := range 3 + f.IntN(6) {
		switch f.IntN(3) {
		case 0:
			u := &randomUnion{name: fmt.Sprintf("choice%d", i), disc: f.enums[f.IntN(len(f.enums))]}
			for j, m := range u.disc.members[0] {
				if j > 0 && f.IntN(3) == 0 {
					continue
				}
				u.add(0, m, f.armData("b"+m, nil))
			}
			if f.IntN(2) == 0 {
				u.last = "default: " + f.armData("other", nil)
			}
			f.unions, f.types = append(f.unions, u), append(f.types, u.name)
		case 1:
			name := fmt.Sprintf("pair%d", i)
			both("struct %s { %s; %s; };\n", name, f.field("a", nil), f.field("b", nil))
			f.types = append(f.types, name)
		default:
			name := fmt.Sprintf("alias%d", i)
			both("typedef %s;\n", f.field(name, nil))
			f.types = append(f.types, name)
		}
	}
	for x := range 2 {
		f.extend(x + 1)
	}
	return f
}

func (f *family) armData(name string, own []string) string {
	if f.IntN(4) == 0 {
		return "void;"
	}
	return f.field(name, own) + ";"
}

func (e *randomEnum) add(part int) string {
	e.number++
	m := fmt.Sprintf("%s_M%d = %d", strings.ToUpper(e.name), e.number, e.number*3)
	e.members[part] = append(e.members[part], m)
	return m
}

func (u *randomUnion) add(part int, member, data string) {
	label, _, _ := strings.Cut(member, " ")
	u.arms[part] = append(u.arms[part], "case "+label+": "+strings.ReplaceAll(data, member, label))
}

// extend makes extension x, which is 1 or 2.
func (f *family) extend(x int) {
	own := fmt.Sprintf("new%d", x)
	def := fmt.Sprintf("struct %s { %s; %s; };\n", own, f.field("a", nil), f.field("b", nil))
	f.text[x-1].WriteString(def)
	f.merged.WriteString(def)
	for _, e := range f.enums {
		if f.IntN(2) == 0 {
			continue
		}
		for range 1 + f.IntN(2) {
			e.add(x)
		}
		f.added(x, "enum "+e.name+" { "+strings.Join(e.members[x], ", ")+" };\n", "/* In "+e.name+": */\n"+strings.Join(e.members[x], ",\n")+"\n", e.name)
	}
	for _, u := range f.unions {
		var names []string
		for _, m := range u.disc.members[x] {
			if f.IntN(3) > 0 {
				label, _, _ := strings.Cut(m, " ")
				u.add(x, m, f.armData("n"+label, []string{own}))
				names = append(names, label)
			}
		}
		if len(names) > 0 {
			arms := strings.Join(u.arms[x], "\n")
			f.added(x, "union "+u.name+" switch ("+u.disc.name+" d) {\n"+arms+"\n};\n", "/* New arms of "+u.name+". */\n"+arms+"\n", u.name)
		}
	}
}

// added writes an addition in one of the two forms.
func (f *family) added(x int, whole, loose, name string) {
	f.lines[x-1] = append(f.lines[x-1], "amend "+name)
	if f.IntN(2) == 0 {
		loose = whole
	}
	f.text[x-1].WriteString(loose)
}

// files returns the files of the units base, one, two, both and merged.
func (f *family) files() map[string]string {
	var opened string
	kinds := func(parts ...int) (text string) {
		for _, e := range f.enums {
			var all []string
			for _, p := range parts {
				all = append(all, e.members[p]...)
			}
			text += "enum " + e.name + " { " + strings.Join(all, ", ") + " };\n"
		}
		for _, u := range f.unions {
			text += "union " + u.name + " switch (" + u.disc.name + " d) {\n"
			for _, p := range parts {
				text += strings.Join(u.arms[p], "\n") + "\n"
			}
			text += u.last + "};\n"
		}
		return text
	}
	for _, e := range f.enums {
		if e.open {
			opened += "open " + e.name + "\n"
		}
	}
	lines := slices.Concat(f.lines[0], f.lines[1])
	slices.Sort(lines)
	return map[string]string{
		"base/base.x": kinds(0) + f.base.String(), "base/base.bind": opened,
		"one/one.x": "#include \"base/base.x\"\n" + f.text[0].String(), "one/one.bind": strings.Join(f.lines[0], "\n"),
		"two/two.x": "#include \"base/base.x\"\n" + f.text[1].String(), "two/two.bind": strings.Join(f.lines[1], "\n"),
		"both/both.x": "#include \"one/one.x\"\n#include \"two/two.x\"\n", "both/both.bind": strings.Join(slices.Compact(lines), "\n"),
		"merged/merged.x": kinds(0, 1, 2) + f.merged.String(), "merged/merged.bind": opened,
	}
}

func compileUnit(t *testing.T, dir, name string) *ir.Unit {
	t.Helper()
	r, err := sema.Compile(sema.Options{Files: []string{filepath.Join(dir, name, name+".x")}, Include: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Unit == nil {
		for _, d := range r.Diags {
			p := d.Span.Position()
			t.Errorf("%s:%d: %s: %s", d.Span.File.Name, p.Line, d.Rule.Info().Name, d.Message)
		}
		t.FailNow()
	}
	return r.Unit
}

// oldValues checks that values of a base have the same bytes in a unit that extends it, and returns
// their number.
func oldValues(t *testing.T, m *maker, base, extended *ir.Unit) int {
	t.Helper()
	n := 0
	for _, name := range Names(base) {
		old, err := Find(base, name)
		if err != nil {
			t.Fatal(err)
		}
		now, err := Find(extended, name)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			m.left = 30
			v := m.value("", -1, old)
			if v == nil {
				continue
			}
			data, err := Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			w, err := DecodeAll(data, now, Limits{})
			if err != nil {
				t.Fatalf("%s %x: %v", name, data, err)
			}
			if again, err := Encode(w); err != nil || string(again) != string(data) {
				t.Fatalf("%s %x: encoded again as %x, %v", name, data, again, err)
			}
			n++
		}
	}
	return n
}

// TestTwoExtensionsEqualOneText compares a unit that amends with two extensions with a unit whose
// text has all definitions in one place: each value has the same bytes, and
// data are refused at the same place for the same reason.
func TestTwoExtensionsEqualOneText(t *testing.T) {
	families := 60
	if testing.Short() {
		families = 12
	}
	values, refused := 0, 0
	for seed := range uint64(families) {
		f := newFamily(seed)
		dir := t.TempDir()
		for name, text := range f.files() {
			name = filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		both, merged := compileUnit(t, dir, "both"), compileUnit(t, dir, "merged")
		m := &maker{Rand: rand.New(rand.NewPCG(seed, 1))}
		if n := oldValues(t, m, compileUnit(t, dir, "base"), both); n < 20 {
			t.Errorf("seed %d: only %d values of the base", seed, n)
		}
		for _, name := range Names(merged) {
			want, err := Find(merged, name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Find(both, name)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for range 20 {
				m.left = 30
				v := m.value("", -1, want)
				if v == nil {
					continue
				}
				data, err := Encode(v)
				if err != nil {
					t.Fatal(err)
				}
				w, err := DecodeAll(data, got, Limits{})
				if err != nil {
					t.Fatalf("seed %d: %s %x: %v", seed, name, data, err)
				}
				again, err := Encode(w)
				if err != nil || string(again) != string(data) {
					t.Fatalf("seed %d: %s %x: encoded again as %x, %v", seed, name, data, again, err)
				}
				if w, err = DecodeAll(data, want, Limits{}); err != nil {
					t.Fatal(err)
				}
				values++
				if len(data) == 0 {
					continue
				}
				data[m.IntN(len(data))] ^= byte(1 << m.IntN(8))
				_, err1 := DecodeAll(data, want, Limits{})
				_, err2 := DecodeAll(data, got, Limits{})
				if fmt.Sprint(err1) != fmt.Sprint(err2) {
					t.Fatalf("seed %d: %s %x: one text: %v; two extensions: %v", seed, name, data, err1, err2)
				}
				if err1 != nil {
					refused++
				}
			}
		}
	}
	t.Logf("%d values, %d data refused", values, refused)
	if values < 50*families || refused < 5*families {
		t.Errorf("%d values and %d refused: too few", values, refused)
	}
}
