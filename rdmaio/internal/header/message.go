package header

import "slices"

// Segment is a plain segment: a range of the requester's memory (RFC 8166 §3.4.3).
type Segment struct {
	Handle uint32
	Length uint32 // bytes
	Offset uint64 // of the first byte, in the address space of the handle
}

// Wraps reports whether the range passes the end of the 64-bit space (R59).
func (s *Segment) Wraps() bool { return s.Length > 0 && s.Offset > ^uint64(0)-uint64(s.Length-1) }

// ReadSegment is a segment of a read chunk. Adjacent segments of the same Position form one chunk
// (RFC 8166 §3.4.5).
type ReadSegment struct {
	Position uint32 // in the unreduced payload stream, bytes from its XID
	Segment
}

// Total returns the length of a write or reply chunk. The sum has 64 bits (R52).
func Total(chunk []Segment) uint64 {
	var n uint64
	for i := range chunk {
		n += uint64(chunk[i].Length)
	}
	return n
}

// Kind is the purpose of a message, in any version.
type Kind uint8

// The kinds.
const (
	KindMsg    Kind = iota // chunk lists, then the payload stream (RDMA_MSG)
	KindNomsg              // chunk lists only (RDMA_NOMSG)
	KindDone               // reads of a Reply are finished (RDMA_DONE); withdrawn by RFC 8166
	KindError              // the peer could not process the header (RDMA_ERROR)
	KindPadded             // KindMsg with padding before opaque items (RDMA_MSGP); withdrawn too
	KindProps              // properties of the sender (RDMA2_CONNPROP)
	KindGrant              // credits alone: an RDMA2_NOMSG with empty lists
	KindOther              // a header type of an extension; see Type
)

// String returns the protocol's name of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "?"
}

var kindNames = [...]string{
	"RDMA_MSG", "RDMA_NOMSG", "RDMA_DONE", "RDMA_ERROR", "RDMA_MSGP",
	"RDMA2_CONNPROP", "RDMA2_NOMSG (grant)", "extension",
}

// Lists are the three chunk lists.
type Lists struct {
	Reads    []ReadSegment
	Writes   [][]Segment // write chunks
	Reply    []Segment   // segments of the reply chunk
	HasReply bool        // there is a reply chunk, perhaps without segments
}

// Reset empties the lists. It keeps their memory.
func (l *Lists) Reset() {
	l.Reads, l.Writes, l.Reply, l.HasReply = l.Reads[:0], l.Writes[:0], l.Reply[:0], false
}

// AddWrite appends a write chunk of n segments and returns it. The caller sets the segments: they
// may have the values of an earlier chunk, whose memory AddWrite reuses.
func (l *Lists) AddWrite(n int) []Segment {
	k := len(l.Writes)
	if k < cap(l.Writes) {
		l.Writes = l.Writes[:k+1]
	} else {
		l.Writes = append(l.Writes, nil)
	}
	c := l.Writes[k]
	if cap(c) < n {
		c = make([]Segment, n)
	}
	l.Writes[k] = c[:n]
	return l.Writes[k]
}

// Clone returns a copy of the lists that shares no memory with them.
func (l *Lists) Clone() Lists {
	c := Lists{Reads: slices.Clone(l.Reads), Reply: slices.Clone(l.Reply), HasReply: l.HasReply}
	for _, w := range l.Writes {
		c.Writes = append(c.Writes, slices.Clone(w))
	}
	return c
}

// NoLists is the length of three lists that are absent, bytes.
const NoLists = 12

// Size is the length of the lists on the wire, bytes (RFC 8166 §4.1.2; R24 to R27).
func (l *Lists) Size() int {
	n := NoLists + 24*len(l.Reads)
	for _, c := range l.Writes {
		n += 8 + 16*len(c)
	}
	if l.HasReply {
		n += 4 + 16*len(l.Reply)
	}
	return n
}

// ErrorCode is the reason in an RDMA_ERROR.
type ErrorCode uint32

// The codes (draft-ietf-nfsv4-rpcrdma-version-two-00 §6.4.3). Version 1 has the first two alone
// (RFC 8166 §4.5).
const (
	ErrVers          ErrorCode = 1  // Error.Low and High
	ErrChunk         ErrorCode = 2  // RDMA2_ERR_BAD_XDR in version 2
	ErrHeaderType    ErrorCode = 3  // RDMA2_ERR_INVAL_HTYPE
	ErrFlag          ErrorCode = 4  // RDMA2_ERR_INVAL_FLAG
	ErrReadChunks    ErrorCode = 5  // Error.Max
	ErrWriteChunks   ErrorCode = 6  // Error.Max
	ErrSegments      ErrorCode = 7  // Error.Max
	ErrWriteResource ErrorCode = 8  // Error.Index and Need
	ErrReplyResource ErrorCode = 9  // Error.Need
	ErrSystem        ErrorCode = 10 // permanent
)

// Error is the body of a KindError message. Fields that the code does not use are 0.
type Error struct {
	Code      ErrorCode // 0 if the body could not be decoded
	Low, High uint32    // the versions that the sender supports
	Max       uint32    // chunks, or segments in a chunk, that the sender accepts
	Index     uint32    // of the first write chunk that is too short, from 1; 0: not known
	Need      uint32    // bytes that this write chunk, or the reply chunk, needs
}

// Property is a transport property of a KindProps message: its number and the encoding of its value
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §5.1).
type Property struct {
	ID   uint32
	Data []byte // in a decoded message, a slice of the buffer that was decoded
}

// Pad describes the padding of a KindPadded message: the data of each opaque item of at least
// Threshold bytes begins at a multiple of Align (draft-ietf-nfsv4-rpcrdma-08 §3.9).
type Pad struct {
	Align, Threshold uint32
}

// Message is a decoded message, or one to be encoded. Fields that its version or kind does not have
// are zero in a decoded message and ignored by Append.
type Message struct {
	XID    uint32
	Vers   uint32
	Credit uint32 // version 1: requested in a Call, granted in a Reply (R126); version 2: §4.3.1
	Kind   Kind
	Lists
	Err   Error
	Pad   Pad
	Props []Property

	// Type is the header type of a KindOther message. In a message to be encoded, its body and what
	// follows it is in Payload. In a decoded one, Body is the body, in separate memory, and
	// Payload what follows it.
	Type uint32
	Body any

	// Answer is the RESPONSE flag of version 2: the receiver of the message has made the XID.
	Answer bool
	// More means that the payload, or the set of properties, continues in the next message.
	More bool
	// Flags are the flags of a KindOther message other than these two.
	Flags uint32

	// InvalidateKey is the key that the Reply to a Call may invalidate, or 0 (rdma_inv_handle).
	InvalidateKey uint32

	// Payload has the bytes after the lists of a KindMsg or KindPadded message, and those after the
	// code of a KindError message whose code the version does not have. It is a slice of the buffer
	// that was decoded.
	Payload []byte
}

// Reset empties the message. It keeps the memory of its slices.
func (m *Message) Reset() {
	m.Lists.Reset()
	if len(m.Props) > 0 {
		clear(m.Props)
		m.Props = m.Props[:0]
	}
	m.XID, m.Vers, m.Credit, m.Kind, m.Type, m.Flags, m.InvalidateKey = 0, 0, 0, 0, 0, 0, 0
	m.Answer, m.More, m.Body = false, false, nil
	m.Err, m.Pad, m.Payload = Error{}, Pad{}, nil
}
