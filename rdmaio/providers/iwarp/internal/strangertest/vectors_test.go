package strangertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// side is a host as a stranger.Side.
type side struct {
	*host
}

func (s *side) Expose(name string, size int, fill byte, read, write, invalidate bool) (uint32, uint64) {
	access := verbs.AccessLocalWrite
	for right, set := range map[verbs.Access]bool{verbs.AccessRemoteRead: read, verbs.AccessRemoteWrite: write, verbs.AccessRemoteInvalidate: invalidate} {
		if set {
			access |= right
		}
	}
	mr := s.region(name, bytes.Repeat([]byte{fill}, size), access)
	return mr.RKey(), mr.RemoteAddr()
}

func (s *side) Post(size int) { s.post(size) }

// depth returns the field of ConnParams for a depth.
func depth(n uint16) int {
	if n == 0 {
		return -1
	}
	return int(n)
}

func (s *side) Start(conn net.Conn, initiator bool, f stranger.Startup) (rejected []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	params := &verbs.ConnParams{PrivateData: f.Private}
	if f.Enhanced {
		params.InitiatorDepth, params.ResponderResources = depth(f.ORD), depth(f.IRD)
	}
	if initiator {
		_, err = s.dev.DialConn(ctx, conn, s.qp, params)
		var no *verbs.RejectedError
		if errors.As(err, &no) {
			return no.PrivateData, nil
		}
		return nil, err
	}
	req, err := s.dev.AcceptConn(ctx, conn)
	if err != nil {
		return nil, err
	}
	if f.Reject {
		return f.Private, req.Reject(f.Private)
	}
	_, err = req.Accept(ctx, s.qp, params)
	return nil, err
}

func (s *side) Send(op stranger.Opcode, payload []byte, stag uint32) error {
	mr := s.region(fmt.Sprint(len(s.regions)), append(payload, 0), verbs.AccessLocalWrite)
	wr := verbs.SendWR{Opcode: verbs.Send, SGL: []verbs.SGE{{MR: mr, Length: len(payload)}}, InvalidateRKey: stag}
	if op.Invalidates() {
		wr.Opcode = verbs.SendWithInvalidate
	}
	if op == stranger.SendSE || op == stranger.SendSEInvalidate {
		wr.Flags = verbs.SendSolicited
	}
	return s.send(wr)
}

func (s *side) Write(stag uint32, to uint64, payload []byte) error {
	mr := s.region(fmt.Sprint(len(s.regions)), append(payload, 0), verbs.AccessLocalWrite)
	return s.send(verbs.SendWR{Opcode: verbs.RDMAWrite, SGL: []verbs.SGE{{MR: mr, Length: len(payload)}}, RKey: stag, RemoteAddr: to})
}

func (s *side) Read(sink string, at, size int, stag uint32, to uint64) error {
	return s.send(verbs.SendWR{Opcode: verbs.RDMARead, SGL: []verbs.SGE{{MR: s.regions[sink], Offset: at, Length: size}}, RKey: stag, RemoteAddr: to})
}

func (s *side) Gets(op stranger.Opcode, payload []byte, stag uint32) error {
	got, wc, err := s.message()
	if err == nil && (!bytes.Equal(got, payload) || wc.InvalidatedRKey != stag) {
		err = fmt.Errorf("message %q, invalidated %#x, want %q, %#x", got, wc.InvalidatedRKey, payload, stag)
	}
	return err
}

func (s *side) Done() error {
	_, err := s.completion(verbs.WCRDMARead)
	return err
}

func (s *side) Memory(name string) []byte { return s.regions[name].Bytes() }

func (s *side) Ends(stranger.Code) error {
	if err := s.ended(); !errors.Is(err, verbs.ErrConnectionBroken) {
		return fmt.Errorf("error %w, want %w", err, verbs.ErrConnectionBroken)
	}
	return nil
}

// The provider sends and accepts each vector, in both roles.
func TestProviderSendsAndAcceptsVectors(t *testing.T) {
	all, err := stranger.Vectors()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		for i, initiator := range []bool{false, true} {
			if v.Choice[i] {
				continue
			}
			t.Run(fmt.Sprintf("%s, initiator %t", v.Name, initiator), func(t *testing.T) {
				f := v.Frames[i]
				cfg := config()
				vectorConfig(cfg, f)
				s := &side{host: newHost(t, open(t, cfg))}
				conn, theirs := tcp(t)
				defer conn.Close()
				if err := v.Play(s, initiator, conn, theirs); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// vectorConfig sets what a frame asks for.
func vectorConfig(cfg *iwarp.Config, f stranger.Startup) {
	cfg.NoCRC = !f.CRC
	if !f.Reply {
		cfg.Revision, cfg.PeerToPeer = int(f.Revision), f.PeerToPeer
	}
	for rtr, set := range map[iwarp.RTR]bool{iwarp.RTRSend: f.SendRTR, iwarp.RTRWrite: f.WriteRTR, iwarp.RTRRead: f.ReadRTR} {
		if set {
			cfg.RTR |= rtr
		}
	}
}

// tcp returns both ends of a stream.
func tcp(t testing.TB) (a, b net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", local)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if a, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	return a, b
}
