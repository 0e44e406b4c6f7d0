package strangertest

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// By default an FPDU fits into a TCP segment: MULPDU = EMSS - (6 + EMSS mod 4), and not less than
// 128 (RFC 5044 §4.5).
func TestFPDUFitsIntoASegment(t *testing.T) {
	for _, mss := range []int{536, 1400, 1448, 9000} {
		h := newHost(t, open(t, config()))
		mr := h.region("memory", make([]byte, 60_000), everything)
		small := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
			var failed error
			err := c.Control(func(fd uintptr) {
				failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, mss)
			})
			return errors.Join(err, failed)
		}}
		ln, err := small.Listen(context.Background(), "tcp4", local)
		h.must(err)
		result := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_, err := h.dev.Dial(ctx, ln.Addr().String(), h.qp, nil)
			result <- err
		}()
		conn, err := ln.Accept()
		h.must(err)
		ln.Close()
		p, err := stranger.Respond(conn, stranger.Config{
			Startup: enhanced(true), Buffers: []int{60_000},
			Regions: map[uint32]stranger.Region{1: {Bytes: make([]byte, 60_000), WriteOK: true}},
		})
		h.must(err)
		h.must(<-result)
		sge := []verbs.SGE{{MR: mr, Length: 60_000}}
		h.must(h.send(verbs.SendWR{Opcode: verbs.RDMAWrite, SGL: sge, RKey: 1}))
		h.must(h.send(verbs.SendWR{Opcode: verbs.Send, SGL: sge}))
		if e := p.Next(); e.Kind != stranger.Message {
			t.Fatalf("%v", e)
		}
		longest := 0
		for _, s := range p.Received() {
			longest = max(longest, len(s.Bytes()))
		}
		// The timestamps of TCP take 12 bytes of a segment, if they are on.
		mulpdu := func(emss int) int { return emss - (6 + emss%4) }
		if longest != mulpdu(mss) && longest != mulpdu(mss-12) {
			t.Errorf("MSS %d: the longest ULPDU has %d bytes, want %d, or %d with timestamps", mss, longest, mulpdu(mss), mulpdu(mss-12))
		}
		noComplaints(t, p)
		p.Close()
	}
}
