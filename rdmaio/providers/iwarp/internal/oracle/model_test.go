package oracle_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/ddp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/mpa"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/rdmap"
)

// piece is a TCP segment of a stream.
type piece struct {
	fromInitiator bool
	data          []byte
}

// unit is a frame of the set-up or an FPDU: its fields by Wireshark's names, as the packages of the
// provider read them. Numbers are in decimal, flags 0 or 1, bytes in hex.
type unit map[string]string

func (u unit) number(name string, v uint64) { u[name] = fmt.Sprint(v) }

func (u unit) flag(name string, v bool) {
	u[name] = "0"
	if v {
		u[name] = "1"
	}
}

func (u unit) bytes(name string, b []byte) {
	if len(b) > 0 {
		u[name] = hex.EncodeToString(b)
	}
}

// connection holds the units of a connection by direction: of the responder, and of the initiator.
type connection [2][]unit

// read returns the units of a connection.
func read(t *testing.T, pieces []piece) (c connection) {
	t.Helper()
	var streams [2][]byte
	for _, p := range pieces {
		streams[dir(p.fromInitiator)] = append(streams[dir(p.fromInitiator)], p.data...)
	}
	crc := false
	for i, kind := range []mpa.Kind{mpa.Reply, mpa.Request} {
		if len(streams[i]) == 0 {
			continue
		}
		n, err := mpa.PrivateLength(streams[i], kind)
		f := mpa.Frame{Kind: kind}
		if err == nil {
			err = f.Decode(streams[i][:mpa.FrameSize+n])
		}
		if err != nil {
			t.Fatal(err)
		}
		c[i] = append(c[i], frame(&f, n))
		streams[i] = streams[i][mpa.FrameSize+n:]
		crc = crc || f.CRC
	}
	for i := range streams {
		for len(streams[i]) > 0 {
			// A CRC that is wrong is for Wireshark to find, too.
			ulpdu, wire, err := mpa.OpenFPDU(streams[i], false)
			if errors.Is(err, mpa.FPDUTruncated) {
				break // the end of a connection that broke
			}
			if err != nil {
				t.Fatal(err)
			}
			c[i] = append(c[i], fpdu(t, ulpdu, streams[i][:wire], crc))
			streams[i] = streams[i][wire:]
		}
	}
	return c
}

// dir returns the index of a direction.
func dir(fromInitiator bool) int {
	if fromInitiator {
		return 1
	}
	return 0
}

// frame returns the fields of a request or reply.
func frame(f *mpa.Frame, private int) unit {
	u := unit{}
	u.flag("iwarp_mpa.marker_flag", f.Markers)
	u.flag("iwarp_mpa.crc_flag", f.CRC)
	u.flag("iwarp_mpa.rej_flag", f.Reject)
	u["iwarp_mpa.res"] = "0"
	b := f.Private
	if f.Enhanced {
		u["iwarp_mpa.res"] = "16" // flag S of RFC 6581, which Wireshark does not know
		word := func(depth uint16, flags ...bool) {
			for i, set := range flags {
				if set {
					depth |= 0x8000 >> i
				}
			}
			b = binary.BigEndian.AppendUint16(b, depth)
		}
		b = nil
		word(f.Setup.IRD, f.Setup.PeerToPeer, f.Setup.RTR&mpa.RTRSend != 0)
		word(f.Setup.ORD, f.Setup.RTR&mpa.RTRWrite != 0, f.Setup.RTR&mpa.RTRRead != 0)
		b = append(b, f.Private...)
	}
	u.number("iwarp_mpa.rev", uint64(f.Revision))
	u.number("iwarp_mpa.pdlength", uint64(private))
	u.bytes("iwarp_mpa.privatedata", b)
	return u
}

// fpdu returns the fields of an FPDU and its ULPDU.
func fpdu(t *testing.T, ulpdu, wire []byte, crc bool) unit {
	t.Helper()
	u := unit{}
	u.number("iwarp_mpa.ulpdulength", uint64(len(ulpdu)))
	end := len(wire) - mpa.CRCSize
	u.bytes("iwarp_mpa.pad", wire[mpa.LengthSize+len(ulpdu):end])
	// Wireshark shows the field as one big-endian number.
	sum := uint64(binary.BigEndian.Uint32(wire[end:]))
	if crc {
		u.number("iwarp_mpa.crc_check", sum)
		u.flag("good", mpa.CheckCRC(wire[end:], mpa.Update(0, wire[:end])) == nil)
	} else {
		u.number("iwarp_mpa.crc", sum)
	}
	var h ddp.Header
	if err := h.Decode(ulpdu); err != nil {
		t.Fatal(err)
	}
	body := ulpdu[h.Size():]
	op, err := rdmap.Check(&h, len(body))
	if err != nil {
		t.Fatal(err)
	}
	u.flag("iwarp_ddp.tagged_flag", h.Tagged)
	u.flag("iwarp_ddp.last_flag", h.Last)
	u["iwarp_ddp.rsvd"], u["iwarp_ddp.dv"] = "0", "1"
	u["iwarp_rdma.rsv"], u["iwarp_rdma.version"] = "0", "1"
	u.number("iwarp_rdma.opcode", uint64(op))
	switch {
	case h.Tagged:
		u.number("iwarp_ddp.stag", uint64(h.STag))
		u.number("iwarp_ddp.tagged_offset", h.TO)
		return u
	case op.Invalidates():
		u.number("iwarp_rdma.inval_stag", uint64(h.ULP2))
	default:
		u.bytes("iwarp_rdma.reserved", binary.BigEndian.AppendUint32(nil, h.ULP2))
	}
	u.bytes("iwarp_ddp.rsvdulp", append([]byte{h.ULP}, binary.BigEndian.AppendUint32(nil, h.ULP2)...))
	u.number("iwarp_ddp.qn", uint64(h.QN))
	u.number("iwarp_ddp.msn", uint64(h.MSN))
	u.number("iwarp_ddp.mo", uint64(h.MO))
	switch op {
	case rdmap.ReadRequestOp:
		var r rdmap.ReadRequest
		if err := r.Decode(body); err != nil {
			t.Fatal(err)
		}
		u.number("iwarp_rdma.sinkstag", uint64(r.SinkSTag))
		u.number("iwarp_rdma.sinkto", r.SinkTO)
		u.number("iwarp_rdma.rdmardsz", uint64(r.Size))
		u.number("iwarp_rdma.srcstag", uint64(r.SourceSTag))
		u.number("iwarp_rdma.srcto", r.SourceTO)
	case rdmap.TerminateOp:
		var term rdmap.Terminate
		if err := term.Decode(body); err != nil {
			t.Fatal(err)
		}
		u.terminate(&term)
	}
	return u
}

