package codec

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// The opaque data of a message is copied into at most two arenas, however many items it has.
func TestCopyingUsesTwoArenas(t *testing.T) {
	b := make([]byte, 4096)
	n := testing.AllocsPerRun(100, func() {
		var d xdr.Decoder
		d.Reset(b)
		for i := 0; i < len(b); i += 64 {
			Bytes(&d, b[i:i+64:i+64])
		}
	})
	if n != 2 {
		t.Errorf("%v allocations, want 2: a third of the input, and the rest", n)
	}
}

// After a large item, the second arena has the size of the rest of the input. It has no room for
// the large item again.
func TestSecondArenaIsForTheRest(t *testing.T) {
	b := make([]byte, 3000)
	var d xdr.Decoder
	d.Reset(b)
	Bytes(&d, b[:2000:2000])
	Bytes(&d, b[2000:2900:2900])
	if n := len(d.Whole); n != 1000+spare(3000) {
		t.Errorf("the second arena has room for %d bytes, 1000 were left", n)
	}
	d.Reset(b)
	Bytes(&d, b[:10:10])
	if n := len(d.Whole); n != 1000+spare(3000) {
		t.Errorf("after Reset the first arena has room for %d bytes, want a third of 3000", n)
	}
}

// A Decoder that is recycled reuses its arena, if that is large enough.
func TestRecycle(t *testing.T) {
	b := make([]byte, 4096)
	d := xdr.NewDecoder(nil, nil)
	read := func(n int) (items [][]byte) {
		d.Recycle(b[:n])
		for i := 0; i < n; i += 64 {
			items = append(items, Bytes(d, b[i:i+64:i+64]))
		}
		return items
	}
	large := read(4096)
	small := read(1024)
	if &small[0][0] != &large[0][0] || &small[15][63] != &large[15][63] {
		t.Error("a recycled decoder does not use its arena again")
	}
	if n := testing.AllocsPerRun(10, func() { d.Recycle(b); Bytes(d, b[:4000:4000]); Bytes(d, b[4000:4096:4096]) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
	d.Reset(b)
	if p := Bytes(d, b[:64:64]); &p[0] == &large[0][0] {
		t.Error("after Reset the arena belongs to the values, and is used again")
	}
	d.Recycle(b[:2048])
	d.Recycle(b)
	Bytes(d, b[:2048:2048])
	if n := len(d.Whole); n != 4096+spare(4096) {
		t.Errorf("an arena of %d bytes for an input of 4096", n)
	}
}

// A Decoder in aliasing mode that is recycled is only reset.
func TestRecycleAliasing(t *testing.T) {
	b := []byte("abcdefgh")
	d := xdr.NewDecoder(b, &xdr.DecoderOptions{Alias: true})
	d.Recycle(b)
	if p := Bytes(d, d.Buf[:4:4]); &p[0] != &b[0] || d.Whole != nil {
		t.Error("it copies")
	}
}

// Wide data begins at an address to which copying is fast, after data of any length. A recycled
// Decoder still has room for all of it.
func TestWideDataInTheArena(t *testing.T) {
	b := make([]byte, 64<<10)
	for i := range b {
		b[i] = byte(i * 7)
	}
	d := xdr.NewDecoder(nil, nil)
	read := func() {
		d.Recycle(b)
		for i, n := 0, 1; i+n <= len(b); i, n = i+n, n*3%9973+n%2 {
			p := Bytes(d, b[i:i+n:i+n])
			if !bytes.Equal(p, b[i:i+n]) || cap(p) != n {
				t.Fatalf("%d bytes at %d are not copied, or have a capacity of %d", n, i, cap(p))
			}
			if at := len(d.Whole) - len(d.Arena) - n; n >= wide && at%16 != 8 {
				t.Fatalf("%d bytes at %d begin at %d of the arena", n, i, at)
			}
		}
	}
	if n := testing.AllocsPerRun(3, read); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
	for _, n := range []int{wide, largeData - 1, largeData, largeData + 1} {
		d.Reset(b[:n])
		if p := Bytes(d, b[:n:n]); !bytes.Equal(p, b[:n]) || len(p) != n || cap(p) != n {
			t.Errorf("%d bytes alone are not copied", n)
		}
	}
}
