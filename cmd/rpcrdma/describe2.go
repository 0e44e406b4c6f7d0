package main

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// parts is the progress of the continued message in one direction of a connection. A message with
// MORE begins it, and the next one without MORE, with the same XID and type, completes it
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §6.3.2; section numbers here refer to this draft).
type parts struct {
	count      int // parts so far; 0: none has begun
	xid, htype uint32
}

// message2 is a message of version 2 that is being described.
type message2 struct {
	strings.Builder
	d     *xdr.Decoder
	size  int // of the message, bytes
	rest  int // bytes that the trace does not have
	p     *parts
	xid   uint32
	htype uint32
	flags uint32
}

// describe2 returns a message of version 2.
func describe2(b []byte, size int, p *parts) string {
	m := &message2{d: xdr.NewDecoder(b, &xdr.DecoderOptions{Alias: true}), size: size, rest: size - len(b), p: p}
	m.xid, m.htype = binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[12:])
	fmt.Fprintf(m, "xid 0x%08x version 2 ", m.xid)
	if low, high, ok := versionError(b, size); ok { // its credit word has the form of version 1
		fmt.Fprintf(m, "credits %d RDMA2_ERROR ERR_VERS in the form of version 1, %s", binary.BigEndian.Uint32(b[8:]), versionsText(low, high))
		return m.String()
	}
	credit := binary.BigEndian.Uint32(b[8:]) // §4.3.1
	fmt.Fprintf(m, "grants %d, ceiling %d %s", credit&0xffff, credit>>16, headerType(m.htype))
	var prefix rpcrdma2.HeaderPrefix
	if m.failed(prefix.DecodeXDR(m.d)) {
		return m.String()
	}
	m.flags = prefix.Flags
	m.WriteString(flags(m.flags))
	switch m.htype {
	case rpcrdma2.HeaderMsg:
		m.msg()
	case rpcrdma2.HeaderNomsg:
		m.nomsg()
	case rpcrdma2.HeaderError:
		var e rpcrdma2.Error
		if !m.failed(e.DecodeXDR(m.d)) {
			m.WriteString(" " + error2(&e))
		}
	case rpcrdma2.HeaderConnProp:
		m.properties(b)
		m.part("property set")
	default:
		fmt.Fprintf(m, ", %d bytes of body", size-rpcrdma2.HeaderPrefixFixedSize)
	}
	return m.String()
}

// failed appends the error of decoding, if there is one, or that the trace has too little of the
// message.
func (m *message2) failed(err error) bool {
	switch {
	case err == nil:
		return false
	case m.rest > 0:
		fmt.Fprintf(m, ", the header goes on beyond the %d bytes that the trace has", m.size-m.rest)
	default:
		fmt.Fprintf(m, ", not decoded: %v", err)
	}
	return true
}

// msg appends the body of RDMA2_MSG (§6.4.1). Only the first part of a continued message begins
// with an RPC header.
func (m *message2) msg() {
	var h rpcrdma2.Msg
	if m.failed(h.DecodeXDR(m.d)) {
		return
	}
	m.lists(&h.Chunks)
	payload := m.d.Rest()
	if m.part(fmt.Sprintf("%d bytes", len(payload)+m.rest)) {
		content(&m.Builder, xdr.NewDecoder(payload, &xdr.DecoderOptions{Alias: true}))
	}
}

// nomsg appends the body of RDMA2_NOMSG (§6.4.2). It only grants credits if it has no chunks.
func (m *message2) nomsg() {
	var h rpcrdma2.Nomsg
	if m.failed(h.DecodeXDR(m.d)) {
		return
	}
	if c := &h.Chunks; len(c.Reads) == 0 && len(c.Writes) == 0 && !c.Reply.Present {
		m.WriteString(", grants alone")
	}
	m.lists(&h.Chunks)
}

// part appends which part of a continued message this is, and reports whether it is the first or
// the only one. what names the contents of the part.
func (m *message2) part(what string) (first bool) {
	more := m.flags&rpcrdma2.FlagMore != 0
	switch p := m.p; {
	case p.count == 0 && !more:
		return true
	case p.count > 0 && (p.xid != m.xid || p.htype != m.htype):
		fmt.Fprintf(m, ", inside the continued message of xid 0x%08x", p.xid)
		return true
	case more:
		p.count++
		p.xid, p.htype = m.xid, m.htype
		fmt.Fprintf(m, ", part %d of a continued message: %s", p.count, what)
		return p.count == 1
	default:
		fmt.Fprintf(m, ", part %d and last: %s", p.count+1, what)
		*p = parts{}
		return false
	}
}

// lists appends the key to invalidate and the chunk lists (§6.3.3).
func (m *message2) lists(c *rpcrdma2.ChunkLists) {
	if c.InvHandle != 0 {
		fmt.Fprintf(m, ", invalidate key 0x%08x", c.InvHandle)
	}
	for _, r := range c.Reads {
		read(&m.Builder, r.Position, r.Target.Length, r.Target.Handle)
	}
	for i := range c.Writes {
		m.WriteString(", write")
		for _, t := range c.Writes[i].Target {
			oneSegment(&m.Builder, t.Length, t.Handle)
		}
	}
	if c.Reply.Present {
		m.WriteString(", reply")
		for _, t := range c.Reply.Value.Target {
			oneSegment(&m.Builder, t.Length, t.Handle)
		}
	}
}

// properties appends the properties of RDMA2_CONNPROP (§6.4.4).
func (m *message2) properties(b []byte) {
	scan := rpcrdma2.ScanConnProp(b[rpcrdma2.HeaderPrefixFixedSize:])
	none := true
	for p := range scan.Props() {
		none = false
		m.WriteString(", " + property(uint32(p.Which()), p.Data()))
	}
	_, err := scan.End()
	if !m.failed(err) && none {
		m.WriteString(", no properties")
	}
}
