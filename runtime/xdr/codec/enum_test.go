package codec

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	stat = Enum{Name: "stat", Numbers: []int32{0, 1, 2, 5}, Names: []string{"OK", "ERR_PERM", "ERR_NOENT", "ERR_IO"}}
	// Two members have one number, and the numbers are the ends of the range.
	odd = Enum{Name: "odd", Open: true, Numbers: []int32{math.MinInt32, 0, 0, 2, math.MaxInt32}, Names: []string{"LOW", "ZERO", "NONE", "TWO", "HIGH"}}
	seq = Enum{Name: "seq", First: math.MaxInt32 - 1, Names: []string{"A", "B"}}
)

func TestEnumString(t *testing.T) {
	for _, c := range []struct {
		e    *Enum
		v    int32
		want string
	}{
		{&stat, 0, "OK"},
		{&stat, 2, "ERR_NOENT"},
		{&stat, 5, "ERR_IO"},
		{&stat, 3, "stat(3)"},
		{&stat, -1, "stat(-1)"},
		{&stat, 6, "stat(6)"},
		{&odd, math.MinInt32, "LOW"},
		{&odd, math.MaxInt32, "HIGH"},
		{&odd, 0, "ZERO"},
		{&odd, 2, "TWO"},
		{&odd, 1, "odd(1)"},
		{&seq, math.MaxInt32 - 1, "A"},
		{&seq, math.MaxInt32, "B"},
		{&seq, math.MinInt32, "seq(-2147483648)"},
		{&seq, 0, "seq(0)"},
	} {
		if got := c.e.String(c.v); got != c.want {
			t.Errorf("%s %d: got %s, want %s", c.e.Name, c.v, got, c.want)
		}
	}
}

func TestEnumMember(t *testing.T) {
	if name, ok := odd.Member(0); !ok || name != "ZERO" {
		t.Errorf("member 0: %s, %v", name, ok)
	}
	if name, ok := odd.Member(1); ok {
		t.Errorf("member 1: %s", name)
	}
	if got := seq.ByName(); len(got) != 2 || got["A"] != math.MaxInt32-1 || got["B"] != math.MaxInt32 {
		t.Errorf("by name: %v", got)
	}
}

func TestEnumParse(t *testing.T) {
	for _, c := range []struct {
		e    *Enum
		name string
		v    int32
		err  string
	}{
		{&stat, "ERR_IO", 5, ""},
		{&odd, "NONE", 0, ""},
		{&odd, "odd(-7)", -7, ""},
		{&stat, "err_io", 0, `xdr: "err_io" is not a member of enum stat: did you mean ERR_IO?`},
		{&stat, "ERR_PREM", 0, `xdr: "ERR_PREM" is not a member of enum stat: did you mean ERR_PERM?`},
		{&stat, "ERRNOENT", 0, `xdr: "ERRNOENT" is not a member of enum stat: did you mean ERR_NOENT?`},
		{&stat, "TOTALLY", 0, `xdr: "TOTALLY" is not a member of enum stat: expected a name of the .x file, such as OK`},
		{&stat, "stat(3)", 0, `xdr: "stat(3)" is not a member of enum stat: expected a name of the .x file, such as OK`},
		{&odd, "odd(2147483648)", 0, `xdr: "odd(2147483648)" is not a member of enum odd: expected a name of the .x file, such as LOW`},
		{&odd, "odd(1", 0, `xdr: "odd(1" is not a member of enum odd: expected a name of the .x file, such as LOW`},
		{&stat, strings.Repeat("x", 100), 0, `xdr: "` + strings.Repeat("x", 64) + `"... (100 bytes) is not a member of enum stat`},
		{&seq, "B", math.MaxInt32, ""},
	} {
		v, err := c.e.Parse(c.name)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if v != c.v || text != c.err {
			t.Errorf("%s %q: got %d, %s; want %d, %s", c.e.Name, c.name, v, text, c.v, c.err)
		}
	}
}

func TestEnumValues(t *testing.T) {
	type number int32
	if got := Values[number](&odd); !slices.Equal(got, []number{math.MinInt32, 0, 2, math.MaxInt32}) {
		t.Errorf("got %d", got)
	}
	if got := Values[number](&seq); !slices.Equal(got, []number{math.MaxInt32 - 1, math.MaxInt32}) {
		t.Errorf("got %d", got)
	}
}

// TestEnumAllocates requires that a member's name costs no memory.
func TestEnumAllocates(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		for i, name := range stat.Names {
			_ = stat.String(stat.Numbers[i])
			_, _ = stat.Parse(name)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzEnumParse parses any name. What parses prints as the same number.
func FuzzEnumParse(f *testing.F) {
	for _, name := range slices.Concat(stat.Names, odd.Names) {
		f.Add(name)
	}
	f.Add("odd(12)")
	f.Add("stat(\xff")
	f.Fuzz(func(t *testing.T, name string) {
		for _, e := range []*Enum{&stat, &odd, &seq} {
			v, err := e.Parse(name)
			if err != nil {
				if len(err.Error()) > 4*maxQuoted+200 {
					t.Errorf("%d bytes of error for a name of %d", len(err.Error()), len(name))
				}
				continue
			}
			if again, err := e.Parse(e.String(v)); err != nil || again != v {
				t.Errorf("%s %q: %d, then %d, %v", e.Name, name, v, again, err)
			}
		}
	})
}

func BenchmarkEnum(b *testing.B) {
	e := Enum{Name: "e"}
	for i := range int32(100) {
		e.Numbers, e.Names = append(e.Numbers, 3*i), append(e.Names, "MEMBER_"+strconv.Itoa(int(i)))
	}
	b.Run("String", func(b *testing.B) {
		for i := range b.N {
			_ = e.String(3 * int32(i%100))
		}
	})
	b.Run("Parse", func(b *testing.B) {
		for i := range b.N {
			_, _ = e.Parse(e.Names[i%100])
		}
	})
}
