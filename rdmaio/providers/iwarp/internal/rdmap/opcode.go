package rdmap

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/ddp"
)

// Opcode is the operation of a message.
type Opcode uint8

// The opcodes (RFC 5040 §4.1, RFC 7306 §4.1). Send to SendSEInvalidate are the Send
// message types.
const (
	Write Opcode = iota
	ReadRequestOp
	ReadResponse
	Send
	SendInvalidate
	SendSE
	SendSEInvalidate
	TerminateOp
	Immediate
	ImmediateSE
	AtomicRequest
	AtomicResponse
)

// The untagged queues (RFC 5040 §4.1).
const (
	QueueSend      = 0
	QueueRead      = 1
	QueueTerminate = 2
)

const (
	versionBits = 0x40 // version 1 in the two highest bits
	maskVersion = 0xc0
	maskOpcode  = 0x0f
)

var opcodes = [...]string{
	"RDMA Write", "RDMA Read Request", "RDMA Read Response", "Send", "Send with Invalidate", "Send with SE",
	"Send with SE and Invalidate", "Terminate", "Immediate Data", "Immediate Data with SE", "Atomic Request", "Atomic Response",
}

// String returns the name of the opcode in the RFCs.
func (o Opcode) String() string {
	if int(o) < len(opcodes) {
		return opcodes[o]
	}
	return fmt.Sprintf("opcode %d", uint8(o))
}

// OpcodeOf returns the opcode in an RDMAP control field. It does not check the field.
func OpcodeOf(control uint8) Opcode { return Opcode(control & maskOpcode) }

// Control returns the RDMAP control field of a message.
func (o Opcode) Control() uint8 { return versionBits | uint8(o) }

// Tagged reports whether messages with the opcode are tagged.
func (o Opcode) Tagged() bool { return o == Write || o == ReadResponse }

// Queue returns the untagged queue of messages with the opcode.
func (o Opcode) Queue() uint32 {
	switch o {
	case ReadRequestOp:
		return QueueRead
	case TerminateOp:
		return QueueTerminate
	}
	return QueueSend
}

// IsSend reports whether the opcode is one of the Send message types.
func (o Opcode) IsSend() bool { return o >= Send && o <= SendSEInvalidate }

// Invalidates reports whether messages with the opcode name an STag to invalidate. In all
// others that field is ignored.
func (o Opcode) Invalidates() bool { return o == SendInvalidate || o == SendSEInvalidate }

// Solicited reports whether a message with the opcode causes an event.
func (o Opcode) Solicited() bool { return o == SendSE || o == SendSEInvalidate }

// Check returns the opcode of a segment with n bytes of payload. It checks version and
// opcode, and that flag, queue and size are those of the opcode (RFC 5040 §4.1, §4.2).
func Check(h *ddp.Header, n int) (Opcode, error) {
	op := OpcodeOf(h.ULP)
	switch v := h.ULP & maskVersion; {
	case v != versionBits:
		return op, fault(BadVersion, op, uint64(v>>6), 1)
	case op > TerminateOp:
		return op, fault(BadOpcode, op, uint64(op), uint64(TerminateOp))
	case h.Tagged != op.Tagged():
		return op, fault(WrongModel, op, truth(h.Tagged), truth(op.Tagged()))
	case h.Tagged:
	case h.QN > QueueTerminate:
		return op, &ddp.Error{Rule: ddp.BadQN, Got: uint64(h.QN), Want: QueueTerminate}
	case h.QN != op.Queue():
		return op, fault(WrongQueue, op, uint64(h.QN), uint64(op.Queue()))
	case op == ReadRequestOp && (!h.Last || h.MO != 0 || n != ReadRequestSize):
		return op, fault(BadReadRequest, op, uint64(n), ReadRequestSize)
	case op == TerminateOp && (!h.Last || h.MO != 0 || n > MaxTerminate):
		return op, fault(BadTerminate, op, uint64(n), MaxTerminate)
	}
	return op, nil
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
