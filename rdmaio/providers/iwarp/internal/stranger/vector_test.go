package stranger

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

func vectors(t *testing.T) []*Vector {
	t.Helper()
	all, err := Vectors()
	if err != nil || len(all) < 10 {
		t.Fatalf("%d vectors: %v", len(all), err)
	}
	return all
}

// All CRCs of the files are right, except for one on purpose.
func TestVectorCRCs(t *testing.T) {
	for _, v := range vectors(t) {
		for _, s := range v.Steps {
			b := v.Expand(s)
			if len(b) == 0 || !isFPDU(b) {
				continue
			}
			f, err := ReadFPDU(bytes.NewReader(b))
			if want := v.CRC && (v.Name != "terminate-crc" || !s.Initiator); f.Good != want || err != nil {
				t.Errorf("%s.txt:%d: CRC right: %t, want %t; %v", v.Name, s.Line, f.Good, want, err)
			}
		}
	}
}

// side is an Endpoint as a Side.
type side struct {
	cfg   Config
	names map[string]uint32
	p     *Endpoint
}

func (s *side) Expose(name string, size int, fill byte, read, write, invalidate bool) (uint32, uint64) {
	stag := uint32(0x77000000 + len(s.names))
	s.names[name] = stag
	r := Region{Base: 1 << 50, Bytes: bytes.Repeat([]byte{fill}, size), ReadOK: read, WriteOK: write, InvalidOK: invalidate}
	s.cfg.Regions[stag] = r
	return stag, r.Base
}

func (s *side) Post(size int) { s.cfg.Buffers = append(s.cfg.Buffers, size) }

func (s *side) Start(conn net.Conn, initiator bool, startup Startup) (rejected []byte, err error) {
	s.cfg.Startup = startup
	if initiator {
		s.p, err = Initiate(conn, s.cfg)
	} else {
		s.cfg.Reply = func(Startup) Startup { return startup }
		s.p, err = Respond(conn, s.cfg)
	}
	var no *RejectedError
	if errors.As(err, &no) {
		return no.Reply.Private, nil
	}
	return nil, err
}

func (s *side) Send(op Opcode, payload []byte, stag uint32) error {
	s.p.Send(op, payload, stag)
	return nil
}

func (s *side) Write(stag uint32, to uint64, payload []byte) error {
	if len(payload) == 0 {
		stag, to = 0, 0
	}
	s.p.Write(stag, to, payload)
	return nil
}

func (s *side) Read(sink string, at, size int, stag uint32, to uint64) error {
	s.p.Read(Read{SinkSTag: s.names[sink], SinkTO: 1<<50 + uint64(at), Size: uint32(size), SourceSTag: stag, SourceTO: to})
	return nil
}

func (s *side) Gets(op Opcode, payload []byte, stag uint32) error {
	if e := s.p.Next(); e.Kind != Message || e.Opcode != op || !bytes.Equal(e.Payload, payload) || e.STag != stag {
		return fmt.Errorf("%v", e)
	}
	return nil
}

func (s *side) Done() error {
	if e := s.p.Next(); e.Kind != ReadDone {
		return fmt.Errorf("%v", e)
	}
	return nil
}

func (s *side) Memory(name string) []byte {
	b, _ := s.p.Memory(s.names[name])
	return b
}

func (s *side) Ends(reason Code) error {
	if e := s.p.Next(); e.Kind != Terminated && e.Kind != Failed || e.Terminate.Code != reason {
		return fmt.Errorf("%v, want %v", e, reason)
	}
	return nil
}

