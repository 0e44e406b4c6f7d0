package capture

import (
	"encoding/binary"
	"fmt"
)

const (
	lastFragment = 1 << 31
	markSize     = 4
)

// record puts the fragments of a message together (RFC 5531 §11).
type record struct {
	mark     [markSize]byte
	have     int // bytes of mark
	left     int // bytes of the fragment that have not come
	last     bool
	inside   bool // a fragment has begun
	message  []byte
	dropped  int // bytes of the message beyond the limit
	at       int64
	nonempty bool // a byte of the message or its marks has come
	empty    int  // empty fragments in a row
}

// maxEmpty is the number of empty fragments that record marking may have in a row.
const maxEmpty = 64

// add takes bytes of a stream, and passes on messages that are whole. It returns an error for
// bytes that break its rules.
func (r *record) add(at int64, b []byte, limit int, message func(Span, []byte, int)) error {
	for len(b) > 0 {
		if !r.nonempty {
			r.at, r.nonempty = at, true
		}
		if !r.inside {
			n := copy(r.mark[r.have:], b)
			r.have, b = r.have+n, b[n:]
			if r.have < markSize {
				return nil
			}
			m := binary.BigEndian.Uint32(r.mark[:])
			r.have, r.inside, r.left, r.last = 0, true, int(m&^lastFragment), m&lastFragment != 0
			if r.left == 0 && !r.last {
				if r.empty++; r.empty > maxEmpty {
					return fmt.Errorf("found %d empty fragments in a row, expected record marking (RFC 5531 §11)", r.empty)
				}
			} else {
				r.empty = 0
			}
		}
		n := min(r.left, len(b))
		keep := min(n, limit-len(r.message))
		r.message = append(r.message, b[:keep]...)
		r.dropped += n - keep
		if r.left, b = r.left-n, b[n:]; r.left > 0 {
			return nil
		}
		r.inside = false
		if r.last {
			m, dropped, first := r.message, r.dropped, r.at
			*r = record{}
			message(Span{first, at}, m, dropped)
		}
	}
	return nil
}

// longestDenied is the largest size of a reply that denies a Call, in bytes (RFC 5531 §9).
const longestDenied = 24

// plausible reports whether bytes may begin a record with an RPC message, and whether it takes more
// bytes to know that. An FPDU of iWARP without a CRC may look like a long fragment of a reply that
// denies a Call, or of a Call of program 0, which is reserved (RFC 5531 §13.1).
func plausible(b []byte, limit int) (yes, more bool) {
	if len(b) < markSize {
		return false, true
	}
	n := int(binary.BigEndian.Uint32(b) &^ lastFragment)
	body := b[markSize:]
	if n < 20 || n > limit {
		return false, false
	}
	if len(body) < 24 && n > len(body) {
		return false, len(body) < 8 || binary.BigEndian.Uint32(body[4:]) <= 1
	}
	body = body[:min(n, len(body))]
	if isCall(body) {
		return binary.BigEndian.Uint32(body[12:]) != 0, false
	}
	denied := isReply(body) && binary.BigEndian.Uint32(body[8:]) == 1
	return isReply(body) && (!denied || n <= longestDenied), false
}
