package tcp

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// reading returns a reader of records in a stream, and the number of bytes that it has reserved.
func reading(r io.Reader, most, fragments int) (*records, *int) {
	reserved := new(int)
	return &records{
		r: input{src: r}, maxSize: most, maxFragments: fragments, deadline: func(time.Time) {},
		grow: func(n int, _ bool) error { *reserved += n; return nil },
	}, reserved
}

// framed returns a record of one fragment.
func framed(msg []byte) []byte { return append(appendMark(nil, len(msg)), msg...) }

// A record is read back, whatever its fragments. Each fault is refused with its rule.
func TestRecordIsReadBack(t *testing.T) {
	for _, n := range []int{0, 9, firstSize, firstSize + 1, 20 * firstSize, 1_000_001} {
		msg := bytes.Repeat([]byte("seven b"), n/7+1)[:n]
		for _, part := range []int{n + 1, n/3 + 1} {
			var stream []byte
			for rest := msg; ; rest = rest[part:] {
				if len(rest) <= part {
					stream = append(stream, framed(rest)...)
					break
				}
				f := framed(rest[:part])
				f[0] &^= 0x80
				stream = append(stream, f...)
			}
			rd, reserved := reading(bytes.NewReader(stream), n, 4)
			got, err := rd.next(nil)
			if err != nil || !bytes.Equal(got, msg) || *reserved != cap(got) {
				t.Errorf("%d bytes in fragments of %d: found %d, %v; %d reserved for %d", n, part, len(got), err, *reserved, cap(got))
			}
			if _, err := rd.next(nil); !errors.Is(err, io.EOF) {
				t.Errorf("behind it: %v", err)
			}
		}
	}
	for _, c := range []struct {
		name, stream, want string
		most               int
		is                 error
	}{
		{"two fragments", "00000002 6869 80000001 21", "", 3, nil},
		{"an empty last fragment", "00000001 68 80000000", "", 1, nil},
		{"empty fragments", "00000000 00000000 80000001 21", "", 1, nil},
		{"too many empty ones", "00000000 00000000 00000000 00000000 80000001 21", "more than 4 fragments for 0 bytes", 1, ErrRecord},
		{"one byte too many", "00000002 6869 80000002 2121", "more than 3 bytes: 2, and 2 in the next fragment (RFC 5531 §11)", 3, ErrRecord},
		{"2 GiB", "ffffffff", "more than 1000 bytes: 0, and 2147483647 in the next fragment", 1000, ErrRecord},
		{"no mark", "", "EOF", 3, io.EOF},
		{"half a mark", "8000", "unexpected EOF", 3, io.ErrUnexpectedEOF},
		{"half a fragment", "80000003 6869", "1 bytes before its end", 3, io.ErrUnexpectedEOF},
		{"no further fragment", "00000002 6869", "unexpected EOF", 3, io.ErrUnexpectedEOF},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(c.stream, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		rd, _ := reading(bytes.NewReader(b), c.most, 4)
		if _, err = rd.next(nil); !errors.Is(err, c.is) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected %q", c.name, err, c.want)
		}
	}
}

// The memory of a record is at most 64 KiB, or 3 times the bytes that the peer has sent, in
// earlier records too; memory that is used again can have twice that.
func TestRecordMemory(t *testing.T) {
	for _, came := range []int{0, 1, firstSize - 1, firstSize, 10 * firstSize} {
		stream := append([]byte{0xff, 0xff, 0xff, 0xff}, make([]byte, came)...)
		rd, reserved := reading(bytes.NewReader(stream), 1<<31-1, 1)
		if _, err := rd.next(nil); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
		if *reserved > max(firstSize, 2*3*came) {
			t.Errorf("%d bytes came: %d reserved", came, *reserved)
		}
	}
}

// A record beyond 64 MiB takes its memory in few steps, also with ints of 32 bits. A step asks
// for more, and once again if it gets longer memory that other tests have left.
func TestLongRecord(t *testing.T) {
	const size = 72 << 20
	steps := 0
	stream := io.MultiReader(bytes.NewReader(appendMark(nil, size)), bytes.NewReader(make([]byte, size)))
	rd, _ := reading(stream, 1<<31-1, 1)
	rd.grow = func(int, bool) error { steps++; return nil }
	if rec, err := rd.next(nil); len(rec) != size || err != nil || steps > 2*8 {
		t.Errorf("%d bytes of %d in %d steps: %v", len(rec), size, steps, err)
	}
}

// Reading any stream gives an error, or records that are no longer than the limit and the stream.
func FuzzRecords(f *testing.F) {
	f.Add([]byte{0x80, 0, 0, 4, 1, 2, 3, 4})
	f.Add([]byte{0, 0, 0, 1, 7, 0x80, 0, 0, 1, 8})
	f.Add([]byte{0, 0, 0, 0, 0x80, 0, 0, 0, 0x80, 0, 0, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		rd, reserved := reading(bytes.NewReader(b), 1000, 10)
		for left := len(b); ; {
			got, err := rd.next(nil)
			if *reserved > 1000 {
				t.Fatalf("%d bytes reserved", *reserved)
			}
			if err != nil {
				return
			}
			*reserved = 0
			if left -= len(got) + markSize; len(got) > 1000 || left < 0 {
				t.Fatalf("%d bytes of %d", len(got), len(b))
			}
		}
	})
}
