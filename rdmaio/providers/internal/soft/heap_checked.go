//go:build (race || asan || memcheck) && !(memguard && linux)

package soft

import "fmt"

const (
	zone       = 64      // bytes before and after a buffer, at least
	freedBytes = 1 << 20 // bytes of freed memory that a domain keeps, at most
)

// heap allocates the memory of Alloc between two zones, and keeps freed memory for a while.
// It detects writes to both.
type heap struct {
	blocks map[*byte]*block
	freed  []*block // freed, oldest first
	bytes  int      // of those
}

// block is a buffer with its zones.
type block struct {
	whole, buf []byte
	at         int // of buf in whole
	origin     origin
}

func (h *heap) alloc(size int) ([]byte, error) {
	whole := make([]byte, zone+size+align-1+zone)
	b := &block{whole: whole, buf: aligned(whole, zone, size), origin: here()}
	b.at = int(address(b.buf) - address(whole))
	fill(b.before())
	fill(b.behind())
	forbid(b.before())
	forbid(b.behind())
	if h.blocks == nil {
		h.blocks = make(map[*byte]*block)
	}
	h.blocks[&b.buf[0]] = b
	return b.buf, nil
}

func (b *block) before() []byte { return b.whole[:b.at] }
func (b *block) behind() []byte { return b.whole[b.at+len(b.buf):] }

// free frees a buffer of alloc.
func (h *heap) free(buf []byte) {
	b := h.blocks[&buf[0]]
	delete(h.blocks, &buf[0])
	allow(b.whole)
	if i := damage(b.before()); i >= 0 {
		b.fail("byte %d before it was written", b.at-i)
	}
	if i := damage(b.behind()); i >= 0 {
		b.fail("byte %d behind it was written", i+1)
	}
	fill(b.buf)
	forbid(b.whole)
	h.freed = append(h.freed, b)
	h.bytes += len(b.whole)
	for h.bytes > freedBytes {
		h.dropOldest()
	}
}

// dropOldest gives the oldest freed buffer to the garbage collector.
func (h *heap) dropOldest() {
	b := h.freed[0]
	h.freed = h.freed[1:]
	h.bytes -= len(b.whole)
	allow(b.whole)
	if i := damage(b.whole); i >= 0 {
		b.fail("byte %d of it was written after Free", i-b.at)
	}
}

// close checks all freed memory.
func (h *heap) close() {
	for len(h.freed) > 0 {
		h.dropOldest()
	}
}

func (b *block) fail(what string, n int) {
	panic(fmt.Sprintf("soft: memory check: buffer of %d bytes: "+what+"; allocated by%v", len(b.buf), n, b.origin))
}
