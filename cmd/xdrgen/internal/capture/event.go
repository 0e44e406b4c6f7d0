package capture

import (
	"net/netip"
)

// Handler gets what a Reader finds, in the order in which it becomes known.
type Handler interface {
	// Call gets a call: when its reply has come, or when the capture cannot have one.
	Call(c *Call)

	// Note gets what a reader of the capture should know.
	Note(n Note)
}

// Carrier carries the messages of a connection.
type Carrier string

// The carriers.
const (
	UDP     Carrier = "udp"
	TCP     Carrier = "tcp"     // record marking
	IWARP   Carrier = "iwarp"   // RPC-over-RDMA in MPA, DDP and RDMAP
	RDMATCP Carrier = "rdmatcp" // RPC-over-RDMA in RDMATCP
	Stream  Carrier = "stream"  // a file of record-marked messages, or of one message
)

// Connection is a TCP connection, or the datagrams between two UDP ports.
type Connection struct {
	Number         int // from 1, in the order in which their messages were found
	Carrier        Carrier
	Client, Server netip.AddrPort // the end that sent the first Call, and the other end
	Handled        bool           // false at first; for the Handler, which may set it
}

// Span is the time from the first to the last byte of a message, in nanoseconds since 1970.
type Span struct{ First, Last int64 }

// Chunk is a write chunk of a reply (RFC 8166 §3.4.6): the data of an item in the results.
type Chunk struct {
	Length uint64 // as the header says
	Data   []byte // nil if the capture lacks a part of it
}

// Call is a call: its Call message, its reply, or both.
type Call struct {
	Connection *Connection
	Reverse    bool // the server called the client
	XID        uint32

	// Of the Call, if HasCall is set:
	HasCall                     bool
	Program, Version, Procedure uint32
	Sent                        Span
	Whole                       int64  // when the last byte came, of the message and its chunks
	Copies                      int    // how often the same Call was sent again
	Message                     []byte // with its read chunks, as far as the capture has them
	Cut                         bool   // the capture lacks a part of Message
	Args                        int    // where the arguments begin in Message
	Auth                        uint32 // flavor of the credential

	// Of the reply, if HasReply is set:
	HasReply bool
	Answered Span
	Reply    []byte // without the items in Chunks
	Results  int    // where the results begin in Reply
	Status   Status
	Chunks   []Chunk
	CutReply bool // the capture lacks the reply chunk

	// Notes name the missing parts of the messages.
	Notes []string

	header *rdmaHeader // of a Call over RDMA: its chunks are collected with the reply
}

// Note says something about the capture, besides the calls.
type Note struct {
	Time       int64       // nanoseconds since 1970
	Connection *Connection // nil for the whole capture
	Text       string
}
