package stranger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Frame returns the FPDU of a ULPDU (RFC 5044 §4.1). Without crc, the CRC field is zero.
func Frame(ulpdu []byte, crc bool) []byte {
	b := append(binary.BigEndian.AppendUint16(nil, uint16(len(ulpdu))), ulpdu...)
	b = append(b, make([]byte, -len(b)&3)...)
	return appendCRC(b, crc)
}

// Reseal corrects the CRC of an FPDU.
func Reseal(fpdu []byte) []byte {
	return appendCRC(fpdu[:len(fpdu)-4:len(fpdu)-4], true)
}

// appendCRC appends the CRC field. Its first octet is the least significant one of the register:
// see the hex dumps of RFC 5044 §4.4.
func appendCRC(b []byte, crc bool) []byte {
	var sum uint32
	if crc {
		sum = CRC32C(b)
	}
	return binary.LittleEndian.AppendUint32(b, sum)
}

// FPDU is a received FPDU.
type FPDU struct {
	ULPDU []byte
	Pad   []byte
	CRC   uint32
	Good  bool // the CRC is right
}

// ReadFPDU reads an FPDU of a stream without Markers. It returns io.EOF for a stream that ends
// before it.
func ReadFPDU(r io.Reader) (f FPDU, err error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return f, err
	}
	n := int(binary.BigEndian.Uint16(head[:]))
	pad := -(n + 2) & 3
	b := make([]byte, 2+n+pad+4)
	copy(b, head[:])
	if got, err := io.ReadFull(r, b[2:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return f, fmt.Errorf("stranger: %d of the %d bytes of an FPDU: %w", 2+got, len(b), err)
	}
	f = FPDU{ULPDU: b[2 : 2+n], Pad: b[2+n : 2+n+pad], CRC: binary.LittleEndian.Uint32(b[len(b)-4:])}
	f.Good = f.CRC == CRC32C(b[:len(b)-4])
	return f, nil
}
