package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// names is an array of opaque data, as generated code would read it: opaque names<>.
type names [][]byte

func (v *names) EncodeXDR(*xdr.Encoder) error { panic("not used") }
func (v *names) XDRSize() int                 { panic("not used") }

func (v *names) DecodeXDR(d *xdr.Decoder) (err error) {
	b, off := d.Buf, d.Off
	word := func(path string, i int) (n uint64, err error) {
		if Lacks(b, off, 4) {
			return 0, Short(b, off, 4, path, i)
		}
		off += 4
		return uint64(binary.BigEndian.Uint32(b[off-4:])), nil
	}
	count, err := word("p.Names:", 0)
	if err != nil {
		return err
	}
	if count > uint64(len(b)-off)/4 {
		return Fail(xdr.CodeCount, off-4, count, uint64(len(b)-off)/4, "p.Names:")
	}
	for i := range int(count) {
		n, err := word("p.Names:[]", i)
		if err != nil {
			return err
		}
		if (n+3)&^3 > uint64(len(b)-off) {
			return Short(b, off, xdr.Padded(int(n)), "p.Names:[]", i)
		}
		*v = append(*v, Bytes(d, b[off:off+int(n):off+int(n)]))
		off += xdr.Padded(int(n))
	}
	d.Off = off
	return nil
}

func namesExtent(f *Feed) {
	for n := f.Count(1<<32-1, 4); f.Left(n); n-- {
		f.Opaque(1<<32 - 1)
	}
}

func (v *names) decodeFrom(r io.Reader, limit int) error {
	return DecodeFrom(v, r, limit, 4, namesExtent)
}

// wire returns words, each as four bytes.
func wire(words ...uint32) []byte {
	var b []byte
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// many returns the encoding of n names of 5 bytes.
func many(n int) []byte {
	b := wire(uint32(n))
	for range n {
		b = append(b, 0, 0, 0, 5, 'n', 'a', 'm', 'e', 's', 0, 0, 0)
	}
	return b
}

// oddReader is a reader whose results are set.
type oddReader struct {
	n   int
	err error
}

func (r oddReader) Read([]byte) (int, error) { return r.n, r.err }

// TestDecodeFromErrors checks the text and the kind of each error.
func TestDecodeFromErrors(t *testing.T) {
	broken := errors.New("the cable is cut")
	for _, c := range []struct {
		name  string
		r     io.Reader
		limit int
		is    error
		text  string
	}{
		{"no bytes", bytes.NewReader(nil), -1, io.EOF, "EOF"},
		{
			"a part of the first word", bytes.NewReader([]byte{0, 0}), -1, io.ErrUnexpectedEOF,
			"xdr: p.Names: offset 0: 2 bytes left, 4 needed (RFC 4506 §3): unexpected EOF",
		},
		{
			"ends in the second name", bytes.NewReader(many(3)[:20]), -1, io.ErrUnexpectedEOF,
			"xdr: p.Names[1]: offset 20: 0 bytes left, 8 needed (RFC 4506 §3): unexpected EOF",
		},
		{
			"ends after the count", bytes.NewReader(wire(7)), -1, io.ErrUnexpectedEOF,
			"xdr: p.Names: offset 0: count 7 is larger than the 0 that can be there (RFC 4506 §4.13): unexpected EOF",
		},
		{
			"over the limit in a count", bytes.NewReader(wire(1<<31, 0)), 1000, xdr.ErrLimit,
			"xdr: p.Names: offset 0: the value has 8589934596 bytes or more, the limit is 1000 (limit of DecodeFrom)",
		},
		{
			"over the limit in the third name", bytes.NewReader(many(3)), 39, xdr.ErrLimit,
			"xdr: p.Names[2]: offset 32: the value has 40 bytes or more, the limit is 39 (limit of DecodeFrom)",
		},
		{
			"limit 0", bytes.NewReader(many(3)), 0, xdr.ErrLimit,
			"xdr: p.Names: offset 0: the value has 4 bytes or more, the limit is 0 (limit of DecodeFrom)",
		},
		{
			"a reader that fails", io.MultiReader(bytes.NewReader(many(3)[:18]), oddReader{err: broken}), -1, broken,
			"xdr: p.Names[1]: reading at offset 18: the cable is cut",
		},
		{"a reader that reads nothing", oddReader{}, -1, io.ErrNoProgress, "xdr: p.Names: reading at offset 0: " + io.ErrNoProgress.Error()},
		{"a reader with a negative count", oddReader{n: -1}, -1, nil, "xdr: p.Names: reading at offset 0: the reader returned a count of -1 for 4 bytes"},
		{"a reader with a count too large", oddReader{n: 99}, -1, nil, "xdr: p.Names: reading at offset 0: the reader returned a count of 99 for 4 bytes"},
	} {
		err := new(names).decodeFrom(c.r, c.limit)
		if err == nil || err.Error() != c.text || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.text)
		}
		if errors.Is(err, io.EOF) != (c.is == io.EOF) {
			t.Errorf("%s: only a reader without any bytes may give io.EOF", c.name)
		}
	}
}

