package codectest

import (
	"encoding/binary"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr/codec"
)

// wordsScan is a scan of words up to the end of the input, in the form of generated ones, with a
// fault.
type wordsScan struct {
	in    []byte
	off   int
	fault string
}

func (s *wordsScan) V() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if good := len(s.in)%4 == 0; s.fault == "again" && good || s.fault == "endless" && !good {
			s.off = 0
		}
		end := len(s.in) / 4 * 4
		if s.fault == "short" {
			end -= 4
		}
		for s.off < end {
			w := binary.BigEndian.Uint32(s.in[s.off:])
			if s.off += 4; s.fault == "value" {
				w++
			}
			if !yield(w) {
				return
			}
		}
	}
}

func (s *wordsScan) Err() error {
	if len(s.in)%4 != 0 && s.fault != "silent" || s.fault == "suspicious" {
		return codec.Short(s.in, len(s.in)/4*4, 4, "codectest.words:V")
	}
	return nil
}

func (s *wordsScan) End() (int, error) {
	if s.fault == "length" {
		return 0, nil
	}
	if s.fault == "suspicious" {
		return len(s.in), nil
	}
	return len(s.in), s.Err()
}

// Each fault of a scan is detected, by an error that names it.
func TestScanCanaries(t *testing.T) {
	type words struct{ V []uint32 }
	good, bad := []byte{0, 0, 0, 7, 0, 0, 0, 8}, []byte{0, 0, 0, 7, 0, 0}
	for fault, want := range map[string]string{
		"":           "",
		"value":      "V: element 0",
		"short":      "V: 1 elements of 2",
		"again":      "begun again: V: element 1",
		"length":     "at its end 0",
		"suspicious": "after V Err: ",
		"silent":     "at its end 6, <nil>",
		"endless":    "begun again: V: no end",
	} {
		typ := &Type{
			Scan:  func(b []byte) Scan { return &wordsScan{in: b, fault: fault} },
			Lists: []List{{".V", "V"}},
		}
		v := words{[]uint32{7, 8}}
		got := ""
		if err := sameScans(typ, good, len(good), nil, reflect.ValueOf(v)); err != nil {
			got += err.Error()
		}
		refused := codec.Short(bad, 4, 4, "codectest.words:V")
		if err := sameScans(typ, bad, 0, refused, reflect.ValueOf(words{})); err != nil {
			got += err.Error()
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("fault %q: found %q, want %q", fault, got, want)
		}
	}
}
