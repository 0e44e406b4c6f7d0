package rawpeer

import "strings"

// Answer is the answer to a message at a version 1 responder.
type Answer int

// The answers.
const (
	Dropped   Answer = iota // no answer is allowed
	Discarded               // the header cannot be read: no answer, or ERR_CHUNK
	ChunkErr                // ERR_CHUNK
	Mismatch                // ERR_CHUNK or the connection is closed: the parts do not fit together
	VersErr                 // ERR_VERS
)

// Fault is a message to a responder that RFC 8166 does not allow, and its answer.
type Fault struct {
	Name    string
	Section string

	// Message returns the message in hexadecimal. It refers to memory of 8192 bytes by its key and
	// its address, in hexadecimal, too. The RPC message, if it has one, is GoodCall.
	Message func(key, addr string) string
	Answer  Answer
}

// Faults returns the messages that no responder takes, whatever its limits are. Each has the XID of
// Head.
func Faults() []Fault {
	return []Fault{
		{"empty", "RFC 8166 §4.5.2", func(key, addr string) string { return "" }, Discarded},
		{"first-15-bytes", "RFC 8166 §4.5.2", func(key, addr string) string { return Head + "000000" }, Discarded},
		{"first-16-bytes", "RFC 8166 §4.5.2", func(key, addr string) string { return Head + "00000000" }, Discarded},
		{"first-27-bytes", "RFC 8166 §4.5.2", func(key, addr string) string { return Head + "00000000 00000000 00000000 000000" }, Discarded},
		{"done", "RFC 8166 §4.2.4", func(key, addr string) string { return Head + "00000003" }, Dropped},
		{"error-to-responder", "RFC 8166 §4.2.4", func(key, addr string) string { return Head + "00000004 00000002" }, Dropped},
		{"reply-to-responder", "RFC 8166 §4.2.4", func(key, addr string) string {
			return Head + "00000000 00000000 00000000 00000000 cafe0001 00000001 00000000"
		}, Dropped},
		{"procedure-5", "RFC 8166 §4.2.4", func(key, addr string) string { return Head + "00000005 00000000 00000000 00000000" }, ChunkErr},
		{"msgp", "RFC 8166 §4.2.4", func(key, addr string) string {
			return Head + "00000002 00000004 00000100 00000000 00000000 00000000" + GoodCall
		}, ChunkErr},
		{"version-0", "RFC 8166 §4.5.1", func(key, addr string) string { return "cafe0001 00000000 00000020 00000000 00000000 00000000 00000000" }, VersErr},
		{"version-3", "RFC 8166 §4.5.1", func(key, addr string) string { return "cafe0001 00000003 00000020 00000000 00000000 00000000 00000000" }, VersErr},
		{"version-largest", "RFC 8166 §4.5.1", func(key, addr string) string { return "cafe0001 ffffffff 00000020 00000000 00000000 00000000 00000000" }, VersErr},
		{"presence-2", "RFC 8166 §4.5.2", func(key, addr string) string {
			return Head + "00000000 00000002 00000000 00000000" + GoodCall
		}, ChunkErr},
		{"read-list-without-end", "RFC 8166 §4.5.2", func(key, addr string) string {
			return Head + "00000000 " + strings.Repeat("00000001 00000028 "+key+" 00000004 "+addr+" ", 30)
		}, ChunkErr},
		{"segment-count-wraps", "RFC 8166 §4.5.2", func(key, addr string) string {
			return Head + "00000000 00000000 00000001 10000001 " + key + " 00000100 " + addr + " 00000000 00000000" + GoodCall
		}, ChunkErr},
		{"xid-differs", "RFC 8166 §4.2.1", func(key, addr string) string {
			return Head + "00000000 00000000 00000000 00000000 cafe0002" + GoodCall[9:]
		}, Mismatch},
		{"rpc-message-of-4-bytes", "RFC 8166 §4.2.1", func(key, addr string) string { return Head + "00000000 00000000 00000000 00000000 cafe0001" }, Mismatch},
		{"nomsg-with-bytes-after", "RFC 8166 §4.2.4", func(key, addr string) string {
			return Head + "00000001 " + ReadSegment(0, key, 40, addr) + "00000000 00000000 00000000" + GoodCall
		}, Mismatch},
		{"nomsg-without-lists", "RFC 8166 §4.2.4", func(key, addr string) string { return Head + "00000001 00000000 00000000 00000000" }, Mismatch},
		{"position-41", "RFC 8166 §3.4.5", func(key, addr string) string { return Msg(ReadSegment(41, key, 8, addr)) }, Mismatch},
		{"position-past-the-end", "RFC 8166 §3.4.5", func(key, addr string) string { return Msg(ReadSegment(44, key, 8, addr)) }, Mismatch},
		{"chunks-overlap", "RFC 8166 §3.4.5", func(key, addr string) string {
			return Msg(ReadSegment(20, key, 8, addr) + ReadSegment(24, key, 8, addr))
		}, Mismatch},
		{"positions-decrease", "RFC 8166 §3.4.5", func(key, addr string) string {
			return Msg(ReadSegment(24, key, 4, addr) + ReadSegment(20, key, 4, addr))
		}, Mismatch},
		{"positions-return", "RFC 8166 §3.4.5", func(key, addr string) string {
			return Msg(ReadSegment(20, key, 4, addr) + ReadSegment(24, key, 4, addr) + ReadSegment(20, key, 4, addr))
		}, Mismatch},
		{"position-0-in-msg", "RFC 8166 §4.2.4", func(key, addr string) string { return Msg(ReadSegment(0, key, 8, addr)) }, Mismatch},
		{"nomsg-without-position-0", "RFC 8166 §4.2.4", func(key, addr string) string { return Nomsg(ReadSegment(4, key, 40, addr)) }, Mismatch},
	}
}
