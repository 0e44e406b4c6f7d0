package decode

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// RPCSEC_GSS (RFC 2203 §5).
const (
	gssFlavor    = 6
	gssData      = 0
	gssNone      = 1
	gssIntegrity = 2
	gssPrivacy   = 3
)

// wrapping says how RPCSEC_GSS carries the arguments and results of a call.
type wrapping int

const (
	plain    wrapping = iota
	checked           // with a checksum
	unusable          // encrypted, or not the arguments of the procedure
)

// gss returns how RPCSEC_GSS wraps the arguments and results of a call.
func (d *Decoder) gss(c *Call) wrapping {
	if c.Auth != gssFlavor {
		return plain
	}
	if len(c.Message) < 48 {
		return unusable
	}
	procedure, service := binary.BigEndian.Uint32(c.Message[36:]), binary.BigEndian.Uint32(c.Message[44:])
	switch {
	case procedure != gssData:
		c.Notes = append(c.Notes, "RPCSEC_GSS: for the context, not for the procedure")
	case service == gssNone:
		return plain
	case service == gssIntegrity:
		return checked
	case service == gssPrivacy:
		c.Notes = append(c.Notes, "RPCSEC_GSS: encrypted")
	}
	return unusable
}

// open decodes the two words before the values in data with a checksum (RFC 2203 §5.3.2.2): the
// size and the sequence number. It returns where the values begin and end. The checksum is not
// verified: its key is not in the capture.
func (m *Message) open(data []byte, at int, name string) (from, to int, ok bool) {
	n := 0
	if len(data)-at >= 8 {
		n = int(binary.BigEndian.Uint32(data[at:]))
	}
	if n < 4 || n > len(data)-at-4 {
		m.Faults = append(m.Faults, &dynamic.Error{
			Code: dynamic.Short, Path: name, Offset: at,
			Message: fmt.Sprintf("found data of %d bytes with a checksum, %d bytes before the end, expected 4 or more (RFC 2203 §5.3.2.2)", n, len(data)-at),
		})
		m.undecoded(data, at)
		return 0, 0, false
	}
	for i, word := range []string{"gss_length", "gss_sequence"} {
		off := at + 4*i
		m.Root.Items = append(m.Root.Items, &dynamic.Value{
			Name: word, Index: -1, Type: &ir.Type{Kind: ir.Uint}, Offset: off, Length: 4, Word: uint64(binary.BigEndian.Uint32(data[off:])),
		})
	}
	return at + 8, at + 4 + n, true
}

// close decodes the checksum after the values, which end at an offset.
func (m *Message) close(data []byte, to int) {
	to += -to & 3
	if to > len(data) {
		to = len(data)
	}
	v, err := dynamic.DecodeAll(data[to:], &ir.Type{Kind: ir.Opaque}, dynamic.Limits{})
	shift(v, to)
	v.Name = "gss_checksum"
	m.Root.Items, m.Root.Length = append(m.Root.Items, v), to+v.Length
	m.fault(err, to, v.Name)
}
