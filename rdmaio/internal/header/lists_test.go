package header_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// full returns a message all of whose fields are set.
func full() header.Message {
	m := header.Message{
		XID: 1, Vers: 2, Credit: 3, Kind: header.KindOther, Type: 4, Flags: 5, InvalidateKey: 6, Answer: true, More: true,
		Body: 7, Err: header.Error{Code: 8}, Pad: header.Pad{Align: 9}, Payload: []byte{10}, Props: []header.Property{{ID: 11}},
	}
	m.Reads = []header.ReadSegment{{Position: 4, Segment: header.Segment{Handle: 1, Length: 2}}}
	copy(m.AddWrite(2), []header.Segment{{Handle: 3, Length: 4}, {Handle: 5, Length: 6}})
	m.Reply, m.HasReply = []header.Segment{{Handle: 7, Length: 8}}, true
	return m
}

// A copy of lists is equal and shares no memory with them.
func TestCloneSharesNothing(t *testing.T) {
	m, want := full(), full()
	c := m.Lists.Clone()
	if diff := cmp.Diff(want.Lists, c); diff != "" {
		t.Error(diff)
	}
	m.Reads[0].Handle, m.Writes[0][1].Handle, m.Reply[0].Handle = 99, 99, 99
	m.Lists.Reset()
	if diff := cmp.Diff(want.Lists, c); diff != "" {
		t.Error(diff)
	}
}

// A message that is used again has nothing of the one before, and no write chunk has a segment more
// than it was added with.
func TestResetForgets(t *testing.T) {
	m := full()
	m.Reset()
	empty := header.Message{
		Lists: header.Lists{Reads: []header.ReadSegment{}, Writes: [][]header.Segment{}, Reply: []header.Segment{}}, Props: []header.Property{},
	}
	if diff := cmp.Diff(empty, m); diff != "" {
		t.Error(diff)
	}
	for _, n := range []int{1, 2, 3, 0} {
		if m.Lists.Reset(); len(m.AddWrite(n)) != n || len(m.Writes) != 1 || len(m.Writes[0]) != n {
			t.Errorf("a write chunk of %d segments has %d", n, len(m.Writes[0]))
		}
	}
}
