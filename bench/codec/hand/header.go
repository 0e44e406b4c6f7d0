package hand

// Proc is rdma_proc, the type of a header.
type Proc uint32

// The header types of draft-ietf-nfsv4-rpcrdma-08 §4.3.
const (
	Msg Proc = iota
	NoMsg
	MsgP
	Done
	ErrorProc
)

// ErrCode is rpc_rdma_errcode.
type ErrCode uint32

// The error codes of draft-ietf-nfsv4-rpcrdma-08 §4.3.
const (
	ErrVers  ErrCode = 1
	ErrChunk ErrCode = 2
)

// Segment is xdr_rdma_segment: 16 bytes on the wire.
type Segment struct {
	Handle uint32 // steering tag
	Length uint32 // bytes
	Offset uint64 // address at the handle's owner
}

// ReadChunk is xdr_read_chunk: 20 bytes on the wire.
type ReadChunk struct {
	Position uint32 // bytes from the start of the RPC message
	Target   Segment
}

// WriteChunk is xdr_write_chunk.
type WriteChunk struct {
	Target []Segment
}

// ChunkLists is rpc_rdma_header with its linked lists as slices.
type ChunkLists struct {
	Reads    []ReadChunk
	Writes   []WriteChunk
	Reply    WriteChunk
	HasReply bool
}

// Header is rdma_msg with its union flattened: Lists is valid for Msg, NoMsg
// and MsgP, Align and Thresh for MsgP, Code for ErrorProc, and VersLow and
// VersHigh for ErrorProc with ErrVers.
type Header struct {
	XID, Vers, Credit uint32
	Proc              Proc
	Align, Thresh     uint32
	Code              ErrCode
	VersLow, VersHigh uint32
	Lists             ChunkLists
}

// Wire sizes in bytes.
const (
	segmentSize = 16
	readSize    = 20
	fixedSize   = 16
)

// Size returns the bytes h takes on the wire, 0 if its Proc or Code is unknown.
func (h *Header) Size() int {
	switch h.Proc {
	case Msg, NoMsg:
		return fixedSize + h.Lists.size()
	case MsgP:
		return fixedSize + 8 + h.Lists.size()
	case Done:
		return fixedSize
	case ErrorProc:
		switch h.Code {
		case ErrVers:
			return fixedSize + 12
		case ErrChunk:
			return fixedSize + 4
		}
	}
	return 0
}

func (l *ChunkLists) size() int {
	n := 12 + len(l.Reads)*(4+readSize)
	for i := range l.Writes {
		n += 8 + len(l.Writes[i].Target)*segmentSize
	}
	if l.HasReply {
		n += 4 + len(l.Reply.Target)*segmentSize
	}
	return n
}
