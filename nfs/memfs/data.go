package memfs

import "bytes"

// pageSize is the size in bytes of a file's largest piece.
const pageSize = 64 << 10

// perPage is the memory in bytes that a page counts for without its data.
const perPage = 128

// data is the data of a file: pages by number. A byte that no page has is zero.
type data struct {
	pages map[int64][]byte
	used  int64 // bytes in all pages
}

// need returns how many bytes of memory a write takes that has no place yet.
func (d *data) need(off, n int64) (more int64) {
	for n > 0 {
		at := off % pageSize
		part := min(n, pageSize-at)
		page := int64(len(d.pages[off/pageSize]))
		more += max(at+part-page, 0)
		if page == 0 {
			more += perPage
		}
		off, n = off+part, n-part
	}
	return more
}

// write writes bytes at an offset.
func (d *data) write(p []byte, off int64) {
	if d.pages == nil {
		d.pages = map[int64][]byte{}
	}
	for len(p) > 0 {
		at := int(off % pageSize)
		part := min(len(p), pageSize-at)
		page := d.pages[off/pageSize]
		if more := at + part - len(page); more > 0 {
			page = append(page, make([]byte, more)...)
			d.pages[off/pageSize] = page
			d.used += int64(more)
		}
		copy(page[at:], p[:part])
		p, off = p[part:], off+int64(part)
	}
}

// read reads bytes at an offset.
func (d *data) read(p []byte, off int64) {
	for len(p) > 0 {
		at := int(off % pageSize)
		part := min(len(p), pageSize-at)
		page := d.pages[off/pageSize]
		n := 0
		if at < len(page) {
			n = copy(p[:part], page[at:])
		}
		clear(p[n:part])
		p, off = p[part:], off+int64(part)
	}
}

// truncate drops all bytes from a size on, and returns the memory that they took.
func (d *data) truncate(size int64) (less int64) {
	kept := map[int64][]byte{} // a map does not get smaller
	for number, page := range d.pages {
		keep := min(max(size-number*pageSize, 0), int64(len(page)))
		dropped := int64(len(page)) - keep
		d.used -= dropped
		less += dropped
		switch {
		case keep == 0:
			less += perPage
			continue
		case dropped > 0:
			page = bytes.Clone(page[:keep])
		}
		kept[number] = page
	}
	d.pages = kept
	return less
}
