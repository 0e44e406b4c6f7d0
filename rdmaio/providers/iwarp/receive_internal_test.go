package iwarp

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/ddp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/mpa"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/rdmap"
)

// decoded gives a framer the header of a segment with n bytes of payload.
func decoded(t *testing.T, f *framer, h ddp.Header, n int) *stream.Frame {
	t.Helper()
	fr := new(stream.Frame)
	if err := f.Decode(fr, put(nil, &h, n)); err != nil {
		t.Fatal(err)
	}
	return fr
}

// RFC 5041 §4.4: a segment without a whole header is refused, for both kinds.
func TestSegmentsWithoutAWholeHeader(t *testing.T) {
	for _, h := range []ddp.Header{{Tagged: true, ULP: rdmap.Write.Control()}, {ULP: rdmap.Send.Control()}} {
		for n := h.Size() - 2; n <= h.Size()+1; n++ {
			prefix := put(nil, &h, n-h.Size())[:prefixSize]
			size, err := new(framer).HeaderSize(prefix)
			broken := (*ddp.Error)(nil)
			switch isBroken := errors.As(err, &broken); {
			case n >= h.Size():
				if err != nil || size != h.Size()+2 {
					t.Errorf("tagged %v, %d bytes: a header of %d bytes, %v", h.Tagged, n, size, err)
				}
			case !isBroken || broken.Rule != ddp.Truncated || broken.Tagged != h.Tagged || broken.Got != uint64(n) || broken.Want != uint64(h.Size()):
				t.Errorf("tagged %v, %d bytes of %d: %+v", h.Tagged, n, h.Size(), err)
			}
		}
	}
}

// RFC 5040 §7.2: the checks of DDP come before those that RDMAP makes.
func TestFaultsOfDDPComeFirst(t *testing.T) {
	for name, h := range map[string]ddp.Header{
		"a number that is not the next": {Last: true, MSN: 9, ULP: 0x4f},
		"a queue that does not exist":   {Last: true, MSN: 1, QN: 7, ULP: 0x4f},
		"the queue after the last":      {Last: true, MSN: 1, QN: rdmap.QueueTerminate + 1, ULP: 0x4f},
	} {
		f := new(framer)
		fr := decoded(t, f, h, 4)
		broken := (*ddp.Error)(nil)
		if err := f.Accept(fr, nil); !errors.As(err, &broken) {
			t.Errorf("%s, and an opcode that is not known: %v", name, err)
		}
	}
	f := new(framer)
	fr := decoded(t, f, ddp.Header{Last: true, MSN: 1, ULP: 0x4f}, 4)
	broken := (*rdmap.Error)(nil)
	if err := f.Accept(fr, nil); !errors.As(err, &broken) {
		t.Errorf("an opcode that is not known: %v", err)
	}
}

// RFC 6581 §9.2: the first message must be the ready-to-receive indication. An initiator that gives
// up reports why all the same (RFC 5040 §4.8).
func TestTerminateMayBeTheFirstMessage(t *testing.T) {
	offer := mpa.Offer{Revision: 2, RTR: mpa.RTRWrite}
	initiator := mpa.NewInitiator(offer)
	b, err := initiator.Request(nil)
	if err != nil {
		t.Fatal(err)
	}
	request := mpa.Frame{Kind: mpa.Request}
	if err := request.Decode(b); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		h    ddp.Header
		n    int
		want stream.Kind
		err  bool
	}{
		"a Terminate": {ddp.Header{Last: true, MSN: 1, QN: rdmap.QueueTerminate, ULP: rdmap.TerminateOp.Control()}, 4, stream.KindReport, false},
		"a Send":      {ddp.Header{Last: true, MSN: 1, ULP: rdmap.Send.Control()}, 4, 0, true},
	} {
		f := new(framer)
		if err := f.responder.Receive(&request); err != nil {
			t.Fatal(err)
		}
		if _, err := f.responder.Accept(nil, offer); err != nil {
			t.Fatal(err)
		}
		fr := decoded(t, f, tt.h, tt.n)
		if err := f.Accept(fr, nil); (err != nil) != tt.err || err == nil && fr.Kind != tt.want {
			t.Errorf("%s: kind %v, %v", name, fr.Kind, err)
		}
	}
}

// A message is open from its first segment to its last, also while segments of another come
// between: the time limit of open messages applies.
func TestMessageIsOpenUntilItsLastSegment(t *testing.T) {
	send := func(mo uint32, last bool) ddp.Header {
		return ddp.Header{Last: last, MSN: 1, MO: mo, ULP: rdmap.Send.Control()}
	}
	write := func(to uint64, last bool) ddp.Header {
		return ddp.Header{Tagged: true, Last: last, STag: 7, TO: to, ULP: rdmap.Write.Control()}
	}
	f := new(framer)
	for i, tt := range []struct {
		h                ddp.Header
		begin, end, open bool
	}{
		{write(100, true), true, true, false},
		{write(100, false), true, false, true},
		{write(104, true), false, true, false},
		{send(0, false), true, false, true},
		{write(100, true), true, true, true}, // the Send is open
		{send(4, false), false, false, true},
		{write(100, false), true, false, true},
		{send(8, true), false, true, true}, // the Write is open
		{write(104, true), false, true, false},
	} {
		fr := decoded(t, f, tt.h, 4)
		if err := f.Accept(fr, nil); err != nil {
			t.Fatalf("segment %d: %v", i, err)
		}
		if fr.Begin != tt.begin || fr.End != tt.end || fr.Open != tt.open {
			t.Errorf("segment %d: begins %v, ends %v, open %v, want %v, %v, %v", i, fr.Begin, fr.End, fr.Open, tt.begin, tt.end, tt.open)
		}
	}
}
