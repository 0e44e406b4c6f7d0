package rdmaio

import "github.com/rpcrdma/rpcrdma/rdmaio/internal/header"

// FaultCode names the rule that a message of the peer broke.
type FaultCode uint8

// The codes of Fault.
const (
	FaultShort       FaultCode = iota + 1 // the message is shorter than any header
	FaultVersion                          // the version is not supported
	FaultProcedure                        // the procedure is not known
	FaultXDR                              // the chunk lists are not valid XDR
	FaultTrailing                         // bytes follow the lists of a message without payload
	FaultPayload                          // the RPC message is shorter than its XID and type
	FaultXID                              // the header and the RPC message have different XIDs
	FaultNoChunk                          // an RDMA_NOMSG message lacks the chunk that holds the payload
	FaultAligned                          // a position is not a multiple of four
	FaultZero                             // a position is zero in a message with an inline payload
	FaultOrder                            // positions do not increase
	FaultOverlap                          // a chunk reaches past the position of the next one
	FaultBeyond                           // a position is past the end of what inline bytes and chunks can fill
	FaultWrap                             // a segment passes the end of the 64-bit address space
	FaultBytes                            // the chunks have more bytes than Config.MaxReadBytes
	FaultSegments                         // a chunk has more segments than Config.MaxSegments or SendQueue
	FaultChunks                           // the header has more chunks than Config.MaxChunks
	FaultReads                            // a Reply has a read list
	FaultReturnCount                      // a Reply returns another number of chunks or segments than was offered
	FaultReturnRange                      // a Reply returns another handle or offset than was offered
	FaultReturnMore                       // a Reply returns a greater length than was offered
	FaultReturnHole                       // a Reply returns segments that were not filled contiguously
	FaultType                             // the RPC message is not a Call, or not a Reply, where it has to be
	FaultReverse                          // a reverse Call has chunks without Config.ReverseChunks
	FaultPad                              // the alignment or threshold of RDMA_MSGP is impossible
	FaultPadReads                         // an RDMA_MSGP message has read chunks
	FaultNoReads                          // a Call needs RDMA Reads, which the connection does not have
	FaultWithdrawn                        // RFC 8166 withdrew the procedure, and Config.Legacy is off
	FaultAddress                          // a segment is at addresses that the provider cannot name
)

// Fault is what this side found wrong with a message of the peer. What the peer finds wrong with a message of this side
// is a PeerError.
type Fault struct {
	// Code names the rule.
	Code FaultCode

	// Where names the list or chunk in which the fault is, and Index which element of it. Where is empty for a fault of
	// the message as a whole.
	Where string
	Index int

	// Found is the value that breaks the rule, and Want the value or the limit that the rule sets. What they count
	// depends on Code; Error says it.
	Found, Want uint64

	// Err is the error of the XDR decoder, with FaultXDR.
	Err error
}

// Error returns the place, both values and the rule.
func (f *Fault) Error() string { return f.internal().Error() }

// Rule returns the document section or the local limit that the message broke.
func (f *Fault) Rule() string { return f.internal().Rule() }

// Unwrap returns the error of the XDR decoder, or nil.
func (f *Fault) Unwrap() error { return f.Err }

// internal returns the fault as package header has it, which has the texts.
func (f *Fault) internal() *header.Fault {
	return &header.Fault{Code: header.Code(f.Code), Where: f.Where, Index: f.Index, Found: f.Found, Want: f.Want, Err: f.Err}
}
