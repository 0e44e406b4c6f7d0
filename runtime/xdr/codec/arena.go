package codec

import "github.com/rpcrdma/rpcrdma/runtime/xdr"

// A copying Decoder keeps opaque data in an arena: one or two allocations a message.

// wide is the length from which the address of a copy matters. From wide bytes on, memmove may
// use REP MOVSB, which is several times slower from an address that is not a multiple of 8, as
// after an XDR count, to one that is a multiple of 16.
const wide = 2048

// lead precedes wide data that has its own memory, if the data is at least largeData long. Below
// that, 8 more bytes would need the next size class.
var lead [8]byte

const largeData = 32 << 10

// spare returns the room for aligning the wide data in n bytes of input.
func spare(n int) int { return n / wide * 16 }

// Bytes returns data, or in copying mode a copy. data must be a part of the input without spare
// capacity.
func Bytes(d *xdr.Decoder, data []byte) []byte {
	if d.Alias {
		return data
	}
	return copyBytes(d, data)
}

// copyBytes copies data into the message's arena.
func copyBytes(d *xdr.Decoder, data []byte) []byte {
	n := len(data)
	if n >= wide {
		at := len(d.Whole) - len(d.Arena)
		d.Arena = d.Arena[min((len(lead)-at)&15, len(d.Arena)):]
	}
	if n > len(d.Arena) {
		return copyFirst(d, data)
	}
	p := d.Arena[:n:n]
	d.Arena = d.Arena[n:]
	copy(p, data)
	return p
}

// copyFirst copies data into a new arena. The first arena is a third as large as the input: in most
// messages opaque data is less than that, and clearing unused memory takes time. The second is as
// large as the remaining input. So a message needs at most two, unless items come from elsewhere.
// An arena that is kept has room for a whole message.
func copyFirst(d *xdr.Decoder, data []byte) []byte {
	n, rest := len(data), len(d.Buf)
	if !d.Keep {
		d.Copied += len(d.Whole) - len(d.Arena)
		rest -= d.Copied
		if d.Copied == 0 {
			rest /= 3
		}
		if n >= rest {
			d.Used = true
			d.Arena, d.Whole = nil, nil
			d.Copied += n
			return alone(data)
		}
	}
	d.Used = true
	d.Whole = make([]byte, max(n, rest)+spare(max(n, len(d.Buf))))
	d.Arena = d.Whole
	return copyBytes(d, data)
}

// alone returns a copy of data in separate memory, which is not cleared before.
func alone(data []byte) []byte {
	var p []byte
	if len(data) >= largeData {
		p = append(lead[:len(lead):len(lead)], data...)[len(lead):]
	} else {
		p = append(p, data...)
	}
	return p[:len(data):len(data)]
}
