package swap

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// A variant is a way to copy numbers of size bytes.
type variant struct {
	name string
	size int
	copy func(dst, src []byte)
}

// variants returns the functions of the package, and those in Go that they choose from.
func variants() []variant {
	all := []variant{{"Words", 4, Words}, {"Hypers", 8, Hypers}}
	if !bigEndian() {
		all = append(all, variant{"words", 4, words}, variant{"hypers", 8, hypers})
	}
	return all
}

// plain is the copy of src by the definition.
func plain(src []byte, size int) []byte {
	out := slices.Clone(src)
	if bigEndian() {
		return out
	}
	for i := 0; i < len(out); i += size {
		slices.Reverse(out[i : i+size])
	}
	return out
}

func random(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// margin is the number of bytes before and after a destination that must stay.
const margin = 64

// check copies the whole numbers of src to a place that begins at an offset of a buffer.
func (v variant) check(t *testing.T, src []byte, at int) {
	t.Helper()
	src = src[:len(src)/v.size*v.size]
	before := slices.Clone(src)
	buf := bytes.Repeat([]byte{0xa5}, margin+at+len(src)+margin)
	want := slices.Concat(buf[:margin+at], plain(src, v.size), buf[margin+at+len(src):])
	v.copy(buf[margin+at:][:len(src)], src)
	if !bytes.Equal(buf, want) {
		t.Fatalf("%s: %d bytes to offset %d: got\n%x, want\n%x", v.name, len(src), at, buf, want)
	}
	if !bytes.Equal(src, before) {
		t.Fatalf("%s: %d bytes to offset %d: the source was written", v.name, len(src), at)
	}
}

// Every length up to 130 numbers, at every alignment of source and destination to 32 bytes.
func TestLengthsAndAlignments(t *testing.T) {
	t.Logf("vector instructions: %v", wide)
	b := random(1, 131*8+64)
	step := 1
	if testing.Short() {
		step = 5
	}
	for _, v := range variants() {
		for n := range 131 {
			for from := 0; from < 32; from += step {
				for to := 0; to < 32; to += step {
					v.check(t, b[from:][:n*v.size], to)
				}
			}
		}
	}
}

func TestLong(t *testing.T) {
	b := random(2, 1<<20+256)
	for _, v := range variants() {
		for _, n := range []int{1 << 12, 1<<16 - 8, 1<<20 + 128} {
			v.check(t, b[3:][:n], 5)
		}
	}
}

// A copy onto itself is allowed.
func TestInPlace(t *testing.T) {
	for _, v := range variants() {
		for n := range 131 {
			b := random(3, n*v.size)
			want := plain(b, v.size)
			if v.copy(b, b); !bytes.Equal(b, want) {
				t.Errorf("%s: %d numbers in place: got\n%x, want\n%x", v.name, n, b, want)
			}
		}
	}
}

// Lengths that differ, or that are no multiple of the size, are mistakes of the caller.
func TestLengthsThatDiffer(t *testing.T) {
	for _, v := range []variant{{"Words", 4, Words}, {"Hypers", 8, Hypers}} {
		for _, c := range [][2]int{{0, v.size}, {v.size, 0}, {64, 64 + v.size}, {64 + v.size, 64}, {65, 65}, {v.size - 1, v.size - 1}} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: %d bytes to %d: no panic", v.name, c[1], c[0])
					}
				}()
				v.copy(make([]byte, c[0]), make([]byte, c[1]))
			}()
		}
	}
}

func FuzzCopy(f *testing.F) {
	f.Add([]byte("12345678"), uint8(0), uint8(0))
	f.Add(random(4, 300), uint8(1), uint8(9))
	f.Fuzz(func(t *testing.T, b []byte, from, to uint8) {
		for _, v := range variants() {
			v.check(t, b[min(int(from), len(b)):], int(to))
		}
	})
}

// The ratio of the other rows to move, the copy of the same bytes, is the figure of ADR 0081.
func BenchmarkCopy(b *testing.B) {
	for _, size := range []struct {
		name string
		n    int
	}{{"8", 8}, {"64", 64}, {"1Ki", 1 << 10}, {"64Ki", 1 << 16}, {"1Mi", 1 << 20}} {
		src := random(5, 8*size.n)
		dst := make([]byte, len(src))
		move := func(d, s []byte) { copy(d, s) }
		for _, v := range append([]variant{{"move4", 4, move}, {"move8", 8, move}}, variants()...) {
			b.Run(v.name+"/"+size.name, func(b *testing.B) {
				n := v.size * size.n
				b.SetBytes(int64(n))
				for b.Loop() {
					v.copy(dst[:n], src[:n])
				}
			})
		}
	}
}
