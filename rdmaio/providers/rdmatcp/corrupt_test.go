package rdmatcp_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A11: bytes that change on the way. The changes are the same in every run, because one in 2^32 of
// those with many bits passes any CRC of 32 bits.

// frame returns message n of many different ones, all of one segment and correct for an arena with
// that key.
func frame(p *peer, key uint32, n uint64) []byte {
	r := rand.New(rand.NewPCG(n, 11))
	bytes := func(most int) []byte {
		b := make([]byte, r.IntN(most+1))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	h := segment.Header{Type: segment.Type(n % 3), Res: uint8(r.IntN(16)), Order: uint16(r.Uint32())}
	control, payload := bytes(16), bytes(16)
	control = control[:len(control)&^3]
	if h.Type != segment.Send {
		h.BufferID, h.Offset, h.RDMALength = key, uint32(r.IntN(arenaTarget-16)), uint32(r.IntN(16))
	}
	if h.Type == segment.ReadRequest {
		payload = nil
	}
	return p.whole(h, control, payload)
}

// corrupt flips two or more bits, scattered or close to each other.
func corrupt(b []byte, r *rand.Rand) {
	bits := 8 * len(b)
	from, width := 0, bits
	if r.IntN(2) == 0 {
		width = 2 + r.IntN(63)
		from = r.IntN(bits - width)
	}
	before := bytes.Clone(b)
	for bytes.Equal(b, before) {
		for range 2 + r.IntN(32) {
			bit := from + r.IntN(width)
			b[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// Each bit of 100 messages is flipped, and some errors of many bits are made in each. The
// connection breaks, and nothing is delivered, placed or answered.
func TestA11EveryBit(t *testing.T) {
	frames, many := 100, 50
	if testing.Short() || raceDetector {
		frames, many = 3, 10
	}
	a := newArena(t, device(t, rawConfig()), everything)
	key := a.mr.RKey()
	r := rand.New(rand.NewPCG(1, 2))
	for n := range uint64(frames) {
		if _, err := a.try(func(p *peer) []byte { return frame(p, key, n) }); err != verbs.ErrPeerDisconnected {
			t.Fatalf("message %d without error: %v", n, err)
		}
		copy(a.room, bytes.Repeat([]byte{0xa5}, len(a.room)))
		bits := 8 * len(frame(&peer{t: t}, key, n))
		for i := range bits + many {
			answer, err := a.try(func(p *peer) []byte {
				b := frame(p, key, n)
				if i < bits {
					b[i/8] ^= 1 << (i % 8)
				} else {
					corrupt(b, r)
				}
				return b
			})
			if !errors.Is(err, verbs.ErrConnectionBroken) || len(answer) > 0 {
				t.Errorf("message %d, error %d: %v, %d bytes came back", n, i, err, len(answer))
			}
		}
		a.untouched("errors")
	}
}

// A million errors of many bits are passed to the decoder of the stream. Each segment that it finds
// is refused, or longer than the input.
func TestA11ManyBits(t *testing.T) {
	tries := 1_000_000
	if testing.Short() || raceDetector {
		tries = 20_000
	}
	const key = 0x5eed
	p := &peer{t: t, id: 0x0123456789abcdef}
	next := p.whole(segment.Header{}, nil, make([]byte, 200)) // sent after it
	var good [][]byte
	for n := range uint64(100) {
		b := frame(p, key, n)
		if n%4 == 3 {
			p.number = 7
			b = p.whole(segment.Header{Type: segment.ReadResponse}, []byte("ctrl"), make([]byte, n))
		}
		good = append(good, b)
	}
	read := func(b []byte, n int) (wire int, err error) {
		var h segment.Header
		size, err := segment.Prefix(b)
		if err != nil {
			return 0, err
		}
		stream := segment.Stream{ConnID: p.id, Known: true}
		if err := stream.Decode(&h, b[:size]); err != nil {
			return 0, err
		}
		if err := stream.Accept(&h, &segment.Read{Number: 7, Length: uint32(n)}); err != nil {
			return 0, err
		}
		if h.Wire() > len(b) {
			return h.Wire(), nil
		}
		_, _, wire, err = segment.Open(b, &h)
		return wire, err
	}
	r := rand.New(rand.NewPCG(3, 4))
	refused, byCRC, longer := 0, 0, 0
	var room [1024]byte
	for i := range tries {
		n := i % len(good)
		b := append(append(room[:0], good[n]...), next...)
		if i < len(good) {
			if wire, err := read(b, n); err != nil || wire != len(good[n]) {
				t.Fatalf("message %d without error: %d bytes, %v", n, wire, err)
			}
		}
		corrupt(b[:len(good[n])], r)
		wire, err := read(b, n)
		var why *segment.Error
		switch {
		case err == nil && wire > len(b):
			longer++
		case err == nil:
			t.Fatalf("error %d: %x passes for %x", i, b, good[n])
		case errors.As(err, &why) && why.Rule == segment.BadCRC:
			byCRC++
		default:
			refused++
		}
	}
	t.Logf("%d refused for their headers, %d for their CRC, %d longer than the input", refused, byCRC, longer)
	if refused == 0 || byCRC == 0 || longer == 0 {
		t.Error("not all kinds of errors were tried")
	}
}
