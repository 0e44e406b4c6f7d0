package cases

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The XIDs of the message that a probe sends, and of the NULL that shows whether the connection
// stays up.
const (
	probeXID uint32 = 0xbad00000
	aliveXID uint32 = 0xa11fe000
)

// closed, goesOn and silent are the last part of an answer: they say what became of the connection.
const (
	closed = "connection closed"
	goesOn = "the connection stays up"
	silent = "no answer, also to the call after it"
)

// probe is something to send, and the answers that the rule allows.
type probe struct {
	what, rule, expected string
	allowed              []string // the text of answers that the rule allows
	send                 func(w *wire)
	crc                  bool

	varies []string // answers that differ from run to run: saw is reported for them, as a deviation
	saw    string
}

// runProbes sends each probe on its own connection and reports the answers.
func runProbes(t *T, list []probe) {
	deviations := 0
	for _, p := range list {
		saw := again(p, func() string {
			w := dialWire(t, p.crc)
			defer w.close()
			p.send(w)
			return w.answer(true)
		})
		if reportProbe(t, p, saw) {
			deviations++
		}
	}
	dialWire(t, false).close() // the server still answers
	t.Say("%d probes, %d deviations", len(list), deviations)
}

// again tries a probe up to four times, as long as the connection is closed without the expected
// Terminate: siw sometimes closes it before its Terminate is sent. A Terminate that never comes is
// a deviation.
func again(p probe, try func() string) (saw string) {
	for range 4 {
		saw = try()
		if saw != closed || slices.Contains(p.allowed, closed) || !slices.ContainsFunc(p.allowed, func(s string) bool { return strings.HasPrefix(s, "Terminate ") }) {
			break
		}
	}
	return saw
}

// reportProbe adds the row of a probe, and reports whether it is a deviation.
func reportProbe(t *T, p probe, saw string) bool {
	if slices.Contains(p.varies, saw) {
		saw = p.saw
	}
	deviation := !slices.Contains(p.allowed, saw)
	t.Report(Finding{What: p.what, Rule: p.rule, Expected: p.expected, Saw: saw, Deviation: deviation})
	return deviation
}

// answer returns what the peer does. If it does not close the connection, and call is set, NULL is
// called: its reply shows that the connection is up.
func (w *wire) answer(call bool) string {
	const (
		patience = 5 * time.Second
		short    = 150 * time.Millisecond
		late     = 500 * time.Millisecond // for an answer that another thread of the server sends
	)
	var parts []string
	written, terminated, called, alive, reads := 0, false, !call, false, 0
	var message []byte // of a Send, so far
	sends := int(w.msn) - firstMSN
	wait := time.After(short)
	if !call {
		wait = time.After(patience)
	}
	say := func(end string) string {
		if written > 0 {
			parts = append([]string{fmt.Sprintf("%d bytes by RDMA Write", written)}, parts...)
		}
		return strings.Join(append(counted(parts), end), "; ")
	}
	for {
		select {
		case s, ok := <-w.in:
			switch {
			case !ok:
				return say(closed)
			case s.op == opReadRequest:
				w.respond(s.payload)
				reads++
			case s.op == opWrite:
				written += len(s.payload)
			case s.op == opTerminate:
				parts = append(parts, terminateText(s.payload))
				terminated = true
				wait = time.After(patience)
			case s.op == opReadResponse:
				parts = append(parts, fmt.Sprintf("Read Response of %d bytes", len(s.payload)))
			default:
				message = append(message, s.payload...)
				if !s.last {
					continue
				}
				if len(message) >= 4 && binary.BigEndian.Uint32(message) == aliveXID {
					// Threads of the server answer in any order.
					if len(parts) > 0 && len(parts) >= sends {
						return say(goesOn)
					}
					alive, message = true, nil
					wait = time.After(late)
					if reads > 0 {
						wait = time.After(patience)
					}
					continue
				}
				parts = append(parts, replyText(message))
				message = nil
				if alive && len(parts) >= sends {
					return say(goesOn)
				}
			}
		case <-wait:
			if alive {
				if len(parts) == 0 {
					parts = append(parts, "no answer")
				}
				return say(goesOn)
			}
			if called || terminated {
				return say(silent)
			}
			called = true
			w.send(words(aliveXID, 1, 32, 0, 0, 0, 0), nullCall(aliveXID, 100003, 3))
			wait = time.After(patience)
		case <-w.t.Context().Done():
			w.t.Fatalf("no time for the answers that came and for others: %q", parts)
		}
	}
}

// counted sorts answers and joins equal ones: "3 times ERR_CHUNK".
func counted(parts []string) []string {
	slices.Sort(parts)
	var out []string
	for i := 0; i < len(parts); {
		j := i
		for j < len(parts) && parts[j] == parts[i] {
			j++
		}
		if j-i > 1 {
			out = append(out, fmt.Sprintf("%d times %s", j-i, parts[i]))
		} else {
			out = append(out, parts[i])
		}
		i = j
	}
	return out
}

