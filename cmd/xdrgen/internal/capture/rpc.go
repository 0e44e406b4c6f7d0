package capture

import (
	"encoding/binary"
	"fmt"
)

// Status is the outcome of a call, from its reply.
type Status struct {
	Success bool
	Text    string // the name in RFC 5531 or RFC 8166, with its numbers: "PROG_MISMATCH (2 to 3)"
}

// maxAuth is the longest body of a credential or verifier (RFC 5531 §8.2).
const maxAuth = 400

// words reads XDR words.
type words struct {
	b    []byte
	off  int
	fail bool // there were too few bytes
}

// next returns the next word, or 0 after the end.
func (w *words) next() uint32 {
	if len(w.b)-w.off < 4 {
		w.fail, w.off = true, len(w.b)
		return 0
	}
	w.off += 4
	return binary.BigEndian.Uint32(w.b[w.off-4:])
}

// long returns the next two words.
func (w *words) long() uint64 {
	high := w.next()
	return uint64(high)<<32 | uint64(w.next())
}

// opaque passes over an opaque of at most limit bytes.
func (w *words) opaque(limit uint32) {
	n := w.next()
	if n > limit || int(n+3)&^3 > len(w.b)-w.off {
		w.fail = true
		return
	}
	w.off += int(n+3) &^ 3
}

// auth passes over a credential or verifier and returns its flavor.
func (w *words) auth() uint32 {
	flavor := w.next()
	w.opaque(maxAuth)
	return flavor
}

// isCall reports whether bytes begin a Call (RFC 5531 §9). 24 bytes are enough.
func isCall(b []byte) bool {
	return len(b) >= 24 && binary.BigEndian.Uint32(b[4:]) == 0 && binary.BigEndian.Uint32(b[8:]) == 2
}

// isReply reports whether bytes may begin a reply. 20 bytes are enough.
func isReply(b []byte) bool {
	if len(b) < 20 || binary.BigEndian.Uint32(b[4:]) != 1 {
		return false
	}
	stat, next := binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])
	if stat == 1 {
		return next <= 1
	}
	// The verifier: flavors above 6 are rare, but the length has a limit.
	return stat == 0 && binary.BigEndian.Uint32(b[16:]) <= maxAuth && next < 1<<20
}

// IsMessage reports whether bytes look like the beginning of an RPC message. 24 bytes are enough.
func IsMessage(b []byte) bool { return isCall(b) || isReply(b) }

// call reads the header of a Call message.
func (c *Call) call(b []byte) bool {
	w := words{b: b}
	c.XID = w.next()
	w.next() // CALL
	w.next() // version 2
	c.Program, c.Version, c.Procedure = w.next(), w.next(), w.next()
	if w.fail {
		return false
	}
	c.HasCall, c.Message = true, b
	c.Auth = w.auth()
	w.auth()
	c.Args = w.off
	if w.fail {
		c.Args = len(b)
		c.Notes = append(c.Notes, "the credential or verifier of the Call is cut or longer than 400 bytes")
	}
	return true
}

// The names of accept_stat, reject_stat and auth_stat (RFC 5531 §9).
var (
	accepted = []string{"SUCCESS", "PROG_UNAVAIL", "PROG_MISMATCH", "PROC_UNAVAIL", "GARBAGE_ARGS", "SYSTEM_ERR"}
	authStat = []string{
		"AUTH_OK", "AUTH_BADCRED", "AUTH_REJECTEDCRED", "AUTH_BADVERF", "AUTH_REJECTEDVERF", "AUTH_TOOWEAK", "AUTH_INVALIDRESP",
		"AUTH_FAILED", "AUTH_KERB_GENERIC", "AUTH_TIMEEXPIRE", "AUTH_TKT_FILE", "AUTH_DECODE", "AUTH_NET_ADDR",
		"RPCSEC_GSS_CREDPROBLEM", "RPCSEC_GSS_CTXPROBLEM",
	}
)

// name returns the name of a number, or kind and the number.
func name(names []string, n uint32, kind string) string {
	if uint64(n) < uint64(len(names)) && names[n] != "" {
		return names[n]
	}
	return fmt.Sprintf("%s %d", kind, n)
}

// reply reads the header of a reply message.
func (c *Call) reply(b []byte) {
	w := words{b: b}
	w.next() // XID
	w.next() // REPLY
	c.HasReply, c.Reply, c.Results = true, b, len(b)
	if w.next() == 1 {
		c.Status.Text = w.denied()
	} else {
		w.auth()
		stat := w.next()
		c.Status = Status{stat == 0, name(accepted, stat, "accept_stat")}
		if stat == 2 {
			low := w.next()
			c.Status.Text += fmt.Sprintf(" (%d to %d)", low, w.next())
		}
	}
	c.Results = w.off
	if w.fail {
		c.Status, c.Results = Status{Text: "cut reply"}, len(b)
	}
}

// denied reads a rejected_reply.
func (w *words) denied() string {
	switch stat := w.next(); stat {
	case 0:
		low := w.next()
		return fmt.Sprintf("RPC_MISMATCH (%d to %d)", low, w.next())
	case 1:
		return "AUTH_ERROR " + name(authStat, w.next(), "auth_stat")
	default:
		return fmt.Sprintf("reject_stat %d", stat)
	}
}
