package header1

import (
	"bytes"
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// PrivateSize is the length of an encoded Private.
const PrivateSize = 8

// MostInline is the largest threshold that a Private can express: 256 units (RFC 8797 §4.2).
const MostInline = 256 * inlineUnit

const (
	inlineUnit    = 1024
	formatID      = 0xf6ab0e18
	formatVersion = 1
	flagR         = 1 // the other seven bits of its byte are reserved
)

// Private is what an end says of itself in the private data with which a
// connection is set up (RFC 8797 §4).
type Private struct {
	Send, Recv       int  // longest message it sends, and receives, bytes: a multiple of 1024
	RemoteInvalidate bool // it can end keys, or all its keys may be ended, by a Reply
}

// DefaultPrivate is what holds of a peer that said nothing usable (RFC 8797
// §5.1; R331).
func DefaultPrivate() Private { return Private{Send: header.LeastInline, Recv: header.LeastInline} }

// InlineSize is the largest size that is not more than n and can be expressed;
// n under the least one gives that.
func InlineSize(n int) int {
	return min(max(n, header.LeastInline), MostInline) / inlineUnit * inlineUnit
}

// Append encodes p. Sizes are rounded as InlineSize does: an end never says that
// it takes more than it does.
func (p *Private) Append(to []byte) []byte {
	to = binary.BigEndian.AppendUint32(to, formatID)
	flags := byte(0) // RFC 8797 §4: reserved bits are sent as zero
	if p.RemoteInvalidate {
		flags = flagR
	}
	return append(to, formatVersion, flags, sizeByte(p.Send), sizeByte(p.Recv))
}

// sizeByte is a size in units, less one (RFC 8797 §4.2).
func sizeByte(n int) byte { return byte(InlineSize(n)/inlineUnit - 1) }

// FindPrivate looks for a Private in the private data that a peer sent. Other layers
// may have put theirs before it, of any length (RFC 8797 §5.2; A30), or after it. What
// looks like one but has another version or is cut off is passed over (B22).
// If there is none, DefaultPrivate holds and ok is false. Work is linear in len(b).
func FindPrivate(b []byte) (p Private, ok bool) {
	id := binary.BigEndian.AppendUint32(nil, formatID)
	for {
		at := bytes.Index(b, id)
		if at < 0 || len(b)-at < PrivateSize {
			return DefaultPrivate(), false
		}
		if f := b[at+len(id) : at+PrivateSize]; f[0] == formatVersion {
			return Private{
				RemoteInvalidate: f[1]&flagR != 0, // RFC 8797 §4: reserved bits are ignored
				Send:             (int(f[2]) + 1) * inlineUnit,
				Recv:             (int(f[3]) + 1) * inlineUnit,
			}, true
		}
		b = b[at+1:]
	}
}

// Agree gives the terms as the end that said own sees them: each way the lesser
// of what one side sends and the other receives (RFC 8797 §4.2; R37), and
// invalidation by a Reply if both said so (§4.1; R265).
func Agree(own, peer Private) header.Terms {
	return header.Terms{
		Send:             min(own.Send, peer.Recv),
		Recv:             min(own.Recv, peer.Send),
		RemoteInvalidate: own.RemoteInvalidate && peer.RemoteInvalidate,
	}
}
