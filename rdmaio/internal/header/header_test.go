package header_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// R59: a range may end at 2^64, but not pass it.
func TestRangeMayEndAtTheTop(t *testing.T) {
	for _, c := range []struct {
		seg  header.Segment
		want bool
	}{
		{header.Segment{Offset: ^uint64(0), Length: 0}, false},
		{header.Segment{Offset: ^uint64(0), Length: 1}, false},
		{header.Segment{Offset: ^uint64(0), Length: 2}, true},
		{header.Segment{Offset: ^uint64(0) - 9, Length: 10}, false},
		{header.Segment{Offset: ^uint64(0) - 9, Length: 11}, true},
		{header.Segment{Offset: 0, Length: 0xffffffff}, false},
	} {
		if got := c.seg.Wraps(); got != c.want {
			t.Errorf("%+v: wraps %v, want %v", c.seg, got, c.want)
		}
	}
}

// R52: sums do not wrap at 32 bits.
func TestTotalsDoNotWrap(t *testing.T) {
	chunk := []header.Segment{{Length: 0xffffffff}, {Length: 0xffffffff}, {Length: 3}}
	if got := header.Total(chunk); got != 0x200000001 {
		t.Errorf("total %#x, want 0x200000001", got)
	}
}

// R24 to R27: sizes of lists.
func TestListsSize(t *testing.T) {
	var l header.Lists
	if l.Size() != 12 {
		t.Errorf("three absent lists take %d bytes, want 12", l.Size())
	}
	l.Reads = make([]header.ReadSegment, 2)
	l.AddWrite(3)
	l.AddWrite(0)
	l.HasReply = true
	l.Reply = make([]header.Segment, 1)
	if want := 12 + 2*24 + (8 + 3*16) + 8 + (4 + 16); l.Size() != want {
		t.Errorf("lists take %d bytes, want %d", l.Size(), want)
	}
}

// A Message that is filled again allocates nothing.
func TestAddWriteReuses(t *testing.T) {
	var m header.Message
	fill := func() {
		m.Reset()
		m.AddWrite(3)
		m.AddWrite(2)
	}
	fill()
	if n := testing.AllocsPerRun(10, fill); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if diff := cmp.Diff([]int{3, 2}, []int{len(m.Writes[0]), len(m.Writes[1])}); diff != "" {
		t.Error(diff)
	}
}

// R321: the four words that all versions share are decoded without the rest of the message.
func TestPrefixAndRPC(t *testing.T) {
	b := []byte{0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4}
	p, ok := header.DecodePrefix(b)
	if want := (header.Prefix{XID: 1, Vers: 2, Credit: 3, Proc: 4}); !ok || p != want {
		t.Errorf("prefix %+v %v", p, ok)
	}
	if _, ok := header.DecodePrefix(b[:15]); ok {
		t.Error("15 bytes taken for a prefix")
	}
	if xid, typ, ok := header.RPC([]byte{0, 0, 0, 9, 0, 0, 0, 1}); xid != 9 || typ != header.Reply || !ok {
		t.Errorf("RPC: %d %d %v", xid, typ, ok)
	}
	// T20: seven bytes of a longer buffer.
	if _, _, ok := header.RPC(b[:7]); ok {
		t.Error("seven bytes taken for the head of an RPC message")
	}
}

// Every code has a text and a rule.
func TestFaultText(t *testing.T) {
	for c := header.FaultShort; c <= header.FaultCredit; c++ {
		f := &header.Fault{Code: c, Where: "read list", Index: 3, Found: 17, Want: 4, Err: io.EOF}
		if s := f.Error(); strings.Contains(s, "%!") || !strings.Contains(s, "read list 3: ") || f.Rule() == "" {
			t.Errorf("code %d: %s", c, s)
		}
		if !errors.Is(f, io.EOF) {
			t.Errorf("code %d does not unwrap", c)
		}
	}
	for _, k := range []header.Kind{header.KindMsg, header.KindError, header.KindPadded, 9} {
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
	}
}
