package verbs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
)

// floorServer answers the calls of a connection in its reader.
type floorServer struct {
	floorEnd
	data  []byte      // of procFill
	reads []floorRead // in the order of the Read Requests
	free  [][]byte    // memory of earlier Reads
	head  [rdmaHead + chunkHead + replyHead + 4]byte
}

// floorRead is a call whose data has been requested.
type floorRead struct {
	floorHeader
	number uint32 // of the Read Request
	proc   uint32
	place  []byte
}

// aheadOfData is the most input, in octets, to read ahead of data, which would have to be copied.
const aheadOfData = 512

// ServeFloor serves floor clients, and clients of rdmaio with version 1 over rdmatcp, until the
// listener is closed.
func ServeFloor(ln net.Listener) {
	data := Pattern(maxSize)
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			if err := serveFloor(conn, data); !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, "bench: floor server:", err)
			}
		}()
	}
}

// serveFloor serves a connection until the client closes it (io.EOF).
func serveFloor(conn net.Conn, data []byte) (err error) {
	s := &floorServer{floorEnd: newFloorEnd(conn, Shape{}), data: data}
	if s.id, err = s.greeted(); err != nil {
		return err
	}
	if err := s.hello(); err != nil {
		return err
	}
	for {
		m, err := s.receive(s.target)
		switch {
		case err != nil:
			return err
		case s.h.Type == segment.Send:
			err = s.call(m)
		case s.h.Type != segment.ReadResponse:
			err = fmt.Errorf("found a %v, expected none from a client", s.h.Type)
		case s.h.End:
			err = s.fetched()
		}
		if err != nil {
			return err
		}
	}
}

// target returns the memory of a Read Response's segment.
func (s *floorServer) target() ([]byte, error) {
	if len(s.reads) == 0 || s.h.Type != segment.ReadResponse || s.h.Number != s.reads[0].number {
		return nil, fmt.Errorf("found a %v with number %d, which answers no Read", s.h.Type, s.h.Number)
	}
	return s.cut(s.reads[0].place, 0)
}

// call acts on a Call: it answers, or requests the data.
func (s *floorServer) call(m []byte) error {
	var h floorHeader
	m, err := h.parse(m)
	if err != nil {
		return err
	}
	if len(m) < callHead+4 || binary.BigEndian.Uint32(m[12:]) != floorProgram {
		return fmt.Errorf("found a Call of %d octets, expected one of program %#x with at least %d", len(m), floorProgram, callHead+4)
	}
	proc, args := binary.BigEndian.Uint32(m[20:]), m[callHead:]
	if h.read.handle == 0 {
		return s.answer(&h, proc, args)
	}
	if h.read.length > maxSize || (len(s.reads)+1)*int(h.read.length) > maxRoom {
		return fmt.Errorf("found a read chunk of %d octets beside %d others, expected at most %d and %d in all", h.read.length, len(s.reads), maxSize, maxRoom)
	}
	r := floorRead{floorHeader: h, proc: proc, place: s.memory(int(h.read.length))}
	s.w.queue(func(b *batch) { r.number = s.request(b, h.read) })
	s.reads = append(s.reads, r)
	s.r.ahead = aheadOfData
	return nil
}

// memory returns memory for a Read: that of the last one that is complete, if it is large enough.
func (s *floorServer) memory(n int) []byte {
	if last := len(s.free) - 1; last >= 0 && cap(s.free[last]) >= n {
		b := s.free[last][:n]
		s.free = s.free[:last]
		return b
	}
	return make([]byte, n)
}

// fetched answers the Call whose data is complete.
func (s *floorServer) fetched() error {
	r := s.reads[0]
	s.reads = s.reads[:copy(s.reads, s.reads[1:])]
	if len(s.reads) == 0 {
		s.r.ahead = 0
	}
	s.free = append(s.free, r.place)
	return s.reply(&r.floorHeader, s.result(r.proc, r.place), nil)
}

// answer answers a Call that has all its arguments.
func (s *floorServer) answer(h *floorHeader, proc uint32, args []byte) error {
	n := binary.BigEndian.Uint32(args)
	switch proc {
	case procEcho:
		s.w.queue(func(b *batch) { s.send(b, appendReply(h.answered(s.head[:0]), h.xid), args) })
		return nil
	case procSink, procSum:
		return s.reply(h, s.result(proc, args[4:]), nil)
	case procFill:
		if h.write.handle == 0 && fitsInline(n) {
			s.w.queue(func(b *batch) { s.send(b, appendReply(h.answered(s.head[:0]), h.xid, n), s.data[:n]) })
			return nil
		}
		if int64(n) > int64(len(s.data)) || n > h.write.length {
			return fmt.Errorf("found a Call for %d octets into a write chunk of %d, expected at most that and %d", n, h.write.length, len(s.data))
		}
		return s.reply(h, n, s.data[:n])
	}
	return fmt.Errorf("found a Call of procedure %d, expected %d to %d", proc, procEcho, procSum)
}

// result returns the result of a procedure that takes data.
func (s *floorServer) result(proc uint32, data []byte) uint32 {
	if proc == procSum {
		return crc32.ChecksumIEEE(data)
	}
	return uint32(len(data))
}

// reply queues the data of the write chunk, and the reply with a number.
func (s *floorServer) reply(h *floorHeader, n uint32, data []byte) error {
	if len(data) > 0 {
		w := segment.Header{
			Type: segment.Write, Order: segment.NoOrder, Number: s.next(),
			BufferID: h.write.handle, Offset: uint32(h.write.offset), RDMALength: uint32(len(data)),
		}
		if err := s.transfer(w, data); err != nil {
			return err
		}
		h.write.length = uint32(len(data))
	}
	s.w.queue(func(b *batch) { s.send(b, appendReply(h.answered(s.head[:0]), h.xid, n), nil) })
	return nil
}

// answered appends the header of the reply to a message with the header h. It grants the credits
// that the client has requested, and returns the write list.
func (h *floorHeader) answered(b []byte) []byte {
	reply := floorHeader{xid: h.xid, credits: h.credits, write: h.write}
	return reply.append(b)
}
