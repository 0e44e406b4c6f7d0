//go:build memguard && linux

package soft

import (
	"fmt"
	"syscall"
)

const freedBytes = 64 << 20 // bytes of addresses that a domain's freed memory takes, at most

var page = syscall.Getpagesize()

// heap maps the memory of Alloc between inaccessible pages, the buffer at the end of its
// last page. Freed memory is inaccessible too.
type heap struct {
	blocks map[*byte]*block
	freed  [][]byte // freed mappings, oldest first
	bytes  int      // of those
}

type block struct {
	mapping, slack []byte // slack: the bytes after the buffer, because of its alignment
	size           int
	origin         origin
}

func (h *heap) alloc(size int) ([]byte, error) {
	room := (size + align - 1) &^ (align - 1)
	inner := (room + page - 1) &^ (page - 1)
	mapping, err := syscall.Mmap(-1, 0, inner+2*page, syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", inner+2*page, err)
	}
	if err := syscall.Mprotect(mapping[page:page+inner], syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
		syscall.Munmap(mapping)
		return nil, fmt.Errorf("allow %d mapped bytes: %w", inner, err)
	}
	at := page + inner - room
	buf := mapping[at : at+size : at+size]
	b := &block{mapping: mapping, slack: mapping[at+size : at+room], size: size, origin: here()}
	fill(b.slack)
	if h.blocks == nil {
		h.blocks = make(map[*byte]*block)
	}
	h.blocks[&buf[0]] = b
	return buf, nil
}

// free frees a buffer of alloc.
func (h *heap) free(buf []byte) {
	b := h.blocks[&buf[0]]
	delete(h.blocks, &buf[0])
	if i := damage(b.slack); i >= 0 {
		panic(fmt.Sprintf("soft: memory check: buffer of %d bytes: byte %d behind it was written; allocated by%v", b.size, i+1, b.origin))
	}
	must(syscall.Mprotect(b.mapping, syscall.PROT_NONE))
	h.freed = append(h.freed, b.mapping)
	h.bytes += len(b.mapping)
	for h.bytes > freedBytes {
		h.dropOldest()
	}
}

// dropOldest unmaps the oldest freed buffer.
func (h *heap) dropOldest() {
	m := h.freed[0]
	h.freed = h.freed[1:]
	h.bytes -= len(m)
	must(syscall.Munmap(m))
}

func (h *heap) close() {
	for len(h.freed) > 0 {
		h.dropOldest()
	}
}

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("soft: memory check: %v", err))
	}
}
