package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
)

// The startup frames of MPA (RFC 5044 §7.1.1).
var (
	mpaRequest = []byte("MPA ID Req Frame")
	mpaReply   = []byte("MPA ID Rep Frame")
)

const (
	mpaHead    = 20
	mpaMarkers = 0x80

	// The connection profile of RDMATCP (docs/rdmatcp.md):
	helloMagic = 0x72706431 // in the control data of the first message
	resReport  = 0xf        // the Send has the reason why it is the last
	goodbye    = 1          // the reason of an orderly close
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// startup returns the size of an MPA startup frame at the start of b, or 0 if b begins otherwise.
func startup(b []byte) int {
	if len(b) < mpaHead || !bytes.Equal(b[:16], mpaRequest) && !bytes.Equal(b[:16], mpaReply) {
		return 0
	}
	return mpaHead + int(binary.BigEndian.Uint16(b[18:]))
}

// isFPDU reports whether bytes begin with an FPDU, by its CRC or, without one, by the versions of
// DDP and RDMAP (RFC 5044 §4.4, RFC 5041 §4.1, RFC 5040 §4.1).
func isFPDU(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	n := fpdu(b)
	if len(b) < n || n < 24 || b[2]&3 != 1 || b[3]>>6 != 1 {
		return false
	}
	sum := binary.LittleEndian.Uint32(b[n-4:])
	return sum == 0 || sum == crc32.Checksum(b[:n-4], castagnoli)
}

// sealed reports whether the FPDU at the start of b has a CRC.
func sealed(b []byte) bool { return binary.LittleEndian.Uint32(b[fpdu(b)-4:]) != 0 }

// fpdu returns the size of the FPDU at the start of b, at least two bytes.
func fpdu(b []byte) int {
	return (2+int(binary.BigEndian.Uint16(b))+3)&^3 + 4
}

// isSegment reports whether bytes begin with an RDMATCP segment with the right CRC.
func isSegment(b []byte) bool {
	var h segment.Header
	_, _, _, err := segment.Open(b, &h)
	return err == nil
}

// iwarp takes the FPDUs at the start of the buffer.
func (h *half) iwarp(at int64) error {
	for len(h.buf) >= 2 {
		n := startup(h.buf)
		if n == 0 && len(h.buf) < mpaHead && bytes.HasPrefix(mpaRequest[:13], h.buf[:min(len(h.buf), 13)]) {
			return nil // perhaps a startup frame
		}
		begins := n > 0
		if !begins {
			n = fpdu(h.buf)
		}
		if len(h.buf) < n {
			return nil
		}
		frame := h.buf[:n]
		if begins {
			if frame[16]&mpaMarkers != 0 {
				return errors.New("MPA markers (RFC 5044 §4.3) are not decoded")
			}
			if frame[9] == 'q' && !h.conn.opened { // "MPA ID Req Frame"
				h.conn.open(h.index)
			}
		} else if err := h.ddp(at, frame[2:2+int(binary.BigEndian.Uint16(frame))]); err != nil {
			return err
		}
		h.consume(at, n)
	}
	return nil
}

// The opcodes of RDMAP (RFC 5040 §4.1).
const (
	opWrite        = 0
	opReadRequest  = 1
	opReadResponse = 2
	opSend         = 3
	opLastSend     = 6
	opTerminate    = 7
)

// ddp takes a DDP segment (RFC 5041 §4).
func (h *half) ddp(at int64, b []byte) error {
	if len(b) < 14 || b[0]&3 != 1 {
		return fmt.Errorf("found a DDP segment of %d bytes that begins with % x, expected 14 or more, and version 1 (RFC 5041 §4.1)", len(b), b[:min(len(b), 2)])
	}
	last, op := b[0]&0x40 != 0, b[1]&15
	if b[0]&0x80 != 0 {
		stag, to, data := binary.BigEndian.Uint32(b[2:]), binary.BigEndian.Uint64(b[6:]), b[14:]
		switch op {
		case opWrite:
			h.write(at, stag, to, data)
		case opReadResponse:
			h.answer(at, func(r *read) bool { return r.sink == stag && to-r.sinkAt < uint64(max(r.length, 1)) },
				func(r *read) uint64 { return to - r.sinkAt }, data, last)
		}
		return nil
	}
	if len(b) < 18 {
		return fmt.Errorf("found an untagged DDP segment of %d bytes, expected 18 or more (RFC 5041 §4.3)", len(b))
	}
	offset, data := binary.BigEndian.Uint32(b[14:]), b[18:]
	switch {
	case op >= opSend && op <= opLastSend:
		h.send(at, offset, data, last)
	case op == opReadRequest && len(data) >= 28:
		h.ask(read{
			sink: binary.BigEndian.Uint32(data), sinkAt: binary.BigEndian.Uint64(data[4:]), length: binary.BigEndian.Uint32(data[12:]),
			source: binary.BigEndian.Uint32(data[16:]), at: binary.BigEndian.Uint64(data[20:]),
		})
	case op == opTerminate && len(data) >= 2:
		h.conn.note(at, fmt.Sprintf("Terminate: layer %d, error type %d, code %d (RFC 5040 §4.8)", data[0]>>4, data[0]&15, data[1]))
	}
	return nil
}

// segments takes the RDMATCP segments at the start of the buffer.
func (h *half) segments(at int64) error {
	for len(h.buf) >= segment.PrefixSize {
		size, err := segment.Prefix(h.buf)
		if err != nil {
			return err
		}
		if len(h.buf) < size {
			return nil
		}
		var head segment.Header
		if err := head.Decode(h.buf); err != nil {
			return err
		}
		n := head.Wire()
		if len(h.buf) < n {
			return nil
		}
		control, data := h.buf[size:size+head.Control()], h.buf[size+head.Control():head.Length]
		switch head.Type {
		case segment.Send:
			if head.Res == resReport && head.Begin && len(control) >= 4 {
				if reason := binary.BigEndian.Uint32(control); reason != goodbye {
					h.conn.note(at, fmt.Sprintf("the connection is closed, for reason %d (docs/rdmatcp.md)", reason))
				}
			} else {
				h.send(at, head.Offset, data, head.End)
			}
		case segment.Write:
			h.write(at, head.BufferID, uint64(head.Offset), data)
		case segment.ReadRequest:
			h.ask(read{sink: head.Number, length: head.RDMALength, source: head.BufferID, at: uint64(head.Offset)})
		case segment.ReadResponse:
			h.answer(at, func(r *read) bool { return r.sink == head.Number },
				func(*read) uint64 { return uint64(head.Offset) }, data, head.End)
		}
		h.consume(at, n)
	}
	return nil
}

// isHello reports whether bytes begin with a hello of RDMATCP's connection profile.
func isHello(b []byte) bool {
	return len(b) >= segment.LongHeader+4 && b[0] == 1 && binary.BigEndian.Uint32(b[segment.LongHeader:]) == helloMagic
}

// consume removes a frame from the buffer.
func (h *half) consume(at int64, n int) {
	h.buf, h.bufAt = h.buf[n:], at
}
