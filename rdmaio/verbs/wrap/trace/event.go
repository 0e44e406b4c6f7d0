package trace

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Kind is the kind of an Event.
type Kind uint8

// The kinds, with the fields of Event that they use. All use Seq, Time and Device, and Err
// if the call can fail. PostSend also uses RKey and RemoteAddr, or InvalidateRKey, as its
// opcode does. RefuseSend and RefuseRecv have Err for the refused request only, not for later ones
// in the batch. InvalidateRKey of Complete is the key that the peer's SendWithInvalidate has
// invalidated.
const (
	AllocPD     Kind = iota
	ClosePD          //
	CreateCQ         // CQ, Length (entries)
	CloseCQ          // CQ
	Arm              // CQ, Solicited
	Notify           // CQ
	CreateQP         // QP
	Disconnect       // QP
	Lost             // QP; Err is the reason (QPConfig.Notify)
	CloseQP          // QP
	Alloc            // Length
	Free             // Length
	Register         // RKey, RemoteAddr, Length, Access
	Reregister       // as Register
	Redirect         // RKey, Length
	Invalidate       // RKey; also for each region when a Revoke is done
	Revoke           // QP, RKey, for each region before the call; QP and Err if it was refused
	Deregister       // RKey
	PostSend         // QP, WRID, Opcode, Flags, Length, Elements
	PostRecv         // QP, WRID, Length, Elements
	RefuseSend       // as PostSend
	RefuseRecv       // as PostRecv
	Complete         // CQ, QP, WRID, Status, WCOpcode, Length, InvalidateRKey
	Listen           // Addr
	CloseListen      // Addr
	Dial             // QP, Addr, Length (private data), before the call
	Dialed           // QP, Addr, Length (the peer's private data), Depth, Resources
	Request          // Addr (the peer's), Length (its private data)
	Accept           // QP, Addr, Length (private data), before the call
	Accepted         // as Dialed
	Reject           // Addr, Length (private data)
	CloseDevice      //
)

var kindNames = [...]string{
	"alloc-pd", "close-pd", "create-cq", "close-cq", "arm", "notify", "create-qp", "disconnect", "lost", "close-qp",
	"alloc", "free", "register", "reregister", "redirect", "invalidate", "revoke", "deregister", "post", "post", "refused", "refused", "complete",
	"listen", "close-listener", "dial", "dialed", "request", "accept", "accepted", "reject", "close-device",
}

// String returns the name of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Event is a call, a completion or a notification. Fields that its Kind does not use are
// zero.
type Event struct {
	Seq    uint64    // 1, 2, 3, ... over all devices of the Tracer
	Time   time.Time // zero without Config.Now
	Device string    // DeviceAttributes.Name
	Kind   Kind
	Err    error

	CQ   uint32 // numbered by the Tracer, from 1
	QP   uint32 // QueuePair.Num
	WRID uint64

	Opcode         verbs.Opcode
	Flags          verbs.SendFlags
	RKey           uint32
	RemoteAddr     uint64
	InvalidateRKey uint32
	Access         verbs.Access
	Length         int    // bytes
	Elements       int    // of the scatter/gather list
	Head           string // the first Config.Head bytes of a Send, posted or received

	Status    verbs.Status
	WCOpcode  verbs.WCOpcode
	Solicited bool

	Addr             string
	Depth, Resources int // negotiated initiator depth and responder resources
}

// String formats the event as a line with columns: number, device, queue pair, kind, details.
// It replaces unprintable characters of names and errors by U+FFFD.
func (e Event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%5d ", e.Seq)
	if !e.Time.IsZero() {
		b.WriteString(e.Time.Format("15:04:05.000000 "))
	}
	object := ""
	switch {
	case e.QP != 0:
		object = fmt.Sprintf("qp%d", e.QP)
	case e.CQ != 0:
		object = fmt.Sprintf("cq%d", e.CQ)
	}
	fmt.Fprintf(&b, "%-10s %-6s %-10v", e.Device, object, e.Kind)
	details := e.details()
	switch {
	case e.Err == nil:
		b.WriteString(" " + details)
	case details == "":
		fmt.Fprintf(&b, " %v", e.Err)
	default:
		fmt.Fprintf(&b, " %s: %v", details, e.Err)
	}
	return strings.TrimRight(strings.Map(printable, b.String()), " ")
}

func printable(r rune) rune {
	if !unicode.IsPrint(r) {
		return unicode.ReplacementChar
	}
	return r
}

func (e *Event) details() string {
	switch e.Kind {
	case PostSend, RefuseSend:
		return e.request()
	case PostRecv, RefuseRecv:
		return fmt.Sprintf("recv id %#x, room for %d bytes in %d", e.WRID, e.Length, e.Elements)
	case Complete:
		return e.completion()
	case Register, Reregister:
		return fmt.Sprintf("key 0x%08x at %#x, %d bytes, %v", e.RKey, e.RemoteAddr, e.Length, e.Access)
	case Redirect:
		return fmt.Sprintf("key 0x%08x, %d bytes", e.RKey, e.Length)
	case Invalidate, Revoke, Deregister:
		return fmt.Sprintf("key 0x%08x", e.RKey)
	case Alloc, Free:
		return fmt.Sprintf("%d bytes", e.Length)
	case CreateCQ:
		return fmt.Sprintf("%d entries", e.Length)
	case Arm:
		if e.Solicited {
			return "solicited only"
		}
	case Listen, CloseListen:
		return fmt.Sprintf("%q", e.Addr)
	case Dial, Request, Accept, Reject:
		return fmt.Sprintf("%q, %d bytes of private data", e.Addr, e.Length)
	case Dialed, Accepted:
		if e.Err == nil {
			return fmt.Sprintf("%q, %d bytes of private data, reads %d out, %d in", e.Addr, e.Length, e.Depth, e.Resources)
		}
		return fmt.Sprintf("%q", e.Addr)
	}
	return ""
}

func (e *Event) request() string {
	s := fmt.Sprintf("%v id %#x", e.Opcode, e.WRID)
	if e.Opcode != verbs.LocalInvalidate {
		s += fmt.Sprintf(", %d bytes in %d", e.Length, e.Elements)
	}
	switch e.Opcode {
	case verbs.RDMAWrite:
		s += fmt.Sprintf(" to key 0x%08x at %#x", e.RKey, e.RemoteAddr)
	case verbs.RDMARead:
		s += fmt.Sprintf(" from key 0x%08x at %#x", e.RKey, e.RemoteAddr)
	case verbs.SendWithInvalidate, verbs.LocalInvalidate:
		s += fmt.Sprintf(", invalidates key 0x%08x", e.InvalidateRKey)
	}
	if e.Flags != 0 {
		s += fmt.Sprintf(", %v", e.Flags)
	}
	if e.Head != "" {
		s += fmt.Sprintf(", begins %x", e.Head)
	}
	return s
}

func (e *Event) completion() string {
	if e.Status != verbs.StatusSuccess {
		return fmt.Sprintf("id %#x: %v", e.WRID, e.Status)
	}
	s := fmt.Sprintf("%v id %#x", e.WCOpcode, e.WRID)
	if e.WCOpcode == verbs.WCRecv || e.WCOpcode == verbs.WCRDMARead {
		s += fmt.Sprintf(", %d bytes", e.Length)
	}
	if e.Head != "" {
		s += fmt.Sprintf(", begins %x", e.Head)
	}
	if e.InvalidateRKey != 0 {
		s += fmt.Sprintf(", our key 0x%08x invalidated", e.InvalidateRKey)
	}
	return s
}