// An Endpoint sends and accepts each vector, in both roles.
func TestEndpointSendsAndAcceptsVectors(t *testing.T) {
	for _, v := range vectors(t) {
		for name, stream := range streams {
			for i, initiator := range []bool{false, true} {
				if v.Choice[i] {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, initiator %t", v.Name, name, initiator), func(t *testing.T) {
					s := &side{names: make(map[string]uint32), cfg: Config{Regions: make(map[uint32]Region)}}
					conn, theirs := stream(t)
					defer conn.Close()
					if err := v.Play(s, initiator, conn, theirs); err != nil {
						t.Error(err)
					}
					if s.p != nil {
						noComplaints(t, s.p)
						s.p.Close()
					}
				})
			}
		}
	}
}

// A vector with a changed octet is not accepted.
func TestVectorMistake(t *testing.T) {
	for _, v := range vectors(t) {
		if v.Name != "rev2" {
			continue
		}
		for _, s := range v.Steps {
			for i := range s.Octets {
				if p := &s.Octets[i]; string(p.literal) == "result" {
					p.literal = []byte("Result")
				}
			}
		}
		s := &side{names: make(map[string]uint32), cfg: Config{Regions: make(map[uint32]Region)}}
		conn, theirs := tcp(t)
		err := v.Play(s, false, conn, theirs)
		conn.Close()
		s.p.Close()
		if err == nil || !strings.Contains(err.Error(), "the side sent") {
			t.Errorf("error %v", err)
		}
	}
}

// Wireshark finds no malformed frame in the vectors and all CRCs right, except for one on purpose,
// and shows the fields that an Endpoint reads: the vectors have a third reader.
func TestVectorsTshark(t *testing.T) {
	tshark := witness.Program(t, "tshark")
	var b bytes.Buffer
	file := pcapng.NewFile(&b, 0)
	var want []string
	sums := 0
	for _, v := range vectors(t) {
		conn := file.Connection(v.Name)
		for _, s := range v.Steps {
			octets := v.Expand(s)
			if len(octets) == 0 {
				continue
			}
			conn.Segment(s.Initiator, time.Time{}, octets)
			line := v.Name
			if isFPDU(octets) {
				f, err := ReadFPDU(bytes.NewReader(octets))
				seg, err2 := ParseSegment(f.ULPDU)
				if err := errors.Join(err, err2); err != nil {
					t.Fatal(err)
				}
				line = fmt.Sprintf("%s|%d|%d|0x%02x|%s", v.Name, len(f.ULPDU), flag[byte](seg.Last, 1), seg.Opcode, shown(&seg))
				if v.CRC {
					sums++
				}
			} else {
				line += "|||||||"
			}
			want = append(want, line)
		}
	}
	name := filepath.Join(t.TempDir(), "vectors.pcapng")
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		args = append([]string{"-r", name, "--disable-protocol", "rpcordma"}, args...)
		out, err := exec.Command(tshark, args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	got := run("-T", "fields", "-E", "separator=|", "-e", "frame.interface_name", "-e", "iwarp_mpa.ulpdulength",
		"-e", "iwarp_ddp.last_flag", "-e", "iwarp_rdma.opcode", "-e", "iwarp_ddp.stag", "-e", "iwarp_ddp.tagged_offset",
		"-e", "iwarp_ddp.qn", "-e", "iwarp_ddp.msn")
	if d := cmp.Diff(want, strings.Split(strings.TrimSpace(got), "\n")); d != "" {
		t.Errorf("fields (-want +got):\n%s", d)
	}
	text := run("-V")
	if good, bad := strings.Count(text, "(Good CRC32)"), strings.Count(text, "(Bad CRC32"); good != sums-1 || bad != 1 {
		t.Errorf("%d CRCs are right and %d wrong, want %d and 1", good, bad, sums-1)
	}
	if strings.Contains(text, "alformed") {
		t.Errorf("a frame is malformed:\n%s", text)
	}
}

// shown returns the fields of a DDP header as tshark prints them.
func shown(s *Segment) string {
	if s.Tagged {
		return fmt.Sprintf("0x%08x|0x%016x||", s.STag, s.TO)
	}
	return fmt.Sprintf("||%d|%d", s.QN, s.MSN)
}
