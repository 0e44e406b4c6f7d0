package strangertest

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
)

// CRCs are generated and checked by both ends if either asks for them (RFC 5044 §7.1.1, C; §4.4).
func TestCRCCombinations(t *testing.T) {
	for _, host := range []bool{false, true} {
		for _, peer := range []bool{false, true} {
			for _, initiator := range []bool{false, true} {
				for _, revision := range []byte{1, 2} {
					t.Run(fmt.Sprintf("host %t, peer %t, initiator %t, revision %d", host, peer, initiator, revision), func(t *testing.T) {
						cfg := config()
						cfg.NoCRC, cfg.Revision = !host, int(revision)
						h := newHost(t, open(t, cfg))
						h.post(10, 10)
						f := stranger.Startup{CRC: peer}
						if revision == 2 {
							f = enhanced(peer)
						}
						answer := func(request stranger.Startup) stranger.Startup {
							r := stranger.Answer(request, f)
							r.CRC = peer // and not also because the Request has it
							return r
						}
						p := h.connect(initiator, stranger.Config{Startup: f, Reply: answer}, nil)
						want := host || peer
						if p.CRC != want {
							t.Fatalf("CRC %t, want %t; the host's frame is %+v", p.CRC, want, p.Peer)
						}
						if initiator && p.Peer.CRC != host {
							t.Errorf("the Request has C %t, want %t", p.Peer.CRC, host)
						}
						p.Send(stranger.Send, []byte("good"), 0)
						if b, _, err := h.message(); string(b) != "good" || err != nil {
							t.Fatalf("message %q, %v", b, err)
						}
						b := p.Wire(p.DueSend(stranger.Send, []byte("bad"), 0)...)
						b[len(b)-2] ^= 0x10
						p.PutBytes(b)
						got, _, err := h.message()
						if !want && (string(got) != "bad" || err != nil) {
							t.Errorf("message %q, %v without CRCs, which must not be checked", got, err)
						}
						if want && err == nil {
							t.Errorf("message %q with a wrong CRC", got)
						}
						if e := p.Received(); want && len(e) > 0 && e[len(e)-1].Opcode != stranger.TerminateOp {
							await(t, func() bool {
								e = p.Received()
								return e[len(e)-1].Opcode == stranger.TerminateOp
							})
						}
						noComplaints(t, p)
					})
				}
			}
		}
	}
}
