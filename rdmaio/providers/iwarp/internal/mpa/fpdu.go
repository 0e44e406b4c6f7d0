package mpa

import (
	"encoding/binary"
	"hash/crc32"
)

// Sizes, in bytes.
const (
	LengthSize = 2     // the ULPDU_Length at the start of an FPDU
	CRCSize    = 4     // the CRC field at its end, present with CRCs on and off
	MaxULPDU   = 65535 // longest ULPDU that ULPDU_Length can express
	MinMULPDU  = 128   // bounds of MULPDU (RFC 5044 §3)
	MaxMULPDU  = 64768
	MaxWire    = LengthSize + MaxULPDU + 3 + CRCSize // longest FPDU
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Pad returns the number of bytes of padding in an FPDU with a ULPDU of n bytes.
func Pad(n int) int { return -(LengthSize + n) & 3 }

// Wire returns the size of an FPDU with a ULPDU of n bytes.
func Wire(n int) int { return LengthSize + n + Pad(n) + CRCSize }

// MULPDU returns the size of the longest ULPDU whose FPDU fits into a TCP segment of emss
// bytes, without Markers (RFC 5044 §4.5), within the bounds of MULPDU.
func MULPDU(emss int) int {
	return min(max(emss-(LengthSize+CRCSize+emss%4), MinMULPDU), MaxMULPDU)
}

// Update returns the CRC32C of bytes whose CRC is crc, followed by p. The CRC of no bytes
// is 0.
func Update(crc uint32, p []byte) uint32 { return crc32.Update(crc, castagnoli, p) }

// PutCRC writes crc to the first CRCSize bytes of field, in the order of RFC 5044: the
// byte with the coefficients of x^31 to x^24 first, which is the least significant byte of
// the reflected value that Update returns.
func PutCRC(field []byte, crc uint32) { binary.LittleEndian.PutUint32(field, crc) }

// GetCRC returns the CRC that PutCRC wrote to field.
func GetCRC(field []byte) uint32 { return binary.LittleEndian.Uint32(field) }

// CheckCRC compares the CRC of an FPDU with its CRC field.
func CheckCRC(field []byte, crc uint32) error {
	if found := GetCRC(field); found != crc {
		return &Error{Rule: BadCRC, Got: uint64(found), Want: uint64(crc)}
	}
	return nil
}

// Length reads the ULPDU_Length of an FPDU from its first LengthSize bytes.
func Length(b []byte) (int, error) {
	if len(b) < LengthSize {
		return 0, fault(FPDUTruncated, len(b), LengthSize)
	}
	n := int(binary.BigEndian.Uint16(b))
	if n == 0 {
		return 0, fault(EmptyULPDU, 0, 1)
	}
	return n, nil
}

// AppendFPDU appends an FPDU to b. Without CRCs its CRC field is zero. It panics if the
// ULPDU is empty or longer than MaxULPDU.
func AppendFPDU(b, ulpdu []byte, crc bool) []byte {
	if len(ulpdu) == 0 || len(ulpdu) > MaxULPDU {
		panic("mpa: AppendFPDU: a ULPDU has 1 to 65535 bytes")
	}
	start := len(b)
	b = binary.BigEndian.AppendUint16(b, uint16(len(ulpdu)))
	b = append(b, ulpdu...)
	b = append(b, make([]byte, Pad(len(ulpdu))+CRCSize)...) // at most 7 bytes, which do not escape
	if crc {
		end := len(b) - CRCSize
		PutCRC(b[end:], Update(0, b[start:end]))
	}
	return b
}

// OpenFPDU reads the FPDU at the start of b, and checks its CRC if crc is set. It returns
// the ULPDU as a slice of b, and the size of the FPDU.
func OpenFPDU(b []byte, crc bool) (ulpdu []byte, wire int, err error) {
	n, err := Length(b)
	if err != nil {
		return nil, 0, err
	}
	wire = Wire(n)
	if len(b) < wire {
		return nil, 0, fault(FPDUTruncated, len(b), wire)
	}
	if end := wire - CRCSize; crc {
		if err := CheckCRC(b[end:], Update(0, b[:end])); err != nil {
			return nil, 0, err
		}
	}
	return b[LengthSize : LengthSize+n : LengthSize+n], wire, nil
}
