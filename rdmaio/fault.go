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
	FaultTrailing                         // a message without payload has bytes after its lists
	FaultPayload                          // the RPC message has no room for XID and type
	FaultXID                              // the header and the RPC message have different XIDs
	FaultNoChunk                          // RDMA_NOMSG without the chunk that holds the payload
	FaultAligned                          // a position is not a multiple of four
	FaultZero                             // a position is zero in a message with an inline payload
	FaultOrder                            // positions do not increase
	FaultOverlap                          // a chunk reaches past the position of the next one
	FaultBeyond                           // a position is past the end of the message
	FaultWrap                             // a segment passes the end of the address space
	FaultBytes                            // more bytes in chunks than Config.MaxReadBytes
	FaultSegments                         // more segments than Config.MaxSegments
	FaultChunks                           // more chunks than Config.MaxChunks
	FaultReads                            // a Reply has a read list
	FaultReturnCount                      // a Reply returns more or fewer segments than offered
	FaultReturnRange                      // a Reply returns another handle or offset
	FaultReturnMore                       // a Reply returns a greater length than offered
	FaultReturnHole                       // a Reply returns segments filled with gaps
	FaultType                             // the RPC message has the wrong type, Call or Reply
	FaultReverse                          // a reverse Call has chunks (Config.ReverseChunks)
	FaultPad                              // RDMA_MSGP with an impossible alignment or threshold
	FaultPadReads                         // RDMA_MSGP with read chunks
	FaultNoReads                          // a Call needs RDMA Reads, which are not allowed
	FaultWithdrawn                        // RFC 8166 withdrew the procedure (Config.Legacy)
	FaultAddress                          // the provider cannot name the address of a segment
	FaultFlags                            // undefined flags
	FaultMore                             // MORE in a message that cannot be continued
	FaultSequence                         // another message inside a continued one
	FaultKey                              // rdma_inv_handle is not a handle in the message
	FaultProperty                         // the value of a property is not valid
	FaultTwice                            // a property is twice in one set
	FaultLong                             // a continued message is too long (Config.MaxContinued)
	FaultCredit                           // a message beyond the credits granted
)

// Fault is a breach of the protocol in a message of the peer. A message of this side that the peer
// refuses is a PeerError.
type Fault struct {
	// Code names the rule.
	Code FaultCode

	// Where names the list or chunk in which the fault is, and Index the number of its element.
	// Where is empty for a fault of the message as a whole.
	Where string
	Index int

	// Found is the value that breaks the rule, and Want the value or the limit that the rule sets.
	// What they count depends on Code; Error says it.
	Found, Want uint64

	// Err is the error of the XDR decoder, with FaultXDR. With FaultProperty it says why the value
	// is not valid, or is nil if the length is the fault.
	Err error
}

// Error returns the place, both values and the rule.
func (f *Fault) Error() string { return f.internal().Error() }

// Rule returns the document section or the local limit that the message broke.
func (f *Fault) Rule() string { return f.internal().Rule() }

// Unwrap returns Err.
func (f *Fault) Unwrap() error { return f.Err }

// internal returns the fault as package header has it, which has the texts.
func (f *Fault) internal() *header.Fault {
	return &header.Fault{Code: header.Code(f.Code), Where: f.Where, Index: f.Index, Found: f.Found, Want: f.Want, Err: f.Err}
}
