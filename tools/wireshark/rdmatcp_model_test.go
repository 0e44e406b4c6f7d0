package wireshark_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/crc"
	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
)

// piece is a TCP segment of a stream.
type piece struct {
	fromServer bool
	data       []byte
}

// write returns the name of a capture of connections, each a list of TCP segments. At most snap
// bytes of a packet are kept, or all if it is zero.
func write(t *testing.T, snap int, connections ...[]piece) string {
	t.Helper()
	var out bytes.Buffer
	file := pcapng.NewFile(&out, snap)
	at := time.Unix(1000, 0)
	for i, pieces := range connections {
		c := file.Connection(fmt.Sprintf("connection %d", i))
		for _, p := range pieces {
			at = at.Add(time.Millisecond)
			c.Segment(!p.fromServer, at, p.data)
		}
	}
	name := filepath.Join(t.TempDir(), "capture.pcapng")
	if err := errors.Join(file.Err(), os.WriteFile(name, out.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return name
}

// shown holds the fields that the dissector should show of a segment, and the rule that the segment
// breaks.
type shown struct {
	fields map[string]uint64
	bytes  map[string]string
	rule   string
}

// expected returns what package segment reads of a connection, up to the first segment of each
// direction that breaks a rule.
func expected(pieces []piece) (all []shown) {
	var dirs [2]direction
	for _, p := range pieces {
		own, peer := &dirs[0], &dirs[1]
		if p.fromServer {
			own, peer = peer, own
		}
		own.rest = append(own.rest, p.data...)
		for !own.broken && len(own.rest) >= segment.PrefixSize {
			var h segment.Header
			err := own.Decode(&h, own.rest)
			s := shown{fields: map[string]uint64{}, bytes: map[string]string{}}
			if errors.Is(err, segment.Truncated) {
				break
			}
			if _, wrong := segment.Prefix(own.rest); wrong == nil {
				if len(own.rest) < h.Wire() {
					break
				}
				s.header(&h, own.rest)
			}
			if err == nil {
				err = s.follow(&h, own, peer)
			}
			if rule := segment.Rule(0); errors.As(err, &rule) {
				s.rule, own.broken = snake(rule.String()), true
			} else {
				s.rule = own.profile(&h, own.rest)
			}
			all = append(all, s)
			own.rest = own.rest[min(len(own.rest), h.Wire()):]
		}
	}
	return all
}

// direction is one direction of a connection, as its receiver sees it.
type direction struct {
	segment.Stream
	rest    []byte         // bytes that are not read yet
	reads   []segment.Read // Read_Requests of this direction that are not answered
	broken  bool
	greeted bool   // the hello came
	res     uint8  // of the open Send
	control []byte // of the open Send
}

// header adds the fields of a header and the CRC.
func (s *shown) header(h *segment.Header, b []byte) {
	s.fields["version"] = 1
	s.fields["res"] = uint64(h.Res)
	s.fields["b"], s.fields["e"] = 0, 0
	if h.Begin {
		s.fields["b"] = 1
	}
	if h.End {
		s.fields["e"] = 1
	}
	s.fields["type"] = uint64(h.Type)
	s.fields["segment_length"] = uint64(h.Length)
	s.fields["connection_id"] = h.ConnID
	s.fields["message_number"] = uint64(h.Number)
	s.fields["order"] = uint64(h.Order)
	s.fields["reserved"] = uint64(b[18])
	s.fields["clen"] = uint64(h.CLEN)
	end := h.Wire() - segment.TrailerSize
	found, sum := crc.Get(b[end:]), crc.Checksum(b[:end])
	s.fields["crc"], s.fields["crc.status"] = uint64(found), 1
	if found != sum {
		s.fields["crc.status"], s.fields["crc.computed"] = 0, uint64(sum)
	}
	if h.Type.HeaderSize() == segment.ShortHeader {
		s.fields["data_offset"] = uint64(h.Offset)
		return
	}
	s.fields["rdma_buffer_id"] = uint64(h.BufferID)
	s.fields["rdma_buffer_offset"] = uint64(h.Offset)
	s.fields["rdma_length"] = uint64(h.RDMALength)
}

// follow checks a segment against those before it, and its CRC. It adds the fields between the two.
func (s *shown) follow(h *segment.Header, own, peer *direction) error {
	var oldest *segment.Read
	if len(peer.reads) > 0 {
		oldest = &peer.reads[0]
	}
	b, at := own.rest, h.Type.HeaderSize()+h.Control()
	s.bytes["control_data"] = hex.EncodeToString(b[h.Type.HeaderSize():at])
	s.bytes["payload"] = hex.EncodeToString(b[at:h.Length])
	s.bytes["padding"] = hex.EncodeToString(b[h.Length : h.Wire()-segment.TrailerSize])
	if err := own.Accept(h, oldest); err != nil {
		return err
	}
	peer.ConnID, peer.Known = own.ConnID, true
	switch {
	case h.Type == segment.ReadRequest:
		own.reads = append(own.reads, segment.Read{Number: h.Number, Length: h.RDMALength})
	case h.Type == segment.ReadResponse && h.End:
		peer.reads = peer.reads[1:]
	}
	if s.fields["crc.status"] == 0 {
		return &segment.Error{Rule: segment.BadCRC, Type: h.Type}
	}
	return nil
}

// profile returns the rule of docs/rdmatcp.md that a right segment breaks, or "".
func (d *direction) profile(h *segment.Header, b []byte) string {
	control := b[h.Type.HeaderSize():][:h.Control()]
	if !d.greeted {
		d.greeted = true
		if h.Type != segment.Write || !h.Begin || !h.End || h.BufferID != 0 || h.RDMALength != 0 || len(control) < 16 ||
			string(control[:4]) != "rpd1" || int(control[7]) > len(control)-16 {
			return "bad_hello"
		}
		return ""
	}
	if h.Type != segment.Send {
		return ""
	}
	if h.Begin {
		d.res, d.control = h.Res, nil
	}
	d.control = append(d.control, control...)
	switch {
	case !h.End:
	case d.res == 15 && len(d.control) < 12, d.res != 15 && d.res >= 8 && (len(d.control) < 8 || d.control[3] != 1):
		return "bad_control"
	}
	return ""
}

// snake returns a name in words with underscores.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		lower := func(at int) bool { return at < len(name) && unicode.IsLower(rune(name[at])) }
		if unicode.IsUpper(r) && i > 0 && (lower(i-1) || lower(i+1)) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// These are the fields whose values are compared, as numbers and as bytes.
var (
	numberFields = []string{
		"version", "res", "b", "e", "type", "segment_length", "connection_id", "message_number", "order", "reserved", "clen",
		"data_offset", "rdma_buffer_id", "rdma_buffer_offset", "rdma_length", "crc", "crc.status", "crc.computed",
	}
	byteFields = []string{"control_data", "payload", "padding"}
)

// differences compares what the dissector shows with what it should.
func differences(t *testing.T, found tshark.Part, want shown) (text string) {
	t.Helper()
	for _, name := range numberFields {
		v, ok := want.fields[name]
		values := found.Numbers(t, "rdmatcp."+name)
		switch {
		case !ok && want.rule != "" && len(want.fields) == 0: // Decode read nothing
		case !ok && len(values) > 0:
			text += fmt.Sprintf("%s: found %#x, want none\n", name, values)
		case ok && (len(values) != 1 || values[0] != v):
			text += fmt.Sprintf("%s: found %#x, want %#x\n", name, values, v)
		}
	}
	for _, name := range byteFields {
		v, ok := want.bytes[name]
		if got := strings.ReplaceAll(strings.Join(found.Fields["rdmatcp."+name], ";"), ":", ""); ok && got != v {
			text += fmt.Sprintf("%s: found %s, want %s\n", name, got, v)
		}
	}
	if rules := brokenRules(found); rules != want.rule {
		text += fmt.Sprintf("rule: found %q, want %q\n", rules, want.rule)
	}
	return text
}

// brokenRules returns the rules that experts note.
func brokenRules(p tshark.Part) string {
	var names []string
	for name := range p.Fields {
		if rule, ok := strings.CutPrefix(name, "rdmatcp."); ok && slices.Contains(rules, rule) {
			names = append(names, rule)
		}
	}
	return strings.Join(names, " ")
}

// rules are the names of the rules of package segment, and of those that the profile adds.
var rules = func() []string {
	names := []string{"bad_hello", "bad_control"}
	for r := segment.BadVersion; r <= segment.BadCRC; r++ {
		names = append(names, snake(r.String()))
	}
	return names
}()
