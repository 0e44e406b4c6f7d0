package codec

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// These tests call what generated code calls for items out of line.

// R57, R60: an item's position counts the roundup of the items before it, which left the stream
// with them. Items below Min, empty items and sites that were not offered stay in the stream.
func TestLeave(t *testing.T) {
	e := xdr.NewEncoder(nil)
	e.Reduce(xdr.Reduction{Sites: []xdr.Site{"a", "b"}, Min: 5}, 40)
	for _, tt := range []struct {
		site xdr.Site
		n    int
		want bool
	}{{"a", 5, true}, {"b", 100, true}, {"a", 4, false}, {"a", 0, false}, {"c", 100, false}} {
		if got := Reduces(e, tt.site, tt.n); got != tt.want {
			t.Errorf("%d bytes of %s leave the stream: %v", tt.n, tt.site, got)
		}
	}
	LeaveOut(e, "a", 4, make([]byte, 5))
	LeaveOut(e, "b", 8, make([]byte, 7))
	LeaveOut(e, "a", 12, make([]byte, 8))
	want := []uint64{40 + 4, 40 + 8 + 8, 40 + 12 + 8 + 8}
	for i, it := range e.Items() {
		if it.Position != want[i] {
			t.Errorf("item %d is at %d, want %d", i, it.Position, want[i])
		}
	}
}

// R53, R70, R83: a chunk has as many bytes as the count in the stream says, with or without the
// roundup. Any other number is an error. An empty item takes no chunk, even at its place.
func TestTake(t *testing.T) {
	for _, mode := range []string{"at", "order", "placed"} {
		for length := range 12 {
			for n := range 12 {
				d := xdr.NewDecoder(make([]byte, 64), nil)
				items := []xdr.Item{{Site: "a", Position: 4, Data: make([]byte, length)}}
				switch mode {
				case "at":
					d.ReinsertAt(0, items)
				case "order":
					d.ReinsertInOrder([]xdr.Site{"a"}, items)
				case "placed":
					d.ExpectAt(0, items)
				}
				data, ok, err := Take(d, "a", 4, n)
				fits := length == n || length == xdr.Padded(n)
				switch {
				case n == 0 && mode != "order":
					if ok || err != nil || !Reinserts(d) {
						t.Errorf("%s: an empty item takes a chunk of %d bytes: %v", mode, length, err)
					}
				case !fits:
					if !errors.Is(err, xdr.ErrChunk) {
						t.Errorf("%s: a chunk of %d bytes for an item of %d: %v", mode, length, n, err)
					}
				case err != nil || ok != (mode != "placed") || ok && len(data) != n || Reinserts(d):
					t.Errorf("%s: a chunk of %d bytes for an item of %d: %d bytes, %v, %v", mode, length, n, len(data), ok, err)
				}
			}
		}
	}
}

