package mpa_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/mpa"
)

// reply returns an enhanced reply of revision 2.
func reply(ird, ord uint16, more ...func(*Frame)) Frame {
	f := Frame{Kind: Reply, Revision: 2, Enhanced: true, Setup: Setup{IRD: ird, ORD: ord}}
	for _, m := range more {
		m(&f)
	}
	return f
}

func peerToPeer(kinds RTR) func(*Frame) {
	return func(f *Frame) { f.Setup.PeerToPeer, f.Setup.RTR = true, kinds }
}

func crc(f *Frame)  { f.CRC = true }
func mark(f *Frame) { f.Markers = true }
func deny(f *Frame) { f.Reject = true }
func bare(f *Frame) { f.Enhanced, f.Setup = false, Setup{} }
func rev1(f *Frame) { bare(f); f.Revision = 1 }

func TestInitiatorFollowsTheReply(t *testing.T) {
	two := Offer{Revision: 2, IRD: 16, ORD: 16}
	one := Offer{Revision: 1, IRD: 16, ORD: 16}
	with := func(o Offer, f func(*Offer)) Offer { f(&o); return o }
	p2p := with(two, func(o *Offer) { o.RTR = RTRSend | RTRWrite | RTRRead })
	for _, tc := range []struct {
		name  string
		offer Offer
		reply Frame
		state State
		rule  Rule // 0: none
		want  Terms
	}{
		{"enhanced", two, reply(8, 4), Operating, 0, Terms{Revision: 2, Enhanced: true, IRD: 4, ORD: 8, PeerIRD: 8, PeerORD: 4}},
		{"responder serves more", two, reply(100, 0), Operating, 0, Terms{Revision: 2, Enhanced: true, IRD: 0, ORD: 16, PeerIRD: 100}},
		{"depths agreed on elsewhere", two, reply(Unnegotiated, Unnegotiated), Operating, 0, Terms{Revision: 2, Enhanced: true, IRD: 16, ORD: 16, PeerIRD: Unnegotiated, PeerORD: Unnegotiated}},
		{"responder wants too much", two, reply(8, 17), Failed, InsufficientIRD, Terms{Revision: 2, Enhanced: true, IRD: 16, ORD: 16, PeerIRD: 8, PeerORD: 17}},
		{"responder's CRC", two, reply(1, 1, crc), Operating, 0, Terms{Revision: 2, Enhanced: true, CRC: true, IRD: 1, ORD: 1, PeerIRD: 1, PeerORD: 1}},
		{"our CRC", with(two, func(o *Offer) { o.CRC = true }), reply(1, 1), Operating, 0, Terms{Revision: 2, Enhanced: true, CRC: true, IRD: 1, ORD: 1, PeerIRD: 1, PeerORD: 1}},
		{"markers", two, reply(1, 1, mark), Failed, MarkersRefused, Terms{Revision: 2, IRD: 16, ORD: 16, PeerIRD: 1, PeerORD: 1}},
		{"rejected", two, reply(3, 5, deny), RejectedState, Rejected, Terms{Revision: 2, IRD: 16, ORD: 16, PeerIRD: 3, PeerORD: 5}},
		{"rejected in revision 1", two, reply(0, 0, deny, rev1), RejectedState, Rejected, Terms{Revision: 1, IRD: 16, ORD: 16, PeerIRD: Unnegotiated, PeerORD: Unnegotiated}},
		{"unenhanced reply", two, reply(0, 0, bare), Failed, NotEnhanced, Terms{Revision: 2, IRD: 16, ORD: 16, PeerIRD: Unnegotiated, PeerORD: Unnegotiated}},
		{"reply of revision 1", two, reply(0, 0, rev1), Failed, RevisionChanged, Terms{Revision: 1, IRD: 16, ORD: 16, PeerIRD: Unnegotiated, PeerORD: Unnegotiated}},
		{"revision 1", one, reply(0, 0, rev1), Operating, 0, Terms{Revision: 1, IRD: 16, ORD: 16, PeerIRD: Unnegotiated, PeerORD: Unnegotiated}},
		{"revision 1, reply of 2", one, reply(0, 0), Failed, RevisionChanged, Terms{Revision: 2, IRD: 16, ORD: 16}},
		{"unasked peer-to-peer", two, reply(1, 1, peerToPeer(RTRSend)), Operating, 0, Terms{Revision: 2, Enhanced: true, IRD: 1, ORD: 1, PeerIRD: 1, PeerORD: 1}},
		{"all indications", p2p, reply(1, 1, peerToPeer(RTRSend|RTRWrite|RTRRead)), OwingRTR, 0, Terms{Revision: 2, Enhanced: true, IRD: 1, ORD: 1, PeerIRD: 1, PeerORD: 1, PeerToPeer: true, RTR: RTRWrite}},
		{"Send", p2p, reply(1, 1, peerToPeer(RTRSend|RTRRead)), OwingRTR, 0, Terms{Revision: 2, Enhanced: true, IRD: 1, ORD: 1, PeerIRD: 1, PeerORD: 1, PeerToPeer: true, RTR: RTRSend}},
		{"Read", p2p, reply(1, 1, peerToPeer(RTRRead)), OwingRTR, 0, Terms{Revision: 2, Enhanced: true, IRD: 1, ORD: 1, PeerIRD: 1, PeerORD: 1, PeerToPeer: true, RTR: RTRRead}},
		{"Read without a place", p2p, reply(0, 1, peerToPeer(RTRRead)), Failed, NoMatchingRTR, Terms{Revision: 2, Enhanced: true, IRD: 1, ORD: 0, PeerORD: 1}},
		{"no indication", p2p, reply(1, 1, peerToPeer(0)), Failed, NoMatchingRTR, Terms{Revision: 2, Enhanced: true, IRD: 1, ORD: 1, PeerIRD: 1, PeerORD: 1}},
		{"peer-to-peer not answered", p2p, reply(1, 1), Failed, NoMatchingRTR, Terms{Revision: 2, Enhanced: true, IRD: 1, ORD: 1, PeerIRD: 1, PeerORD: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			i := NewInitiator(tc.offer)
			if err := i.Receive(&tc.reply); !errors.Is(err, OutOfTurn) || i.Downgradable() {
				t.Fatalf("reply before the request: %v", err)
			}
			if _, err := i.Request(nil); err != nil || i.State() != AwaitingReply {
				t.Fatalf("request: %v, state %v", err, i.State())
			}
			if want := tc.offer.Revision == 2 && tc.offer.RTR == 0; i.Downgradable() != want {
				t.Errorf("downgradable %v, want %v", !want, want)
			}
			if _, err := i.Request(nil); !errors.Is(err, OutOfTurn) {
				t.Errorf("second request: %v", err)
			}
			err := i.Receive(&tc.reply)
			if i.State() != tc.state || tc.rule == 0 && err != nil || tc.rule != 0 && !errors.Is(err, tc.rule) {
				t.Fatalf("%v, state %v; want %v, %v", err, i.State(), tc.rule, tc.state)
			}
			if diff := cmp.Diff(tc.want, i.Terms()); diff != "" {
				t.Errorf("terms (-want +got):\n%s", diff)
			}
			if err := i.Receive(&tc.reply); !errors.Is(err, OutOfTurn) || i.Downgradable() {
				t.Errorf("second reply: %v", err)
			}
			if err := i.SentRTR(); (err == nil) != (tc.state == OwingRTR) || err == nil && i.State() != Operating {
				t.Errorf("RTR: %v, state %v", err, i.State())
			}
		})
	}
	tooLong := NewInitiator(Offer{Revision: 2, Private: make([]byte, 509)})
	if _, err := tooLong.Request(nil); !errors.Is(err, PrivateDataTooLong) || tooLong.State() != Ready {
		t.Errorf("509 bytes: %v, state %v", err, tooLong.State())
	}
}

