package verbs

// SGE is a scatter/gather element: bytes Offset to Offset+Length of a region
// of the queue pair's domain. Length may be 0.
type SGE struct {
	MR     MemoryRegion
	Offset int
	Length int
}

// SendWR is a request to the send queue (ibv_send_wr). Fields that the Opcode
// does not use are ignored.
type SendWR struct {
	WRID   uint64 // given back in the completion; means nothing to the provider
	Opcode Opcode
	Flags  SendFlags

	// SGL is the data: gathered from in a Send or Write, scattered to in a
	// Read. It may be empty: a message of no bytes. The caller's again when the
	// post returns.
	SGL []SGE

	// RemoteAddr and RKey name the peer's memory in a Write or Read, which is
	// one contiguous range of as many bytes as the SGL has. A range of no bytes
	// is not checked.
	RemoteAddr uint64
	RKey       uint32

	// InvalidateRKey is the peer's key to invalidate in a SendWithInvalidate,
	// our own in a LocalInvalidate.
	InvalidateRKey uint32
}

// RecvWR is a request to the receive queue (ibv_recv_wr). The first bytes of
// a message go to the first element; a shorter message leaves the rest untouched.
type RecvWR struct {
	WRID uint64
	SGL  []SGE // may be empty: room for a message of no bytes
}

// Opcode is what a SendWR does.
type Opcode uint8

// The opcodes.
const (
	// Send delivers the SGL's bytes as one message to one Receive (R2, R11). A
	// peer with no Receive posted, or too small a one, breaks the connection (R3).
	Send Opcode = iota

	// SendWithInvalidate does the same and, before the Receive completes,
	// invalidates the peer's region InvalidateRKey, which must be valid, of the
	// peer's domain and registered with AccessRemoteInvalidate; otherwise the
	// connection breaks and nothing is delivered.
	SendWithInvalidate

	// RDMAWrite places the SGL's bytes in the peer's memory. Range, right and
	// domain are checked for the whole before any byte is placed (R9).
	RDMAWrite

	// RDMARead fetches the peer's memory into the SGL, with the same checks.
	RDMARead

	// LocalInvalidate ends a region of this queue pair's domain, in its turn in
	// the send queue. A key that names no valid region is an error that breaks
	// the connection. It does not wait for earlier Reads unless it is fenced.
	LocalInvalidate
)

// String names the opcode.
func (o Opcode) String() string {
	return enumString("Opcode", uint(o), "send", "send-invalidate", "write", "read", "local-invalidate")
}

// SendFlags modify a SendWR.
type SendFlags uint8

// The flags.
const (
	SendSignaled  SendFlags = 1 << iota // report success too; failure and flush are always reported
	SendSolicited                       // Sends: wake a peer that armed for solicited completions; no effect on others
	SendFence                           // do not start before all earlier Reads of this queue completed
)

// String lists the flags: "signaled|fence".
func (f SendFlags) String() string {
	return flagString(uint(f), "none", "signaled", "solicited", "fence")
}
