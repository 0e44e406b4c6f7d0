package mpa_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	. "github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/mpa"
)

// The CRC of RFC 5044 Figure 5: it covers the Marker before the FPDU, too.
func TestCRCOfFigure5(t *testing.T) {
	fpdu := append(unhex(t, "00000000 | 002a | 4143 00000000 00000000 00000001 00000000"), make([]byte, 24)...)
	field := make([]byte, CRCSize)
	PutCRC(field, Update(0, fpdu))
	if want := unhex(t, "52239983"); !bytes.Equal(field, want) {
		t.Errorf("CRC field %x, want %x", field, want)
	}
	if err := CheckCRC(field, Update(Update(0, fpdu[:7]), fpdu[7:])); err != nil {
		t.Error(err)
	}
}

// FPDUs whose CRC32C was found by a division bit by bit.
func TestFPDUsAreReadBack(t *testing.T) {
	for _, tc := range []struct {
		name, wire string
		crc        bool
	}{
		{"NULL call", "0056 4143 00000000 00000000 00000001 00000000 cafe0000 00000001 00000020 00000000 00000000 00000000 00000000 cafe0000 00000000 00000002 000186a3 00000003 00000000 00000000 00000000 00000000 00000000 00000000", false},
		{"one byte", "0001 61 00 00000000", false},
		{"three bytes", "0003 616263 000000 00000000", false},
	} {
		wire := unhex(t, tc.wire)
		ulpdu, n, err := OpenFPDU(wire, tc.crc)
		if err != nil || n != len(wire) {
			t.Fatalf("%s: %d bytes, %v; want %d", tc.name, n, err, len(wire))
		}
		if got := AppendFPDU(nil, ulpdu, tc.crc); !bytes.Equal(got, wire) {
			t.Errorf("%s: %x, want %x", tc.name, got, wire)
		}
		got := AppendFPDU([]byte("x"), ulpdu, true)[1:]
		if want := bitwise(got[:len(got)-CRCSize]); GetCRC(got[len(got)-CRCSize:]) != want {
			t.Errorf("%s: CRC %x, want %#x, least significant byte first", tc.name, got[len(got)-CRCSize:], want)
		}
	}
}

// bitwise divides by the polynomial 0x1EDC6F41, a bit at a time.
func bitwise(p []byte) uint32 {
	crc := ^uint32(0)
	for _, b := range p {
		for i := range 8 {
			bit := (crc ^ uint32(b>>i)) & 1
			crc >>= 1
			if bit != 0 {
				crc ^= 0x82f63b78
			}
		}
	}
	return ^crc
}

func TestLengthsIncludePadAndCRC(t *testing.T) {
	for _, tc := range []struct{ n, pad, wire int }{
		{1, 1, 8}, {2, 0, 8}, {3, 3, 12}, {4, 2, 12}, {5, 1, 12}, {6, 0, 12}, {42, 0, 48}, {46, 0, 52}, {1450, 0, 1456}, {65535, 3, MaxWire},
	} {
		if Pad(tc.n) != tc.pad || Wire(tc.n) != tc.wire {
			t.Errorf("%d bytes: padding %d, wire %d; want %d, %d", tc.n, Pad(tc.n), Wire(tc.n), tc.pad, tc.wire)
		}
		b := AppendFPDU(nil, bytes.Repeat([]byte{0xff}, tc.n), false)
		if len(b) != tc.wire || !bytes.Equal(b[2+tc.n:], make([]byte, tc.pad+4)) {
			t.Errorf("%d bytes: %d on the wire, end %x", tc.n, len(b), b[2+tc.n:])
		}
	}
	// RFC 5044 §4.5, and its bounds of §3.
	for _, tc := range []struct{ emss, want int }{
		{1460, 1454}, {1448, 1442}, {1447, 1438}, {9000, 8994}, {0, 128}, {134, 128}, {140, 134}, {65483, 64768},
	} {
		if got := MULPDU(tc.emss); got != tc.want {
			t.Errorf("MULPDU of %d: %d, want %d", tc.emss, got, tc.want)
		}
		if got := MULPDU(tc.emss); tc.emss >= 140 && Wire(got) > tc.emss {
			t.Errorf("MULPDU of %d: FPDU of %d bytes", tc.emss, Wire(got))
		}
	}
}

