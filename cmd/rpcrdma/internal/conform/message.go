package conform

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// Numbers of RFC 5531 §9.
const (
	rpcVersion = 2
	typeCall   = 0
	typeReply  = 1
	maxAuth    = 400 // bytes in the body of a credential or verifier
)

// Flavours of RFC 5531 §8.2.
const (
	authNone = 0
	authSys  = 1
	authGSS  = 6
)

// opaqueAuth is a credential or a verifier.
type opaqueAuth struct {
	flavour uint32
	body    []byte
	claim   uint32 // the length that is written; 0: len(body)
}

// append appends a with its padding.
func (a opaqueAuth) append(b []byte) []byte {
	n := uint32(len(a.body))
	if a.claim != 0 {
		n = a.claim
	}
	b = words(b, a.flavour, n)
	return padded(append(b, a.body...), len(a.body))
}

// call is a Call. Any part may be wrong.
type call struct {
	xid, typ, rpc, prog, vers, proc uint32
	cred, verf                      opaqueAuth
	args                            []byte
}

// bytes returns the message.
func (c call) bytes() []byte {
	b := words(nil, c.xid, c.typ, c.rpc, c.prog, c.vers, c.proc)
	b = c.verf.append(c.cred.append(b))
	return append(b, c.args...)
}

// words appends numbers of four bytes.
func words(b []byte, list ...uint32) []byte {
	for _, w := range list {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// padded appends the zeros that follow n bytes.
func padded(b []byte, n int) []byte { return append(b, make([]byte, -n&3)...) }

// opaque returns variable-length data with its length and padding.
func opaque(data []byte) []byte {
	return padded(append(words(nil, uint32(len(data))), data...), len(data))
}

// unhex returns the bytes that a table has as text.
func unhex(text string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		panic(err) // a table of this package is wrong
	}
	return b
}

// Names of accept_stat and auth_stat (RFC 5531 §9).
var (
	acceptNames = []string{"SUCCESS", "PROG_UNAVAIL", "PROG_MISMATCH", "PROC_UNAVAIL", "GARBAGE_ARGS", "SYSTEM_ERR"}
	authNames   = []string{
		"AUTH_OK", "AUTH_BADCRED", "AUTH_REJECTEDCRED", "AUTH_BADVERF", "AUTH_REJECTEDVERF", "AUTH_TOOWEAK", "AUTH_INVALIDRESP", "AUTH_FAILED",
		"AUTH_KERB_GENERIC", "AUTH_TIMEEXPIRE", "AUTH_TKT_FILE", "AUTH_DECODE", "AUTH_NET_ADDR", "RPCSEC_GSS_CREDPROBLEM", "RPCSEC_GSS_CTXPROBLEM",
	}
)

// Answers without a reply.
const (
	noReply = "no reply"
	closed  = "closed"
)

// malformed begins the answer for a message that RFC 5531 §9 does not allow as a reply.
const malformed = "malformed reply: "

// xidOf returns the XID of a message. ok is false if it is too short.
func xidOf(b []byte) (xid uint32, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(b), true
}

// outcome returns a reply in words: the status, with the results in hexadecimal, the versions or
// the reason.
func outcome(b []byte) string {
	r := &reader{b: b}
	r.word() // the XID
	if typ := r.word(); typ != typeReply && r.err == "" {
		return fmt.Sprintf("%stype %d", malformed, typ)
	}
	text := ""
	switch stat := r.word(); {
	case r.err != "":
	case stat == 0:
		text = r.accepted()
	case stat == 1:
		text = r.denied()
	default:
		r.err = fmt.Sprintf("reply_stat %d", stat)
	}
	if r.err == "" && len(r.b) > 0 && !strings.HasPrefix(text, "SUCCESS") {
		r.err = fmt.Sprintf("%d bytes after %s", len(r.b), text)
	}
	if r.err != "" {
		return malformed + r.err
	}
	return text
}

// reader reads a reply. After a fault its words are 0.
type reader struct {
	b   []byte
	err string
}

func (r *reader) word() uint32 {
	if len(r.b) < 4 {
		if r.err == "" {
			r.err = "it ends within its header"
		}
		r.b = nil
		return 0
	}
	w := binary.BigEndian.Uint32(r.b)
	r.b = r.b[4:]
	return w
}

func (r *reader) accepted() string {
	r.word() // the verifier's flavour
	n := int(r.word())
	switch {
	case n > maxAuth:
		r.err = fmt.Sprintf("verifier of %d bytes", n)
	case n+(-n&3) > len(r.b):
		r.err = "it ends within its verifier"
	}
	if r.err != "" {
		return ""
	}
	r.b = r.b[n+(-n&3):]
	stat := r.word()
	switch {
	case r.err != "":
		return ""
	case stat == 0 && len(r.b) == 0:
		return "SUCCESS"
	case stat == 0:
		return "SUCCESS " + hex.EncodeToString(r.b)
	case stat == 2:
		return r.versions("PROG_MISMATCH")
	case int(stat) < len(acceptNames):
		return acceptNames[stat]
	}
	r.err = fmt.Sprintf("accept_stat %d", stat)
	return ""
}

func (r *reader) denied() string {
	switch stat := r.word(); {
	case r.err != "":
	case stat == 0:
		return r.versions("RPC_MISMATCH")
	case stat == 1:
		why := r.word()
		if int(why) < len(authNames) {
			return "AUTH_ERROR " + authNames[why]
		}
		return fmt.Sprintf("AUTH_ERROR %d", why)
	default:
		r.err = fmt.Sprintf("reject_stat %d", stat)
	}
	return ""
}

func (r *reader) versions(name string) string {
	low, high := r.word(), r.word()
	if low > high {
		r.err = fmt.Sprintf("%s with versions %d to %d", name, low, high)
	}
	return fmt.Sprintf("%s %d to %d", name, low, high)
}
