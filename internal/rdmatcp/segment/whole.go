package segment

import "github.com/rpcrdma/rpcrdma/internal/rdmatcp/crc"

// Append appends a whole segment to b: header, control data, payload, padding and CRC.
// It sets h.CLEN and h.Length. If control is not whole 32-bit words, or a segment cannot
// be that long, Append returns an *Error and b unchanged.
func Append(b []byte, h *Header, control, payload []byte) ([]byte, error) {
	if len(control) > MaxControl || len(control)%4 != 0 {
		return b, h.refuse(ControlTooLong, uint64(len(control)), MaxControl)
	}
	h.CLEN = uint8(len(control) / 4)
	if !h.SetPayload(len(payload)) {
		return b, h.refuse(PayloadTooLong, uint64(len(payload)), uint64(MaxLength-h.Type.HeaderSize()-len(control)))
	}
	start := len(b)
	var head [LongHeader + TrailerSize]byte
	b = append(b, head[:h.Put(head[:])]...)
	b = append(b, control...)
	b = append(b, payload...)
	b = append(b, make([]byte, h.Padding())...) // at most 3 bytes, which do not escape
	sum := crc.Checksum(b[start:])
	crc.Put(head[:], sum)
	return append(b, head[:TrailerSize]...), nil
}

// Open reads the segment at the start of b and checks its CRC. It returns control data
// and payload as slices of b, and the size of the segment. h holds the header if it
// could be read, even with an error.
func Open(b []byte, h *Header) (control, payload []byte, wire int, err error) {
	if err := h.Decode(b); err != nil {
		return nil, nil, 0, err
	}
	wire = h.Wire()
	if len(b) < wire {
		return nil, nil, 0, h.refuse(Truncated, uint64(len(b)), uint64(wire))
	}
	end := wire - TrailerSize
	// draft-williams-rdmatcp-00 §3.4, CRC-32; R356
	if sum, found := crc.Checksum(b[:end]), crc.Get(b[end:]); sum != found {
		return nil, nil, 0, h.refuse(BadCRC, uint64(found), uint64(sum))
	}
	at := h.Type.HeaderSize() + h.Control()
	return b[h.Type.HeaderSize():at:at], b[at:h.Length:h.Length], wire, nil
}
