package stranger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The keys of the startup frames (RFC 5044 §7.1.1).
const (
	RequestKey = "MPA ID Req Frame"
	ReplyKey   = "MPA ID Rep Frame"
)

// MaxPrivate is the length of the longest private data (RFC 5044 §7.1.1).
const MaxPrivate = 512

// Automatic is the value of IRD and ORD that leaves the depth to the upper layer (RFC 6581 §9.1).
const Automatic = 0x3fff

// Startup is an MPA Request or Reply Frame (RFC 5044 §7.1.1, RFC 6581 §6).
type Startup struct {
	Reply    bool // it has the key of a Reply
	Markers  bool // M
	CRC      bool // C
	Reject   bool // R
	Enhanced bool // S: Private begins with the fields below
	Reserved byte // 4 bits
	Revision byte // if zero, 1, or 2 if Enhanced

	// The enhanced data (RFC 6581 §9).
	PeerToPeer, SendRTR, WriteRTR, ReadRTR bool // control flags A, B, C, D
	IRD, ORD                               uint16

	Private []byte // behind the enhanced data
}

// flag returns bit if set.
func flag[T byte | uint16](set bool, bit T) T {
	if set {
		return bit
	}
	return 0
}

// Bytes returns the frame.
func (s *Startup) Bytes() []byte {
	key, revision := RequestKey, s.Revision
	if s.Reply {
		key = ReplyKey
	}
	if revision == 0 {
		revision = 1 + flag[byte](s.Enhanced, 1)
	}
	var private []byte
	if s.Enhanced {
		private = binary.BigEndian.AppendUint16(private, flag[uint16](s.PeerToPeer, 0x8000)|flag[uint16](s.SendRTR, 0x4000)|s.IRD&0x3fff)
		private = binary.BigEndian.AppendUint16(private, flag[uint16](s.WriteRTR, 0x8000)|flag[uint16](s.ReadRTR, 0x4000)|s.ORD&0x3fff)
	}
	private = append(private, s.Private...)
	b := append([]byte(key), flag[byte](s.Markers, 0x80)|flag[byte](s.CRC, 0x40)|flag[byte](s.Reject, 0x20)|
		flag[byte](s.Enhanced, 0x10)|s.Reserved&15, revision)
	b = binary.BigEndian.AppendUint16(b, uint16(len(private)))
	return append(b, private...)
}

// ErrStartup is wrapped by the errors of startup frames that end the connection at once (RFC 5044
// §8, code 4).
var ErrStartup = errors.New("stranger: invalid startup frame")

// ReadStartup reads a frame, which must be a Reply or a Request.
func ReadStartup(r io.Reader, reply bool) (s Startup, err error) {
	var head [20]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return s, err
	}
	key := RequestKey
	if reply {
		key = ReplyKey
	}
	if !bytes.Equal(head[:16], []byte(key)) {
		return s, fmt.Errorf("%w: key %q, want %q", ErrStartup, head[:16], key)
	}
	s.Reply, s.Revision = reply, head[17]
	s.Markers, s.CRC, s.Reject = head[16]&0x80 != 0, head[16]&0x40 != 0, head[16]&0x20 != 0
	s.Enhanced, s.Reserved = head[16]&0x10 != 0 && s.Revision >= 2, head[16]&15
	n := binary.BigEndian.Uint16(head[18:])
	switch {
	case s.Revision != 1 && s.Revision != 2:
		return s, fmt.Errorf("%w: revision %d, want 1 or 2", ErrStartup, s.Revision)
	case n > MaxPrivate:
		return s, fmt.Errorf("%w: %d bytes of private data, at most %d are possible", ErrStartup, n, MaxPrivate)
	case s.Enhanced && n < 4:
		return s, fmt.Errorf("%w: %d bytes of private data are too few for IRD and ORD", ErrStartup, n)
	}
	private := make([]byte, n)
	if _, err := io.ReadFull(r, private); err != nil {
		return s, fmt.Errorf("%w: private data: %w", ErrStartup, err)
	}
	if s.Enhanced {
		i, o := binary.BigEndian.Uint16(private), binary.BigEndian.Uint16(private[2:])
		s.PeerToPeer, s.SendRTR, s.IRD = i&0x8000 != 0, i&0x4000 != 0, i&0x3fff
		s.WriteRTR, s.ReadRTR, s.ORD = o&0x8000 != 0, o&0x4000 != 0, o&0x3fff
		private = private[4:]
	}
	s.Private = private
	return s, nil
}