// Every prefix is refused, and so is every flipped bit with CRCs on.
func TestFPDURefused(t *testing.T) {
	for n := 1; n <= 9; n++ {
		wire := AppendFPDU(nil, bytes.Repeat([]byte{0x5a}, n), true)
		for k := range wire {
			if _, _, err := OpenFPDU(wire[:k:k], true); !errors.Is(err, FPDUTruncated) {
				t.Errorf("%d of %d bytes: %v", k, len(wire), err)
			}
		}
		for bit := range len(wire) * 8 {
			wire[bit/8] ^= 1 << (bit % 8)
			if _, _, err := OpenFPDU(wire, true); err == nil {
				t.Errorf("%d bytes: bit %d of byte %d flipped, and not detected", n, bit%8, bit/8)
			} else if bit/8 >= LengthSize && !errors.Is(err, BadCRC) {
				t.Errorf("%d bytes: bit %d of byte %d flipped: %v, want %v", n, bit%8, bit/8, err, BadCRC)
			}
			wire[bit/8] ^= 1 << (bit % 8)
		}
		wire[len(wire)-1] ^= 1
		// RFC 5044 §4.1: the field may have any value.
		if _, _, err := OpenFPDU(wire, false); err != nil {
			t.Errorf("%d bytes without CRCs: %v", n, err)
		}
	}
	if _, _, err := OpenFPDU(make([]byte, 8), false); !errors.Is(err, EmptyULPDU) {
		t.Errorf("empty ULPDU: %v", err)
	}
	if EmptyULPDU.Code() != CodeLocalCatastrophic || BadCRC.Code() != CodeCRC || !BadCRC.Reportable() || FPDUTruncated.Reportable() {
		t.Error("wrong error codes")
	}
	for _, n := range []int{0, MaxULPDU + 1} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("AppendFPDU of %d bytes did not panic", n)
				}
			}()
			AppendFPDU(nil, make([]byte, n), false)
		}()
	}
}

func TestCodecAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, MaxWire)
	private := make([]byte, 100)
	for _, enhanced := range []uint8{1, 2} {
		n := testing.AllocsPerRun(100, func() {
			if err := handshake(buf, enhanced, private); err != nil {
				t.Fatal(err)
			}
			b := AppendFPDU(buf, private, true)
			if _, _, err := OpenFPDU(b, true); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("revision %d: %v allocations, want 0", enhanced, n)
		}
	}
}

// handshake runs a whole negotiation in buf.
func handshake(buf []byte, revision uint8, private []byte) error {
	i := NewInitiator(Offer{Revision: revision, IRD: 1, ORD: 2, Private: private})
	var r Responder
	b, err := i.Request(buf)
	if err != nil {
		return err
	}
	f := Frame{Kind: Request}
	if err := f.Decode(b); err != nil {
		return err
	}
	if err := r.Receive(&f); err != nil {
		return err
	}
	if b, err = r.Accept(buf, Offer{IRD: 3, ORD: 4, Private: private}); err != nil {
		return err
	}
	f = Frame{Kind: Reply}
	if err := f.Decode(b); err != nil {
		return err
	}
	if err := i.Receive(&f); err != nil {
		return err
	}
	if _, err := r.First(0); err != nil {
		return err
	}
	if i.State() != Operating || r.State() != Operating {
		return fmt.Errorf("states %v and %v", i.State(), r.State())
	}
	return nil
}

// FuzzFPDU reads arbitrary input without a panic. AppendFPDU returns the same bytes for an
// accepted FPDU, except for those that a receiver ignores.
func FuzzFPDU(f *testing.F) {
	f.Add(AppendFPDU(nil, []byte("hello"), true), true)
	f.Add(AppendFPDU(nil, make([]byte, 1450), false), false)
	f.Fuzz(func(t *testing.T, b []byte, crc bool) {
		ulpdu, wire, err := OpenFPDU(b, crc)
		if err != nil {
			if e := new(Error); !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if again := AppendFPDU(nil, ulpdu, crc); len(again) != wire || !bytes.Equal(again[:2+len(ulpdu)], b[:2+len(ulpdu)]) {
			t.Fatalf("%x, want %x", again, b[:wire])
		}
	})
}
