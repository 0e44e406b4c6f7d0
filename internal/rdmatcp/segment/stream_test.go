package segment_test

import (
	"errors"
	"testing"

	. "github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
)

// seg returns a header with n bytes of payload. flags is "", "B", "E" or "BE".
func seg(t Type, flags string, number uint32, n int, more ...func(*Header)) Header {
	h := Header{Type: t, ConnID: connID, Number: number}
	for _, c := range flags {
		h.Begin = h.Begin || c == 'B'
		h.End = h.End || c == 'E'
	}
	for _, f := range more {
		f(&h)
	}
	h.SetPayload(n)
	return h
}

func at(off uint32) func(*Header) { return func(h *Header) { h.Offset = off } }

func rdma(id, off, length uint32) func(*Header) {
	return func(h *Header) { h.BufferID, h.Offset, h.RDMALength = id, off, length }
}

func control(words uint8) func(*Header) { return func(h *Header) { h.CLEN = words } }

const top = 1<<32 - 1

func TestSegmentsFollowEachOther(t *testing.T) {
	for _, tc := range []struct {
		name string
		read *Read
		segs []Header
		want Rule // of the last one; 0: all are right
	}{
		{name: "numbers wrap", segs: []Header{seg(Send, "BE", top, 1), seg(Write, "BE", 0, 0), seg(ReadRequest, "BE", 1, 0), seg(Send, "BE", 2, 0)}},
		{name: "number repeated", segs: []Header{seg(Send, "BE", 7, 1), seg(Send, "BE", 7, 1)}, want: NumberNotNext},
		{name: "number skipped", segs: []Header{seg(Send, "BE", top, 1), seg(Send, "BE", 1, 1)}, want: NumberNotNext},
		{name: "connection ID", segs: []Header{seg(Send, "BE", 7, 1), seg(Send, "BE", 8, 1, func(h *Header) { h.ConnID++ })}, want: WrongConnectionID},
		{name: "three segments", segs: []Header{seg(Send, "B", 7, 5), seg(Send, "", 7, 3, at(5)), seg(Send, "E", 7, 2, at(8)), seg(Send, "BE", 8, 0)}},
		{name: "control data is not counted", segs: []Header{seg(Send, "B", 7, 5, control(3)), seg(Send, "E", 7, 3, at(5), control(1))}},
		{name: "empty last segment", segs: []Header{seg(Send, "B", 7, 5), seg(Send, "E", 7, 0, at(5))}},
		{name: "no B", segs: []Header{seg(Send, "E", 7, 5)}, want: MissingBegin},
		{name: "no B after a whole one", segs: []Header{seg(Send, "BE", 7, 5), seg(Send, "", 7, 5, at(5))}, want: MissingBegin},
		{name: "B twice", segs: []Header{seg(Send, "B", 7, 5), seg(Send, "BE", 7, 5)}, want: UnexpectedBegin},
		{name: "B of the next inside", segs: []Header{seg(Send, "B", 7, 5), seg(Send, "BE", 8, 5)}, want: UnexpectedBegin},
		{name: "read request inside", segs: []Header{seg(Send, "B", 7, 5), seg(ReadRequest, "BE", 8, 0)}, want: UnexpectedBegin},
		{name: "type changes", segs: []Header{seg(Send, "B", 7, 5), seg(Write, "E", 7, 5, rdma(1, 5, 10))}, want: TypeChanged},
		{name: "number changes", segs: []Header{seg(Send, "B", 7, 5), seg(Send, "E", 8, 5, at(5))}, want: NumberChanged},
		{name: "data offset not zero", segs: []Header{seg(Send, "BE", 7, 5, at(1))}, want: DataOffsetNotZero},
		{name: "data offset back", segs: []Header{seg(Send, "B", 7, 5), seg(Send, "E", 7, 5, at(4))}, want: OffsetNotNext},
		{name: "data offset ahead", segs: []Header{seg(Send, "B", 7, 5), seg(Send, "E", 7, 5, at(6))}, want: OffsetNotNext},
		{name: "data offset counts padding", segs: []Header{seg(Send, "B", 7, 5), seg(Send, "E", 7, 5, at(8))}, want: OffsetNotNext},

		{name: "write", segs: []Header{seg(Write, "B", 7, 4, rdma(9, 100, 10)), seg(Write, "", 7, 6, rdma(9, 104, 10)), seg(Write, "E", 7, 0, rdma(9, 110, 10))}},
		{name: "write to the last byte", segs: []Header{seg(Write, "B", 7, 8, rdma(9, top-7, 8)), seg(Write, "E", 7, 0, rdma(9, 0, 8))}},
		{name: "write wraps", segs: []Header{seg(Write, "BE", 7, 9, rdma(9, top-7, 9))}, want: OffsetWraps},
		{name: "read wraps", segs: []Header{seg(ReadRequest, "BE", 7, 0, rdma(9, 2, top))}, want: OffsetWraps},
		{name: "read of the largest range", segs: []Header{seg(ReadRequest, "BE", 7, 0, rdma(9, 1, top))}},
		{name: "write offset ahead", segs: []Header{seg(Write, "B", 7, 4, rdma(9, 100, 10)), seg(Write, "E", 7, 6, rdma(9, 105, 10))}, want: OffsetNotNext},
		{name: "buffer ID changes", segs: []Header{seg(Write, "B", 7, 4, rdma(9, 100, 10)), seg(Write, "E", 7, 6, rdma(8, 104, 10))}, want: BufferIDChanged},
		{name: "RDMA length changes", segs: []Header{seg(Write, "B", 7, 4, rdma(9, 100, 10)), seg(Write, "E", 7, 6, rdma(9, 104, 11))}, want: RDMALengthChanged},
		{name: "write too long", segs: []Header{seg(Write, "B", 7, 4, rdma(9, 100, 10)), seg(Write, "", 7, 7, rdma(9, 104, 10))}, want: PayloadTooLong},
		{name: "write too short", segs: []Header{seg(Write, "B", 7, 4, rdma(9, 100, 10)), seg(Write, "E", 7, 5, rdma(9, 104, 10))}, want: PayloadTooShort},

		{name: "response", read: &Read{3, 8}, segs: []Header{seg(ReadResponse, "BE", 3, 8)}},
		{name: "response of nothing", read: &Read{3, 0}, segs: []Header{seg(ReadResponse, "BE", 3, 0)}},
		{name: "response with any order", read: &Read{3, 8}, segs: []Header{seg(ReadResponse, "BE", 3, 8, func(h *Header) { h.Order = 5 })}},
		{name: "response without request", segs: []Header{seg(ReadResponse, "BE", 3, 8)}, want: NoReadOutstanding},
		{name: "response out of order", read: &Read{3, 8}, segs: []Header{seg(ReadResponse, "BE", 4, 8)}, want: WrongReadNumber},
		{name: "response too long", read: &Read{3, 8}, segs: []Header{seg(ReadResponse, "B", 3, 9)}, want: PayloadTooLong},
		{name: "response too short", read: &Read{3, 8}, segs: []Header{seg(ReadResponse, "BE", 3, 7)}, want: PayloadTooShort},
		{name: "response data offset not zero", read: &Read{3, 8}, segs: []Header{seg(ReadResponse, "BE", 3, 8, at(4))}, want: DataOffsetNotZero},
		{name: "response offset ahead", read: &Read{3, 8}, segs: []Header{seg(ReadResponse, "B", 3, 4), seg(ReadResponse, "E", 3, 4, at(8))}, want: OffsetNotNext},
		{name: "response number changes", read: &Read{3, 8}, segs: []Header{seg(ReadResponse, "B", 3, 4), seg(ReadResponse, "E", 4, 4, at(4))}, want: NumberChanged},
		{name: "response without B", read: &Read{3, 8}, segs: []Header{seg(ReadResponse, "E", 3, 8)}, want: MissingBegin},
		{name: "response B twice", read: &Read{3, 8}, segs: []Header{seg(ReadResponse, "B", 3, 4), seg(ReadResponse, "BE", 3, 4)}, want: UnexpectedBegin},
		{name: "groups interleave", read: &Read{3, 8}, segs: []Header{
			seg(Send, "B", 7, 5), seg(ReadResponse, "B", 3, 4), seg(Send, "", 7, 5, at(5)), seg(ReadResponse, "E", 3, 4, at(4)), seg(Send, "E", 7, 1, at(10)),
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s Stream
			for i := range tc.segs {
				h := &tc.segs[i]
				err := s.Accept(h, tc.read)
				switch last := i == len(tc.segs)-1; {
				case last && tc.want != 0 && !errors.Is(err, tc.want):
					t.Fatalf("last segment: %v, want %v", err, tc.want)
				case (!last || tc.want == 0) && err != nil:
					t.Fatalf("segment %d: %v", i, err)
				case err == nil && h.Begin && s.Offset(h) != 0:
					t.Fatalf("segment %d: offset %d in the message, want 0", i, s.Offset(h))
				}
			}
			if tc.want == 0 && s.Open() {
				t.Error("a message is open after its end")
			}
		})
	}
}

