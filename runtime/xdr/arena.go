package xdr

// Opaque data that a copying Decoder keeps lies in an arena, one or two a message.

// wide is the length from which it counts where a copy begins: from there on memmove
// may leave it to the processor, which is several times slower from an address that
// is no multiple of 8, as behind an XDR count, to one that is a multiple of 16.
const wide = 2048

// lead stands before wide data where it has memory of its own, from largeData on:
// below, 8 bytes more are the next size class.
var lead [8]byte

const largeData = 32 << 10

// spare is the room for beginnings of the wide data in n bytes of input.
func spare(n int) int { return n / wide * 16 }

// Bytes returns data, a part of the input without spare capacity, as the mode
// says. For generated code.
func (d *Decoder) Bytes(data []byte) []byte {
	if d.alias {
		return data
	}
	return d.copyBytes(data)
}

// copyBytes copies into the message's arena.
func (d *Decoder) copyBytes(data []byte) []byte {
	n := len(data)
	if n >= wide {
		at := len(d.whole) - len(d.arena)
		d.arena = d.arena[min((len(lead)-at)&15, len(d.arena)):]
	}
	if n > len(d.arena) {
		return d.copyFirst(data)
	}
	p := d.arena[:n:n]
	d.arena = d.arena[n:]
	copy(p, data)
	return p
}

// copyFirst copies into a new arena. It is a third of the input at first, as in most
// messages opaque data is the smaller part, and what is not used costs time all
// the same; where that does not do, all that the input can still hold. So one
// message needs one or two, unless items come from elsewhere.
func (d *Decoder) copyFirst(data []byte) []byte {
	d.copied += len(d.whole) - len(d.arena)
	d.used = true
	n, rest := len(data), len(d.Buf)-d.copied
	if d.copied == 0 && !d.keep {
		rest /= 3
	}
	if n >= rest && !d.keep {
		d.arena, d.whole = nil, nil
		d.copied += n
		return alone(data)
	}
	d.whole = make([]byte, max(n, rest)+spare(max(n, len(d.Buf))))
	d.arena = d.whole
	return d.copyBytes(data)
}

// alone is a copy of data in memory of its own, not cleared before.
func alone(data []byte) []byte {
	var p []byte
	if len(data) >= largeData {
		p = append(lead[:len(lead):len(lead)], data...)[len(lead):]
	} else {
		p = append(p, data...)
	}
	return p[:len(data):len(data)]
}