// Results that are inline go to the memory for them if they fit, in both modes. Those that came out
// of line leave it alone, and so do data that is not eligible.
func TestInlineResultsGoToTheirMemory(t *testing.T) {
	input := []byte{0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 2, 0, 0, 0, 2, 4, 5, 0, 0, 0, 0, 0, 2, 6, 7, 0, 0, 0, 0, 0, 0}
	out := []byte{8, 9}
	for _, alias := range []bool{false, true} {
		for _, sizes := range [][]int{{3, 2, 2, 0}, {8, 8, 8, 8}, {2, 2, 1, 1}, {0, 0, 0, 0}, {3}, {}} {
			var memory [][]byte
			for _, n := range sizes {
				memory = append(memory, append(make([]byte, 0, 9), make([]byte, n)...))
			}
			d := xdr.NewDecoder(input, &xdr.DecoderOptions{Alias: alias})
			d.PlaceInOrder([]xdr.Site{"a"}, []xdr.Item{{}, {Data: out}, {}, {}}, memory)
			off := 0
			for i, tt := range []struct {
				site xdr.Site
				want []byte
				item int // -1: not eligible
			}{{"a", input[4:7], 0}, {"a", out, 1}, {"b", []byte{4, 5}, -1}, {"a", []byte{6, 7}, 2}, {"a", nil, 3}} {
				var got []byte
				var err error
				if off, err = GetItem(d, input, off, 100, tt.site, &got); err != nil || !bytes.Equal(got, tt.want) {
					t.Fatalf("memory of %v: value %d is %v, want %v: %v", sizes, i, got, tt.want, err)
				}
				if len(got) == 0 {
					continue
				}
				placed := false
				for _, m := range memory {
					placed = placed || &got[0] == &m[:1][0]
				}
				if placed && (tt.item < 0 || &got[0] != &memory[tt.item][:1][0]) {
					t.Errorf("memory of %v: value %d is in memory for another", sizes, i)
				}
				if want := i != 1 && tt.item >= 0 && tt.item < len(memory) && len(memory[tt.item]) >= len(tt.want); placed != want || placed && cap(got) != len(got) {
					t.Errorf("memory of %v: value %d is in its memory: %v, of capacity %d", sizes, i, placed, cap(got))
				}
				if inInput := &got[0] == &input[min(off, len(input))-min(off, 4)] && i != 1; !alias && inInput {
					t.Errorf("value %d is not a copy", i)
				}
			}
			if err := d.Done(); off != len(input) {
				t.Errorf("read %d of %d bytes: %v", off, len(input), err)
			}
			if d.Alias != alias {
				t.Errorf("the mode has changed from %v", alias)
			}
			if len(memory) > 1 && !bytes.Equal(memory[1], make([]byte, len(memory[1]))) {
				t.Errorf("memory for a result out of line was written: %v", memory[1])
			}
		}
	}
}

// Padding that is not zero, and data that is cut off, are errors of results with memory, too.
func TestBrokenInlineResults(t *testing.T) {
	for name, tt := range map[string]struct {
		input []byte
		want  error
	}{
		"cut off": {[]byte{0, 0, 0, 3, 1, 2}, xdr.ErrShort},
		"padding": {[]byte{0, 0, 0, 3, 1, 2, 3, 4}, xdr.ErrPadding},
		"long":    {[]byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4}, xdr.ErrBound},
	} {
		memory, got := make([]byte, 8), []byte("old")
		d := xdr.NewDecoder(tt.input, nil)
		d.PlaceInOrder([]xdr.Site{"a"}, []xdr.Item{{}}, [][]byte{memory})
		if _, err := GetItem(d, tt.input, 0, 100, "a", &got); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if d.Alias || !bytes.Equal(memory, make([]byte, 8)) {
			t.Errorf("%s: memory %v, alias: %v", name, memory, d.Alias)
		}
	}
}

// While the elements of an item are read, no element is taken for an item.
func TestWithin(t *testing.T) {
	d := xdr.NewDecoder(make([]byte, 64), nil)
	d.ReinsertInOrder([]xdr.Site{"a"}, []xdr.Item{{Site: "a", Data: make([]byte, 4)}})
	for _, within := range []bool{true, false} {
		if Within(d, within); Reinserts(d) == within {
			t.Errorf("within %v: looks for items: %v", within, Reinserts(d))
		}
	}
}

// Each field of Lenient switches off only its own rule.
func TestLenientOneByOne(t *testing.T) {
	codes := []xdr.Code{xdr.CodePadding, xdr.CodeBool, xdr.CodeEnum, xdr.CodeChunk, xdr.CodeMemory, xdr.CodeBound}
	for i, l := range []xdr.Lenient{{Padding: true}, {Booleans: true}, {Enums: true}} {
		d := xdr.NewDecoder(nil, &xdr.DecoderOptions{Lenient: l})
		for j, code := range codes {
			if Refuses(&d.Rules, code) != (i != j) {
				t.Errorf("%+v: refuses %v: %v", l, code, Refuses(&d.Rules, code))
			}
		}
	}
}

// Every byte of the padding is checked, and no byte of the data.
func TestZeroPad(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for at := range 12 {
			b := make([]byte, 16)
			b[2+at] = 0x80
			if got, want := ZeroPad(b, 2, n), at < n || at >= xdr.Padded(n); got != want {
				t.Errorf("%d bytes, byte %d is not 0: %v", n, at, got)
			}
		}
	}
}
