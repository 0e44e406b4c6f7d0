package main

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma1"
	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// describe returns a message of RPC-over-RDMA as a line of text. b is the message or its beginning,
// size the size of the message in bytes, and p the continued message that it may be part of. The
// second word is the version, which decides how the rest is read (RFC 8166 §4.2).
func describe(b []byte, size int, p *parts) string {
	if len(b) < 16 {
		return fmt.Sprintf("not decoded: found %d bytes, expected 16 at least", len(b))
	}
	switch v := binary.BigEndian.Uint32(b[4:]); v {
	case 1:
		return describe1(b)
	case 2:
		return describe2(b, size, p)
	default:
		s := fmt.Sprintf("xid 0x%08x version %d credit word 0x%08x type %d",
			binary.BigEndian.Uint32(b), v, binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:]))
		if low, high, ok := versionError(b, size); ok {
			return fmt.Sprintf("%s: ERR_VERS, %s", s, versionsText(low, high))
		}
		return s + ": not decoded, expected version 1 or 2"
	}
}

// versionError returns the versions of an ERR_VERS in the form of version 1, which a receiver of
// any version understands (RFC 8166 §4.5, §7). A message of version 2 with a code that has one word
// is as long, but it has the code where this form has the lowest version.
func versionError(b []byte, size int) (low, high uint32, ok bool) {
	word := func(i int) uint32 { return binary.BigEndian.Uint32(b[4*i:]) }
	if size != 28 || len(b) != size || word(3) != uint32(rpcrdma1.ProcError) || word(4) != uint32(rpcrdma1.ErrVers) {
		return 0, 0, false
	}
	switch word(5) {
	case rpcrdma2.ErrReadChunks, rpcrdma2.ErrWriteChunks, rpcrdma2.ErrSegments, rpcrdma2.ErrReplyResource:
		return 0, 0, false
	}
	return word(5), word(6), true
}

// versionsText returns a range of versions as text.
func versionsText(low, high uint32) string {
	if low == high {
		return fmt.Sprintf("version %d", low)
	}
	return fmt.Sprintf("versions %d to %d", low, high)
}

// describe1 returns a message of version 1.
func describe1(b []byte) string {
	var m rpcrdma1.Message
	d := xdr.NewDecoder(b, &xdr.DecoderOptions{Alias: true})
	if err := m.DecodeXDR(d); err != nil {
		return fmt.Sprintf("not decoded: %v", err)
	}
	var s strings.Builder
	fmt.Fprintf(&s, "xid 0x%08x version %d credits %d %v", m.XID, m.Vers, m.Credit, m.Body.Proc)
	switch m.Body.Proc {
	case rpcrdma1.ProcMsg:
		h := &m.Body.Msg
		lists1(&s, h.Reads, h.Writes, h.Reply)
		content(&s, d)
	case rpcrdma1.ProcNomsg:
		h := &m.Body.Nomsg
		lists1(&s, h.Reads, h.Writes, h.Reply)
	case rpcrdma1.ProcError:
		fmt.Fprintf(&s, " %v", m.Body.Error.Err)
		if m.Body.Error.Err == rpcrdma1.ErrVers {
			fmt.Fprintf(&s, ", %s", versionsText(m.Body.Error.Vrange.Low, m.Body.Error.Vrange.High))
		}
	}
	return s.String()
}

// lists1 appends the chunk lists of version 1.
func lists1(s *strings.Builder, reads []rpcrdma1.ReadChunk, writes []rpcrdma1.WriteChunk, reply xdr.Optional[rpcrdma1.WriteChunk]) {
	for _, r := range reads {
		read(s, r.Position, r.Target.Length, r.Target.Handle)
	}
	for i := range writes {
		s.WriteString(", write")
		for _, t := range writes[i].Target {
			oneSegment(s, t.Length, t.Handle)
		}
	}
	if reply.Present {
		s.WriteString(", reply")
		for _, t := range reply.Value.Target {
			oneSegment(s, t.Length, t.Handle)
		}
	}
}

// read appends an entry of a read list.
func read(s *strings.Builder, position, length, key uint32) {
	fmt.Fprintf(s, ", read at %d:", position)
	oneSegment(s, length, key)
}

// oneSegment appends a segment.
func oneSegment(s *strings.Builder, length, key uint32) {
	fmt.Fprintf(s, " %d bytes key 0x%08x", length, key)
}

// content appends the kind of the RPC message.
func content(s *strings.Builder, d *xdr.Decoder) {
	var m oncrpc.Header
	if m.DecodeXDR(d) != nil {
		s.WriteString("; not a whole RPC message")
		return
	}
	switch m.Body.Type {
	case oncrpc.MsgCall:
		c := &m.Body.Call
		fmt.Fprintf(s, "; CALL of program %d version %d procedure %d", c.Prog, c.Vers, c.Proc)
	case oncrpc.MsgReply:
		what := "success"
		if err := oncrpc.CheckReply(&m, m.XID); err != nil {
			what = err.Error()
		}
		fmt.Fprintf(s, "; REPLY: %s", what)
	}
}
