package v1

import (
	"bytes"
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// PrivateSize is the length of an encoded Private in bytes.
const PrivateSize = 8

// MostInline is the largest inline threshold in bytes that a Private can express: 256 units
// (RFC 8797 §4.2).
const MostInline = 256 * inlineUnit

const (
	inlineUnit    = 1024
	formatID      = 0xf6ab0e18
	formatVersion = 1
	flagR         = 1 // the other seven bits of its byte are reserved
)

// Private is the advertisement of one end in the private data of connection setup (RFC 8797 §4).
type Private struct {
	// Send and Recv are the sizes of the longest message sent, and received, in bytes. They are
	// multiples of 1024.
	Send, Recv int
	// RemoteInvalidate is set if the end can invalidate keys by a Reply, or its keys may be
	// invalidated so.
	RemoteInvalidate bool
}

// DefaultPrivate returns the values of a peer that advertised nothing valid (RFC 8797 §5.1; R331).
func DefaultPrivate() Private { return Private{Send: header.LeastInline, Recv: header.LeastInline} }

// InlineSize returns the largest size up to n that a Private can express, or the smallest one if n
// is smaller.
func InlineSize(n int) int {
	return min(max(n, header.LeastInline), MostInline) / inlineUnit * inlineUnit
}

// Append appends the encoding of p. It rounds sizes down as InlineSize does, so an end never
// advertises more than it has.
func (p *Private) Append(to []byte) []byte {
	to = binary.BigEndian.AppendUint32(to, formatID)
	flags := byte(0) // RFC 8797 §4: reserved bits are sent as zero
	if p.RemoteInvalidate {
		flags = flagR
	}
	return append(to, formatVersion, flags, sizeByte(p.Send), sizeByte(p.Recv))
}

// sizeByte returns the encoding of a size: units, less one (RFC 8797 §4.2).
func sizeByte(n int) byte { return byte(InlineSize(n)/inlineUnit - 1) }

// FindPrivate finds a Private in the private data b that a peer sent. Data of other layers may
// precede it, of any length (RFC 8797 §5.2; A30), or follow it. FindPrivate skips a format
// identifier with another version or with too few bytes after it (B22). If there is no Private, it
// returns DefaultPrivate and false. Time is linear in len(b).
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

// Agree returns the terms of the end that advertised own to a peer that advertised peer. The
// threshold of a direction is the smaller of the two sizes advertised for it (RFC 8797 §4.2; R37).
// Remote invalidation is on if both advertised it (§4.1; R265).
func Agree(own, peer Private) header.Terms {
	return header.Terms{
		Send:             min(own.Send, peer.Recv),
		Recv:             min(own.Recv, peer.Send),
		RemoteInvalidate: own.RemoteInvalidate && peer.RemoteInvalidate,
	}
}