// TestDecodeFromLimit reads a value with just its size as the limit.
func TestDecodeFromLimit(t *testing.T) {
	in := many(3)
	if err := new(names).decodeFrom(bytes.NewReader(in), len(in)); err != nil {
		t.Error(err)
	}
}

// slow returns at most a number of bytes at a time, and sometimes none.
type slow struct {
	io.Reader
	most, calls int
}

func (r *slow) Read(p []byte) (int, error) {
	if r.calls++; r.calls%3 == 0 {
		return 0, nil
	}
	return r.Reader.Read(p[:min(len(p), r.most)])
}

// TestDecodeFromMemory reads input with counts of gigabytes, of which little arrives. The memory
// follows the bytes that arrive.
func TestDecodeFromMemory(t *testing.T) {
	for _, c := range []struct {
		name  string
		start []byte // then come zeros
		n     int
	}{
		{"2^31 names, nothing", wire(1 << 31), 0},
		{"2^32-1 names, 1 MB", wire(1<<32 - 1), 1 << 20},
		{"a name of 2^31 bytes, nothing", wire(1, 1<<31), 0},
		{"a name of 2^31 bytes, 1 MB", wire(1, 1<<31), 1 << 20},
		{"a name of 2^32-1 bytes, 3 MB", wire(1, 1<<32-1), 3 << 20},
	} {
		in := append(c.start, make([]byte, c.n)...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := new(names).decodeFrom(bytes.NewReader(in), -1)
		runtime.ReadMemStats(&after)
		used, most := after.TotalAlloc-before.TotalAlloc, uint64(8*len(in)+2*firstPiece)
		if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, xdr.ErrLimit) || used > most {
			t.Errorf("%s: %d bytes allocated, at most %d expected; %v", c.name, used, most, err)
		}
	}
}

// TestDecodeFromGrowth reads n, 2n and 4n names. Neither the memory nor the number of reads may
// grow faster.
func TestDecodeFromGrowth(t *testing.T) {
	cost := func(n int) (bytesUsed uint64, reads int) {
		r := &slow{Reader: bytes.NewReader(many(n)), most: 1 << 30}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v := new(names)
		if err := v.decodeFrom(r, -1); err != nil || len(*v) != n {
			t.Fatal(len(*v), err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc, r.calls
	}
	memory, reads := cost(5000)
	for _, k := range []int{2, 4} {
		if m, r := cost(5000 * k); m > 2*uint64(k)*memory || r > k*reads+k {
			t.Errorf("%d times as many names: %d bytes allocated and %d reads, for one part %d and %d", k, m, r, memory, reads)
		}
	}
}

// TestDecodeFromOwns checks that the opaque data of two values does not share memory, though each
// has all of its own in one buffer.
func TestDecodeFromOwns(t *testing.T) {
	r := bytes.NewReader(append(many(100), many(100)...))
	var v, w names
	for _, x := range []*names{&v, &w} {
		if err := x.decodeFrom(r, -1); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range v {
		if cap(s) != len(s) {
			t.Fatalf("name %d has spare capacity, in which the next one lies", i)
		}
		clear(s)
	}
	if s := string(bytes.Join(w, nil)); s != strings.Repeat("names", 100) {
		t.Errorf("the other value has changed: %q", s)
	}
}

// FuzzDecodeFrom compares DecodeFrom with DecodeXDR, read in pieces of any size.
func FuzzDecodeFrom(f *testing.F) {
	f.Add(many(3), byte(1))
	f.Add(wire(1, 1<<31, 0), byte(9))
	f.Add(wire(1<<31, 4, 0), byte(0))
	f.Fuzz(func(t *testing.T, in []byte, piece byte) {
		var want, got names
		d := xdr.NewDecoder(in, nil)
		wantErr := want.DecodeXDR(d)
		r := bytes.NewReader(in)
		err := got.decodeFrom(&slow{Reader: r, most: int(piece) + 1}, -1)
		if len(in) == 0 && err == io.EOF {
			return
		}
		if strconv.IntSize == 32 && wantErr != nil && errors.Is(err, xdr.ErrLimit) {
			return // no limit is 2 GiB there, which two words can exceed
		}
		if (err == nil) != (wantErr == nil) || wantErr != nil && !strings.HasPrefix(err.Error(), wantErr.Error()) {
			t.Fatalf("DecodeFrom: %v, DecodeXDR: %v", err, wantErr)
		}
		if err == nil && (len(in)-r.Len() != d.Offset() || !bytes.Equal(bytes.Join(got, []byte{0}), bytes.Join(want, []byte{0}))) {
			t.Fatalf("DecodeFrom reads %q of %d bytes, DecodeXDR %q of %d", got, len(in)-r.Len(), want, d.Offset())
		}
	})
}