// Of two faults in a header the one that is checked first is reported: fields on which others
// depend come first.
func TestCheckOrder(t *testing.T) {
	const (
		version = iota
		length
		connection
		controlData
		begin
		number
		typ
		offset
		buffer
		rdmaLength
		payload
	)
	// A continued Write, and for each fault a function that puts it into the header.
	good := seg(Write, "E", 7, 6, rdma(9, 104, 10))
	faults := []struct {
		at   int
		put  func(h *Header, b []byte)
		want Rule
	}{
		{version, func(_ *Header, b []byte) { b[0] = 3 }, BadVersion},
		{length, func(h *Header, _ []byte) { h.Length = 23 }, LengthBelowHeader},
		{connection, func(h *Header, _ []byte) { h.ConnID++ }, WrongConnectionID},
		{controlData, func(h *Header, _ []byte) { h.CLEN = 255 }, ControlTooLong},
		{begin, func(h *Header, _ []byte) { h.Begin = true }, UnexpectedBegin},
		{number, func(h *Header, _ []byte) { h.Number++ }, NumberChanged},
		{typ, func(h *Header, _ []byte) { h.Type = Send }, TypeChanged},
		{offset, func(h *Header, _ []byte) { h.Offset++ }, OffsetNotNext},
		{buffer, func(h *Header, _ []byte) { h.BufferID++ }, BufferIDChanged},
		{rdmaLength, func(h *Header, _ []byte) { h.RDMALength++ }, RDMALengthChanged},
		{payload, func(h *Header, _ []byte) { h.Length++ }, PayloadTooLong},
	}
	for i, a := range faults {
		for _, b := range faults[i+1:] {
			if a.at == length && b.at == payload {
				continue // the same field
			}
			s := Stream{ConnID: connID, Known: true}
			first := seg(Write, "B", 7, 4, rdma(9, 100, 10))
			if err := s.Accept(&first, nil); err != nil {
				t.Fatal(err)
			}
			h := good
			var wire [LongHeader]byte
			b.put(&h, wire[:])
			a.put(&h, wire[:])
			h.Put(wire[:])
			a.put(&h, wire[:])
			var got Header
			err := s.Decode(&got, wire[:])
			if err == nil {
				err = s.Accept(&got, nil)
			}
			if !errors.Is(err, a.want) {
				t.Errorf("%v and %v: %v", a.want, b.want, err)
			}
		}
	}
	// Faults of new messages and of Read_Responses.
	oldest := &Read{Number: 3, Length: 8}
	for _, tc := range []struct {
		h    Header
		read *Read
		want Rule
	}{
		{seg(Send, "BE", 9, 4, at(5)), nil, NumberNotNext},
		{seg(Write, "BE", 9, 9, rdma(1, top, 9)), nil, NumberNotNext},
		{seg(Write, "BE", 7, 10, rdma(1, top, 9)), nil, OffsetWraps},
		{seg(ReadResponse, "E", 4, 4, at(5)), nil, MissingBegin},
		{seg(ReadResponse, "BE", 4, 9, at(5)), oldest, WrongReadNumber},
		{seg(ReadResponse, "BE", 3, 9, at(5)), oldest, DataOffsetNotZero},
		{seg(ReadResponse, "BE", 3, 9, at(5)), nil, DataOffsetNotZero},
		{seg(ReadResponse, "BE", 3, 9), nil, NoReadOutstanding},
	} {
		var s Stream
		first := seg(Send, "BE", 6, 0)
		if err := s.Accept(&first, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Accept(&tc.h, tc.read); !errors.Is(err, tc.want) {
			t.Errorf("%+v: %v, want %v", tc.h, err, tc.want)
		}
	}
}

// A client knows the Connection ID before anything arrives.
func TestStreamKnown(t *testing.T) {
	s := Stream{ConnID: connID + 1, Known: true}
	h := seg(Send, "BE", 1, 0)
	if err := s.Accept(&h, nil); !errors.Is(err, WrongConnectionID) {
		t.Errorf("%v, want %v", err, WrongConnectionID)
	}
}

func TestStreamOpen(t *testing.T) {
	var s Stream
	h := seg(Write, "B", 1, 3, rdma(1, 50, 10))
	if err := s.Accept(&h, nil); err != nil || !s.Open() || !s.OpenGroup1() {
		t.Fatalf("%v, open %v", err, s.Open())
	}
	h = seg(Write, "", 1, 3, rdma(1, 53, 10))
	if err := s.Accept(&h, nil); err != nil || s.Offset(&h) != 3 || s.Next() != 2 {
		t.Errorf("%v, offset %d, next %d", err, s.Offset(&h), s.Next())
	}
}

// §3.4 Order: its own example, and serial arithmetic.
func TestOrderOfReadsIsKept(t *testing.T) {
	for _, tc := range []struct {
		number  uint32
		order   uint16
		earlier uint32
		want    bool
	}{
		{97, 5, 91, true},
		{97, 5, 90, true},
		{97, 5, 92, false},
		{97, 5, 96, false},
		{97, 0, 96, true},
		{97, NoOrder, 96, false},
		{97, NoOrder, 1, false},
		{0, 0, top, true},
		{2, 5, top - 2, false},
		{2, 5, top - 3, true},
		{2, 2, top, true},
		{5, 0, top - 15, true},
		{top - 15, 0, 5, false},
		{70000, 0xfffe, 4464, true},
		{70000, 0xfffe, 4465, true},
		{70000, 0xfffe, 4466, false},
	} {
		if got := Waits(tc.number, tc.order, tc.earlier); got != tc.want {
			t.Errorf("message %d with order %#x after %d: waits %v, want %v", tc.number, tc.order, tc.earlier, got, tc.want)
		}
	}
}

// FuzzStream accepts arbitrary headers in any order without a panic. No message ever has more
// bytes than its offsets say.
func FuzzStream(f *testing.F) {
	var all []byte
	for _, v := range vectors {
		all = append(all, unhex(f, v.wire)...)
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Stream
		read := &Read{Number: 0x12, Length: 8}
		for {
			var h Header
			if err := h.Decode(b); err != nil {
				return
			}
			if err := s.Accept(&h, read); err != nil {
				if e := new(Error); !errors.As(err, &e) {
					t.Fatalf("%T: %v", err, err)
				}
				return
			}
			switch h.Type {
			case Write:
				if end := uint64(s.Offset(&h)) + uint64(h.Payload()); end > uint64(h.RDMALength) {
					t.Fatalf("%d bytes of a Write of %d", end, h.RDMALength)
				}
			case ReadResponse:
				if end := uint64(h.Offset) + uint64(h.Payload()); end > uint64(read.Length) {
					t.Fatalf("%d bytes of a Read of %d", end, read.Length)
				}
				if h.End {
					read.Number++
				}
			}
			if len(b) < h.Wire() {
				return
			}
			b = b[h.Wire():]
		}
	})
}