func TestResponderFollowsTheRequest(t *testing.T) {
	request := func(ird, ord uint16, more ...func(*Frame)) Frame {
		f := reply(ird, ord, more...)
		f.Kind = Request
		return f
	}
	own := Offer{IRD: 8, ORD: 8, RTR: RTRWrite | RTRRead}
	sends := Offer{IRD: 8, ORD: 8, RTR: RTRSend}
	for _, tc := range []struct {
		name    string
		request Frame
		offer   Offer
		reply   Frame
		want    Terms
	}{
		{"enhanced", request(4, 2), own, reply(2, 4), Terms{Revision: 2, Enhanced: true, IRD: 2, ORD: 4, PeerIRD: 4, PeerORD: 2}},
		{"initiator wants more", request(100, 100), own, reply(8, 8), Terms{Revision: 2, Enhanced: true, IRD: 8, ORD: 8, PeerIRD: 100, PeerORD: 100}},
		{"no reads", request(0, 0), own, reply(0, 0), Terms{Revision: 2, Enhanced: true}},
		{"IRD agreed on elsewhere", request(Unnegotiated, 3), own, reply(3, Unnegotiated), Terms{Revision: 2, Enhanced: true, IRD: 3, ORD: 8, PeerIRD: Unnegotiated, PeerORD: 3}},
		{"ORD agreed on elsewhere", request(3, Unnegotiated), own, reply(Unnegotiated, 3), Terms{Revision: 2, Enhanced: true, IRD: 8, ORD: 3, PeerIRD: 3, PeerORD: Unnegotiated}},
		{"initiator's CRC", request(1, 1, crc), own, reply(1, 1, crc), Terms{Revision: 2, Enhanced: true, CRC: true, IRD: 1, ORD: 1, PeerIRD: 1, PeerORD: 1}},
		{"our CRC", request(1, 1), Offer{CRC: true}, reply(0, 0, crc), Terms{Revision: 2, Enhanced: true, CRC: true, PeerIRD: 1, PeerORD: 1}},
		{"revision 2, not enhanced", request(0, 0, bare), own, reply(0, 0, bare), Terms{Revision: 2, IRD: 8, ORD: 8, PeerIRD: Unnegotiated, PeerORD: Unnegotiated}},
		{"revision 1", request(0, 0, rev1, crc), own, reply(0, 0, rev1, crc), Terms{Revision: 1, CRC: true, IRD: 8, ORD: 8, PeerIRD: Unnegotiated, PeerORD: Unnegotiated}},
		{"peer-to-peer", request(1, 1, peerToPeer(7)), own, reply(1, 1, peerToPeer(6)), Terms{Revision: 2, Enhanced: true, IRD: 1, ORD: 1, PeerIRD: 1, PeerORD: 1, PeerToPeer: true, RTR: 6}},
		{"Read needs a place", request(1, 0, peerToPeer(RTRRead)), own, reply(1, 1, peerToPeer(RTRRead)), Terms{Revision: 2, Enhanced: true, IRD: 1, ORD: 1, PeerIRD: 1, PeerToPeer: true, RTR: RTRRead}},
		{"no indication in common", request(1, 1, peerToPeer(RTRRead)), sends, reply(1, 1, peerToPeer(RTRSend)), Terms{Revision: 2, Enhanced: true, IRD: 1, ORD: 1, PeerIRD: 1, PeerORD: 1, PeerToPeer: true, RTR: RTRSend}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r Responder
			if _, err := r.Accept(nil, tc.offer); !errors.Is(err, OutOfTurn) || r.State() != AwaitingRequest {
				t.Fatalf("accept before the request: %v", err)
			}
			if err := r.Receive(&tc.request); err != nil || r.State() != Deciding {
				t.Fatalf("%v, state %v", err, r.State())
			}
			tooLong := tc.offer
			tooLong.Private = make([]byte, MaxPrivate+1)
			if _, err := r.Accept(nil, tooLong); !errors.Is(err, PrivateDataTooLong) || r.State() != Deciding {
				t.Fatalf("accept with too much private data: %v, state %v", err, r.State())
			}
			b, err := r.Accept(nil, tc.offer)
			if err != nil || r.State() != AwaitingFirst {
				t.Fatalf("accept: %v, state %v", err, r.State())
			}
			got := Frame{Kind: Reply}
			if err := got.Decode(b); err != nil {
				t.Fatal(err)
			}
			got.Private = nil
			if diff := cmp.Diff(tc.reply, got); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, r.Terms()); diff != "" {
				t.Errorf("terms (-want +got):\n%s", diff)
			}
			if err := r.Receive(&tc.request); !errors.Is(err, OutOfTurn) {
				t.Errorf("second request: %v", err)
			}
			if _, err := r.Reject(nil, nil); !errors.Is(err, OutOfTurn) {
				t.Errorf("reject after accept: %v", err)
			}
			// What an initiator with the same indications would send first.
			rtr, err := r.First(tc.want.RTR & -tc.want.RTR)
			if err != nil || rtr != tc.want.PeerToPeer || r.State() != Operating {
				t.Errorf("first: %v, %v, state %v", rtr, err, r.State())
			}
			if _, err := r.First(0); !errors.Is(err, OutOfTurn) {
				t.Errorf("second first: %v", err)
			}
		})
	}
}

func TestResponderRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, request, reply string
		rule                 Rule
	}{
		{"revision 1", requestKey + "00 01 0000", replyKey + "20 01 0002 6e6f", 0},
		{"revision 1, CRC", requestKey + "40 01 0000", replyKey + "60 01 0002 6e6f", 0},
		{"enhanced", requestKey + "10 02 0004 0000 0010", replyKey + "30 02 0006 0010 0000 6e6f", 0},
		{"peer-to-peer", requestKey + "10 02 0004 8003 8010", replyKey + "30 02 0006 0010 0003 6e6f", 0},
		{"markers", requestKey + "80 01 0000", replyKey + "20 01 0002 6e6f", MarkersRefused},
		{"markers, enhanced", requestKey + "d0 02 0004 0001 0002", replyKey + "70 02 0006 0002 0001 6e6f", MarkersRefused},
	} {
		var r Responder
		f := Frame{Kind: Request}
		if err := f.Decode(unhex(t, tc.request)); err != nil {
			t.Fatal(err)
		}
		if err := r.Receive(&f); (err != nil) != (tc.rule != 0) || err != nil && !errors.Is(err, tc.rule) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.rule)
		}
		if _, err := r.Accept(nil, Offer{}); tc.rule != 0 && !errors.Is(err, OutOfTurn) {
			t.Errorf("%s: accepted: %v", tc.name, err)
		} else if tc.rule == 0 {
			r = Responder{}
			r.Receive(&f)
		}
		b, err := r.Reject(nil, []byte("no"))
		if want := unhex(t, tc.reply); err != nil || !cmp.Equal(b, want) || r.State() != RejectedState {
			t.Errorf("%s: %x, %v, state %v; want %x", tc.name, b, err, r.State(), want)
		}
	}
}

