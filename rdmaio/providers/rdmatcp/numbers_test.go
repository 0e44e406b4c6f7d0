package rdmatcp_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"io"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// drawn records the numbers that a device draws from a source.
type drawn struct {
	io.Reader
	words map[uint64]bool
}

func (d *drawn) Read(b []byte) (int, error) {
	n, err := d.Reader.Read(b)
	if n == 8 {
		d.words[binary.BigEndian.Uint64(b)] = true
	}
	return n, err
}

// A client takes the Connection ID from Config.Rand, each side its first message number (R344,
// R347). The number has the low bits of a draw, so the 64 bits are not seen as a whole.
func TestConnectionIDAndFirstNumbersAreRandom(t *testing.T) {
	source := &drawn{rand.Reader, map[uint64]bool{}}
	cfg := rawConfig()
	cfg.Rand = source
	dev := device(t, cfg)
	hasLow := func(number uint32) bool {
		for w := range source.words {
			if uint32(w) == number {
				return true
			}
		}
		return false
	}
	ids, numbers := map[uint64]bool{}, map[uint32]bool{}
	for range 3 {
		a, b := tcpPair(t)
		c := &victim{newSide(t, dev), t}
		if _, err := dev.DialConn(context.Background(), a, c.qp, nil); err != nil {
			t.Fatal(err)
		}
		c.send(t, []verbs.SendWR{{Opcode: verbs.Send}})
		first := make([]byte, segment.ShortHeader)
		if _, err := io.ReadFull(b, first); err != nil {
			t.Fatal(err)
		}
		var h segment.Header
		if err := h.Decode(first); err != nil || !source.words[h.ConnID] || !hasLow(h.Number) {
			t.Errorf("the client's first segment has Connection ID %#x and number %#x, expected drawn ones: %v", h.ConnID, h.Number, err)
		}
		ids[h.ConnID], numbers[h.Number] = true, true

		p, v := attack(t, dev, true)
		p.put(segment.Header{Type: segment.Write}, nil, nil)
		v.send(t, []verbs.SendWR{{Opcode: verbs.Send}})
		h, _, _ = p.get() // it has the client's Connection ID
		if !hasLow(h.Number) {
			t.Errorf("the server's first segment has number %#x, expected a drawn one", h.Number)
		}
		numbers[h.Number] = true
	}
	if len(ids) != 3 || len(numbers) != 6 {
		t.Errorf("%d Connection IDs and %d numbers in 3 pairs of connections, expected all to differ", len(ids), len(numbers))
	}
}