// terminate adds the fields of a Terminate. Wireshark has names of their own for the error codes of
// each layer and type.
func (u unit) terminate(t *rdmap.Terminate) {
	u.number("iwarp_rdma.term_layer", uint64(t.Cause.Layer))
	etype, code := "iwarp_rdma.term_etype", "iwarp_rdma.term_errcode"
	switch c := t.Cause; {
	case c.Layer == rdmap.LayerRDMAP && c.Type == rdmap.TypeLocal:
		etype += "_rdma"
	case c.Layer == rdmap.LayerRDMAP:
		etype, code = etype+"_rdma", code+"_rdma"
	case c.Layer == rdmap.LayerLLP:
		etype, code = etype+"_llp", code+"_llp"
	case c.Type == ddp.TypeTagged:
		etype, code = etype+"_ddp", code+"_ddp_tagged"
	case c.Type == ddp.TypeUntagged:
		etype, code = etype+"_ddp", code+"_ddp_untagged"
	default:
		etype += "_ddp"
	}
	u.number(etype, uint64(t.Cause.Type))
	u.number(code, uint64(t.Cause.Code))
	u.flag("iwarp_rdma.term_hdrct_m", t.HasDDP)
	u.flag("iwarp_rdma.hdrct_d", t.HasDDP)
	u.flag("iwarp_rdma.hdrct_r", t.HasRead)
	u["iwarp_rdma.term_rsvd"] = "0"
	if !t.HasDDP {
		return
	}
	u.bytes("iwarp_rdma.term_ddp_seg_len", binary.BigEndian.AppendUint16(nil, t.Length))
	headers := make([]byte, t.DDP.Size()+rdmap.ReadRequestSize)
	t.DDP.Put(headers)
	if t.HasRead {
		t.Read.Put(headers[t.DDP.Size():])
	}
	// RFC 5040 §4.8 puts the whole DDP header there. Wireshark looks for a tagged one if the error
	// type is 1, whatever the layer, although that of a Read Request is untagged.
	size := ddp.UntaggedSize
	if t.Cause.Type == ddp.TypeTagged {
		size = ddp.TaggedSize
	}
	u.bytes("iwarp_rdma.term_ddp_h", headers[:size])
	if t.HasRead {
		u.bytes("iwarp_rdma.term_rdma_h", headers[size:size+rdmap.ReadRequestSize])
	}
}

// shown returns the units of each connection of a capture as Wireshark shows them.
func shown(t *testing.T, in tshark.Input, n int) []connection {
	t.Helper()
	all := make([]connection, n)
	var stream, from int
	for _, p := range tshark.Only(tshark.Parts(t, in), "tcp", "iwarp_mpa", "iwarp_ddp_rdmap") {
		if p.Proto == "tcp" {
			stream, from = int(p.Number(t, "tcp.stream")), dir(p.Number(t, "tcp.dstport") == 20049)
			continue
		}
		units := &all[stream][from]
		if p.Proto == "iwarp_mpa" {
			*units = append(*units, unit{})
		}
		u := (*units)[len(*units)-1]
		for name, values := range p.Fields {
			if !strings.HasPrefix(name, "iwarp_") || values[0] == "" || strings.HasPrefix(name, "iwarp_mpa.key") {
				continue // it has no value, or the same value always
			}
			u[name] = plain(t, strings.Join(values, ";"))
		}
		if _, ok := u["iwarp_mpa.crc_check"]; ok && p.Proto == "iwarp_mpa" {
			u.flag("good", strings.Contains(p.Text, "Good CRC32"))
		}
	}
	return all
}

// plain returns a value of Wireshark as a unit has it.
func plain(t *testing.T, v string) string {
	t.Helper()
	if strings.Contains(v, ":") || len(v) == 2 && !strings.HasPrefix(v, "0x") && v[0] == '0' { // bytes
		return strings.ReplaceAll(v, ":", "")
	}
	var n uint64
	if _, err := fmt.Sscan(v, &n); err != nil || bytes.ContainsRune([]byte(v), ';') {
		t.Fatalf("%q is no number", v)
	}
	return fmt.Sprint(n)
}
