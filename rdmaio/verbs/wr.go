package verbs

// SGE is a scatter/gather element: bytes Offset to Offset+Length of a region in the queue pair's
// domain. Length may be 0.
type SGE struct {
	MR     MemoryRegion
	Offset int
	Length int
}

// SendWR is a request to the send queue (ibv_send_wr). Fields that the Opcode
// does not use are ignored.
type SendWR struct {
	WRID   uint64 // returned in the completion; the provider does not use it
	Opcode Opcode
	Flags  SendFlags

	// SGL lists the memory of the data: the source of a Send or Write, the target of a
	// Read. It may be empty, for a message of no bytes. The slice belongs to the caller
	// again when the post returns.
	SGL []SGE

	// RemoteAddr and RKey name the peer's memory for a Write or Read: one contiguous range
	// of as many bytes as the SGL has. A range of no bytes is not checked.
	RemoteAddr uint64
	RKey       uint32

	// InvalidateRKey is the key to invalidate: the peer's for a SendWithInvalidate, our
	// own for a LocalInvalidate.
	InvalidateRKey uint32
}

// RecvWR is a request to the receive queue (ibv_recv_wr). A message is placed in the
// elements in order. If it is shorter than the list, the rest does not change.
type RecvWR struct {
	WRID uint64
	SGL  []SGE // may be empty, for a message of no bytes

	// Lend, if it is not zero, takes a message of at most so many bytes in memory that the provider
	// lends (WC.Loan). The SGL must then be empty, and the device must have
	// DeviceAttributes.LendReceives.
	Lend int
}

// Opcode is the operation of a SendWR.
type Opcode uint8

// The opcodes.
const (
	// Send delivers the SGL's bytes as one message to one Receive
	// (draft-ietf-nfsv4-rpcrdma-version-two-00 §3.2.2; R2, R11). A peer with no Receive posted, or
	// too small a one, breaks the connection (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.3; R3).
	Send Opcode = iota

	// SendWithInvalidate does the same, and invalidates the peer's region InvalidateRKey
	// before the Receive completes. The region must be valid, belong to the same domain as the
	// peer's queue pair, and be registered with AccessRemoteInvalidate. Otherwise the connection
	// breaks and nothing is delivered, except as DeviceAttributes.InvalidateWindowsOnly says.
	SendWithInvalidate

	// RDMAWrite copies the SGL's bytes to the peer's memory. Range, right and domain of
	// the whole request are checked before any byte is placed (R9).
	RDMAWrite

	// RDMARead copies the peer's memory to the SGL, with the same checks.
	RDMARead

	// LocalInvalidate invalidates a region of this queue pair's domain, in the order of
	// the send queue. A key of no valid region is an error that breaks the connection.
	// LocalInvalidate does not wait for earlier Reads unless it has SendFence. Some devices
	// need a window: see DeviceAttributes.InvalidateWindowsOnly.
	LocalInvalidate
)

// String returns the name of the opcode.
func (o Opcode) String() string {
	return enumString("Opcode", uint(o), "send", "send-invalidate", "write", "read", "local-invalidate")
}

// SendFlags modify a SendWR.
type SendFlags uint8

// The flags.
const (
	// SendSignaled makes the request complete if it succeeds, too. Failed and flushed
	// requests always complete.
	SendSignaled SendFlags = 1 << iota

	// SendSolicited makes a Send notify a peer that has armed its queue for solicited
	// completions only. It has no effect on other requests.
	SendSolicited

	// SendFence makes the request wait until all earlier Reads of its queue have completed.
	SendFence
)

// String lists the flags, as in "signaled|fence".
func (f SendFlags) String() string {
	return flagString(uint(f), "none", "signaled", "solicited", "fence")
}
