package pcapng

import (
	"encoding/binary"
	"io"
	"sync"
	"time"
)

// File writes packets as a pcapng file. Its methods may be called concurrently.
type File struct {
	mu     sync.Mutex
	w      io.Writer
	snap   int
	err    error
	ifaces uint32
	buf    []byte
}

// The types of blocks, and the only type of link.
const (
	sectionHeader   = 0x0a0d0d0a
	interfaceHeader = 1
	enhancedPacket  = 6
	linkRawIPv4     = 228
)

// NewFile writes the head of a file and returns its File. snap is the number of bytes to keep of
// each packet, or 0 for all. Each packet is one Write to w, which may be a bufio.Writer. After an
// error of w, nothing more is written.
func NewFile(w io.Writer, snap int) *File {
	f := &File{w: w, snap: snap}
	f.block(sectionHeader, func() {
		f.u32(0x1a2b3c4d)
		f.buf = append(f.buf, 1, 0, 0, 0) // version 1.0, in our byte order
		f.buf = append(f.buf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	})
	return f
}

// Err returns the error of w, or nil.
func (f *File) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *File) u32(v uint32) { f.buf = binary.LittleEndian.AppendUint32(f.buf, v) }

// pad appends zeros up to a multiple of four bytes.
func (f *File) pad() {
	for len(f.buf)%4 != 0 {
		f.buf = append(f.buf, 0)
	}
}

// block writes one block; body appends to buf.
func (f *File) block(typ uint32, body func()) {
	if f.err != nil {
		return
	}
	f.buf = f.buf[:0]
	f.u32(typ)
	f.u32(0) // length
	body()
	f.pad()
	n := uint32(len(f.buf) + 4)
	f.u32(n)
	binary.LittleEndian.PutUint32(f.buf[4:], n)
	_, f.err = f.w.Write(f.buf)
}

// addInterface writes the description of an interface and returns its number. f.mu must be held.
func (f *File) addInterface(name string) uint32 {
	f.block(interfaceHeader, func() {
		f.u32(linkRawIPv4) // and two reserved bytes
		f.u32(uint32(f.snap))
		f.option(2, []byte(name)) // if_name
		f.option(9, []byte{9})    // if_tsresol: nanoseconds
		f.option(0, nil)
	})
	f.ifaces++
	return f.ifaces - 1
}

func (f *File) option(code uint16, value []byte) {
	f.buf = binary.LittleEndian.AppendUint16(f.buf, code)
	f.buf = binary.LittleEndian.AppendUint16(f.buf, uint16(len(value)))
	f.buf = append(f.buf, value...)
	f.pad()
}

// packet writes one packet of an interface. f.mu must be held.
func (f *File) packet(iface uint32, at time.Time, data []byte) {
	ns := uint64(0)
	if !at.IsZero() {
		ns = uint64(at.UnixNano())
	}
	kept := data
	if f.snap > 0 && len(kept) > f.snap {
		kept = kept[:f.snap]
	}
	f.block(enhancedPacket, func() {
		f.u32(iface)
		f.u32(uint32(ns >> 32))
		f.u32(uint32(ns))
		f.u32(uint32(len(kept)))
		f.u32(uint32(len(data)))
		f.buf = append(f.buf, kept...)
	})
}