// The errors of Terminate messages: layer, type and code (RFC 5040 §4.8, RFC 5041 §7.2,
// RFC 5044 §8).
var terminateErrors = map[uint16]string{
	0x0100: "RDMAP, invalid STag", 0x0101: "RDMAP, base or bounds", 0x0102: "RDMAP, access rights",
	0x0103: "RDMAP, STag of another stream", 0x0104: "RDMAP, TO wrap", 0x0109: "RDMAP, STag cannot be invalidated",
	0x01ff: "RDMAP, protection, unspecified",
	0x0205: "RDMAP, invalid version", 0x0206: "RDMAP, unexpected opcode", 0x0207: "RDMAP, catastrophic for the stream",
	0x0208: "RDMAP, catastrophic", 0x0209: "RDMAP, STag cannot be invalidated", 0x02ff: "RDMAP, operation, unspecified",
	0x1000: "DDP, local catastrophic",
	0x1100: "DDP, invalid STag", 0x1101: "DDP, base or bounds", 0x1102: "DDP, STag of another stream",
	0x1103: "DDP, TO wrap", 0x1104: "DDP, invalid version of a tagged segment",
	0x1201: "DDP, invalid QN", 0x1202: "DDP, invalid MSN: no buffer", 0x1203: "DDP, invalid MSN: range",
	0x1204: "DDP, invalid MO", 0x1205: "DDP, message too long", 0x1206: "DDP, invalid version of an untagged segment",
	0x2001: "MPA, connection lost", 0x2002: "MPA, CRC error", 0x2003: "MPA, marker and length differ",
}

// terminate returns the text of an error as siw is expected to send it: siw swaps the nibbles of
// layer and error type.
func terminate(code uint16) string { return "Terminate " + terminateErrors[code] }

// terminateText describes a Terminate message.
func terminateText(b []byte) string {
	if len(b) < 4 {
		return fmt.Sprintf("Terminate of %d bytes", len(b))
	}
	swapped := uint16(b[0]<<4|b[0]>>4)<<8 | uint16(b[1])
	if terminateErrors[swapped] == "" {
		return fmt.Sprintf("Terminate `%04x`", binary.BigEndian.Uint16(b))
	}
	return terminate(swapped)
}

// replyText describes a message of the server.
func replyText(b []byte) string {
	if len(b) < 20 {
		return fmt.Sprintf("a message of %d bytes", len(b))
	}
	word := func(i int) uint32 {
		if len(b) < 4*i+4 {
			return 0xffffffff
		}
		return binary.BigEndian.Uint32(b[4*i:])
	}
	text := ""
	switch proc := word(3); {
	case proc == 4 && word(4) == 1:
		text = fmt.Sprintf("ERR_VERS %d to %d", word(5), word(6))
	case proc == 4 && word(4) == 2:
		text = "ERR_CHUNK"
	case proc == 1:
		text = "RDMA_NOMSG"
	case proc == 0:
		text = rpcText(b)
	default:
		text = fmt.Sprintf("rdma_proc %d", proc)
	}
	if word(0)&0xffffff00 != probeXID {
		text += fmt.Sprintf(" with XID %08x", word(0))
	}
	if word(1) != 1 {
		text += fmt.Sprintf(" in version %d", word(1))
	}
	if word(2) == 0 {
		text += " with 0 credits"
	}
	if len(b) > 4096 { // the server's inline threshold
		text += fmt.Sprintf(" in a Send of %d bytes", len(b))
	}
	return text
}

// rpcText describes the Reply in an RDMA_MSG.
func rpcText(b []byte) string {
	p := b[16:]
	word := func() uint32 {
		if len(p) < 4 {
			return 0xffffffff
		}
		v := binary.BigEndian.Uint32(p)
		p = p[4:]
		return v
	}
	chunk := func() {
		n := min(int(word()), len(p)/16)
		p = p[16*n:]
	}
	word() // no Read list in a reply
	for word() == 1 {
		chunk()
	}
	if word() == 1 {
		chunk()
	}
	word() // XID
	if direction := word(); direction != 1 {
		return fmt.Sprintf("RDMA_MSG with msg_type %d", direction)
	}
	if word() == 1 {
		return "RDMA_MSG, denied: " + names(word(), "RPC_MISMATCH", "AUTH_ERROR")
	}
	word() // flavor
	p = p[min(int(word()), len(p)):]
	return "RDMA_MSG, " + names(word(), "SUCCESS", "PROG_UNAVAIL", "PROG_MISMATCH", "PROC_UNAVAIL", "GARBAGE_ARGS", "SYSTEM_ERR")
}

func names(i uint32, list ...string) string {
	if int(i) < len(list) {
		return list[i]
	}
	return fmt.Sprint(i)
}