// The first FPDU must be one of the agreed indications, in the peer-to-peer model alone.
func TestFirstFPDUIsAnAgreedIndication(t *testing.T) {
	for _, first := range []RTR{0, RTRSend, RTRWrite, RTRRead} {
		for _, agreed := range []RTR{0, RTRSend, RTRWrite, RTRRead, RTRSend | RTRWrite} {
			var r Responder
			f := Frame{Kind: Request, Revision: 2, Enhanced: true, Setup: Setup{IRD: 1, ORD: 1, PeerToPeer: agreed != 0, RTR: agreed}}
			if err := r.Receive(&f); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Accept(nil, Offer{IRD: 1, ORD: 1, RTR: agreed}); err != nil {
				t.Fatal(err)
			}
			rtr, err := r.First(first)
			wrong := agreed != 0 && first&agreed == 0
			if rtr != (agreed != 0 && !wrong) || wrong != errors.Is(err, FirstNotRTR) || wrong != (r.State() == Failed) {
				t.Errorf("agreed %v, first %v: %v, %v, state %v", agreed, first, rtr, err, r.State())
			}
		}
	}
	if FirstNotRTR.Code() != CodeNoMatchingRTR || InsufficientIRD.Code() != CodeInsufficientIRD || !NoMatchingRTR.Reportable() {
		t.Error("wrong error codes")
	}
}
