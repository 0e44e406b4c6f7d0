package iwarp_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Whole connections in octets: the provider sends and accepts what another reader of the RFCs has
// worked out, in both roles.
func TestVectors(t *testing.T) {
	vectors, err := stranger.Vectors()
	if err != nil || len(vectors) < 10 {
		t.Fatalf("%d vectors: %v", len(vectors), err)
	}
	for _, v := range vectors {
		for i, initiator := range []bool{false, true} {
			if v.Choice[i] {
				continue
			}
			t.Run(fmt.Sprintf("%s, initiator %t", v.Name, initiator), func(t *testing.T) {
				own := v.Frames[i]
				cfg := &iwarp.Config{
					NoCRC: !own.CRC, Revision: int(own.Revision), PeerToPeer: initiator && own.PeerToPeer,
					RTR: rtr(own), ReceiveTimeout: -1,
				}
				if own.Revision == 0 {
					cfg.Revision = 1
				}
				p := &player{side: newSide(t, device(t, cfg)), regions: make(map[string]verbs.MemoryRegion)}
				conn, theirs := tcpPair(t)
				if err := v.Play(p, initiator, conn, theirs); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// rtr returns the ready-to-receive indications of a frame.
func rtr(s stranger.Startup) (r iwarp.RTR) {
	for kind, set := range map[iwarp.RTR]bool{iwarp.RTRSend: s.SendRTR, iwarp.RTRWrite: s.WriteRTR, iwarp.RTRRead: s.ReadRTR} {
		if set {
			r |= kind
		}
	}
	return r
}

// player is a side of the provider as a stranger.Side.
type player struct {
	*side
	regions map[string]verbs.MemoryRegion
	used    int // bytes of the region of the side that are posted
}

func (p *player) Expose(name string, size int, fill byte, read, write, invalidate bool) (uint32, uint64) {
	access := verbs.AccessLocalWrite
	for right, set := range map[verbs.Access]bool{verbs.AccessRemoteRead: read, verbs.AccessRemoteWrite: write, verbs.AccessRemoteInvalidate: invalidate} {
		if set {
			access |= right
		}
	}
	mr := p.region(p.pd, size, access)
	copy(mr.Bytes(), bytes.Repeat([]byte{fill}, size))
	p.regions[name] = mr
	return mr.RKey(), mr.RemoteAddr()
}

func (p *player) Post(size int) {
	wr := verbs.RecvWR{WRID: uint64(p.used)}
	if size > 0 {
		wr.SGL = []verbs.SGE{{MR: p.mr, Offset: p.used, Length: size}}
	}
	if _, err := p.qp.PostRecv([]verbs.RecvWR{wr}); err != nil {
		p.Fatal(err)
	}
	p.used += size
}

func (p *player) Start(conn net.Conn, initiator bool, s stranger.Startup) (rejected []byte, err error) {
	params := &verbs.ConnParams{PrivateData: s.Private}
	if s.Enhanced {
		params.InitiatorDepth, params.ResponderResources = depth(s.ORD), depth(s.IRD)
	}
	if initiator {
		_, err := p.dialConn(conn, params)
		no := (*verbs.RejectedError)(nil)
		if errors.As(err, &no) {
			return no.PrivateData, nil
		}
		return nil, err
	}
	if !s.Reject {
		return nil, p.acceptConn(conn, params)
	}
	req, err := p.dev.AcceptConn(p.Context(), conn)
	if err != nil {
		return nil, err
	}
	return nil, req.Reject(s.Private)
}

// depth returns the wish that means a depth of a frame.
func depth(n uint16) int {
	if n == 0 {
		return -1
	}
	return int(n)
}

// request posts a request with a payload of its own.
func (p *player) request(wr verbs.SendWR, payload []byte) error {
	if len(payload) > 0 {
		mr := p.region(p.pd, len(payload), verbs.AccessLocalWrite)
		copy(mr.Bytes(), payload)
		wr.SGL = []verbs.SGE{{MR: mr, Length: len(payload)}}
	}
	_, err := p.qp.PostSend([]verbs.SendWR{wr})
	return err
}

func (p *player) Send(op stranger.Opcode, payload []byte, stag uint32) error {
	wr := verbs.SendWR{Opcode: verbs.Send, InvalidateRKey: stag}
	if op.Invalidates() {
		wr.Opcode = verbs.SendWithInvalidate
	}
	if op == stranger.SendSE || op == stranger.SendSEInvalidate {
		wr.Flags = verbs.SendSolicited
	}
	return p.request(wr, payload)
}

func (p *player) Write(stag uint32, to uint64, payload []byte) error {
	if len(payload) == 0 {
		stag, to = 0, 0
	}
	return p.request(verbs.SendWR{Opcode: verbs.RDMAWrite, RKey: stag, RemoteAddr: to}, payload)
}

func (p *player) Read(sink string, at, size int, stag uint32, to uint64) error {
	wr := verbs.SendWR{Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, RKey: stag, RemoteAddr: to}
	if size > 0 {
		wr.SGL = []verbs.SGE{{MR: p.regions[sink], Offset: at, Length: size}}
	} else {
		wr.RKey, wr.RemoteAddr = 0, 0
	}
	_, err := p.qp.PostSend([]verbs.SendWR{wr})
	return err
}

func (p *player) Gets(op stranger.Opcode, payload []byte, stag uint32) error {
	wc := p.ok()
	got := p.mr.Bytes()[wc.WRID:][:wc.ByteLen]
	if wc.Opcode != verbs.WCRecv || !bytes.Equal(got, payload) || wc.InvalidatedRKey != stag {
		return fmt.Errorf("%+v with %q, want %q and STag 0x%08x", wc, got, payload, stag)
	}
	return nil
}

func (p *player) Done() error {
	if wc := p.ok(); wc.Opcode != verbs.WCRDMARead {
		return fmt.Errorf("%+v, want a Read", wc)
	}
	return nil
}

func (p *player) Memory(name string) []byte { return p.regions[name].Bytes() }

func (p *player) Ends(reason stranger.Code) error {
	select {
	case <-p.lost:
	case <-time.After(patience):
		return errors.New("the connection still stands")
	}
	// The words of the documents, in the provider's error or in the peer's report.
	err := p.qp.Err()
	if !errors.Is(err, verbs.ErrConnectionBroken) {
		return fmt.Errorf("%v, want %v", err, reason)
	}
	if text := err.Error(); strings.Contains(text, "the peer ended the connection") && !strings.Contains(text, fmt.Sprintf("code %d", reason.Code)) {
		return fmt.Errorf("%v, want %v", err, reason)
	}
	return nil
}
