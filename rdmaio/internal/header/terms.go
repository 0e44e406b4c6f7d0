package header

// LeastInline is the inline threshold each way until something else is known,
// and the least there is (RFC 8166 §3.3.3; R36).
const LeastInline = 1024

// Terms are what both ends agreed on for a connection, as seen from one of
// them. Send of one end is Recv of the other, whichever of the two makes a
// Call: so thresholds of reverse Calls need nothing of their own (R38, R39).
type Terms struct {
	Send, Recv int // inline thresholds, bytes, header included (RFC 8166 §3.3.2)

	// RemoteInvalidate: a responder may end one key of a Call by its Reply.
	RemoteInvalidate bool

	// Reads is how many RDMA Reads this end may have in progress; 0 is no limit but that of the
	// queue pair, negative none at all. NoReadChunks: the other end makes none. ReadsUnknown: the connection is being set up,
	// and Reads wait.
	Reads        int
	NoReadChunks bool
	ReadsUnknown bool
}

// DefaultTerms are those of a peer that said nothing.
func DefaultTerms() Terms { return Terms{Send: LeastInline, Recv: LeastInline} }
