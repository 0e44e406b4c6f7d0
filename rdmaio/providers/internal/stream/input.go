package stream

import "sync"

// Sizes of an input buffer after the set-up, in bytes.
const (
	inputSize = 16 << 10
	longInput = 64 << 10 // in a stream of staged frames
)

// inputBuffer has the bytes that were read ahead. If Conn.raw is not nil, its memory is borrowed
// when bytes have arrived and given back when it is empty; buf is nil in between.
type inputBuffer struct {
	buf       []byte
	r, w      int  // buf[r:w] was read ahead
	next      int  // size of the frame that begins at r, if known: see Conn.frameBuffered
	readAhead int  // bytes to read ahead: few among long frames
	filled    bool // the last read ahead got as much as it could
}

// inputs and longInputs are the input buffers that no connection has borrowed.
var (
	inputs     = sync.Pool{New: func() any { return new([inputSize]byte) }}
	longInputs = sync.Pool{New: func() any { return new([longInput]byte) }}
)

// borrow replaces the memory by one of the size that the read-ahead needs.
func (in *inputBuffer) borrow() {
	var buf []byte
	if in.readAhead > inputSize {
		buf = longInputs.Get().(*[longInput]byte)[:]
	} else {
		buf = inputs.Get().(*[inputSize]byte)[:]
	}
	w := copy(buf, in.buf[in.r:in.w])
	in.giveBack()
	in.buf, in.w = buf, w
}

// giveBack returns the memory. What it has is lost.
func (in *inputBuffer) giveBack() {
	switch len(in.buf) {
	case inputSize:
		inputs.Put((*[inputSize]byte)(in.buf))
	case longInput:
		longInputs.Put((*[longInput]byte)(in.buf))
	}
	in.buf, in.r, in.w = nil, 0, 0
}

// skip consumes n bytes that need returned.
func (in *inputBuffer) skip(n int) {
	in.r += n
	in.next = 0
}

// copyAhead consumes bytes that were read ahead and copies them to dst. It returns their
// number.
func (in *inputBuffer) copyAhead(dst []byte) int {
	n := copy(dst, in.buf[in.r:in.w])
	in.r += n
	return n
}
