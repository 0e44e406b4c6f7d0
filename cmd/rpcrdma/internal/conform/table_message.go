package conform

import "fmt"

// messageCases are the cases of RPC headers (RFC 5531 §9).
func messageCases() []Case {
	list := []Case{
		{Name: "message/null", Section: "RFC 5531 §12.1", On: all, steps: one((*Target).null, "SUCCESS")},
		{Name: "message/xid-0", Section: "RFC 5531 §9", On: all, steps: one(func(t *Target) call { c := t.null(); c.xid = 0; return c }, "SUCCESS")},
		{Name: "message/xid-largest", Section: "RFC 5531 §9", On: all, steps: one(func(t *Target) call { c := t.null(); c.xid = 1<<32 - 1; return c }, "SUCCESS")},
		{Name: "message/xid-again", Section: "RFC 5531 §9", On: all, steps: xidAgain},
		{Name: "message/calls-at-once", Section: "RFC 5531 §9", On: all, steps: callsAtOnce},
	}
	for _, v := range []uint32{0, 1, 3, 1<<32 - 1} {
		list = append(list, Case{
			Name: fmt.Sprintf("message/rpc-version-%d", v), Section: "RFC 5531 §9", On: all,
			steps: one(func(t *Target) call { c := t.null(); c.rpc = v; return c }, "RPC_MISMATCH 2 to 2"),
		})
	}
	list = append(list,
		Case{Name: "message/rpc-version-before-program", Section: "RFC 5531 §9", On: all, steps: one(func(t *Target) call {
			c := t.null()
			c.rpc, c.prog = 3, otherProgram
			return c
		}, "RPC_MISMATCH 2 to 2")},
		Case{Name: "message/program-unknown", Section: "RFC 5531 §9", On: all, steps: one(func(t *Target) call {
			c := t.call(1, nil)
			c.prog = otherProgram
			return c
		}, "PROG_UNAVAIL")},
		Case{Name: "message/version-unknown", Section: "RFC 5531 §9", On: all, steps: otherVersion(4_000_000_000)},
		Case{Name: "message/version-0", Section: "RFC 5531 §9", On: all, steps: otherVersion(0)},
		Case{Name: "message/procedure-unknown", Section: "RFC 5531 §9", On: all, steps: one(func(t *Target) call { return t.call(4_000_000_000, nil) }, "PROC_UNAVAIL")},
		Case{Name: "message/procedure-largest", Section: "RFC 5531 §9", On: all, steps: one(func(t *Target) call { return t.call(1<<32-1, nil) }, "PROC_UNAVAIL")},
		Case{Name: "message/type-reply", Section: "RFC 5531 §9", On: all, steps: replyToServer},
		Case{Name: "message/type-2", Section: "RFC 5531 §9", On: all, steps: one(func(t *Target) call { c := t.null(); c.typ = 2; return c }, notRun...)},
		Case{Name: "message/null-with-arguments", Section: "RFC 5531 §9", On: all, steps: one(func(t *Target) call { return t.call(0, make([]byte, 8)) }, "SUCCESS", "GARBAGE_ARGS")},
		Case{Name: "message/length-41", Section: "RFC 4506 §3", On: all, steps: one(func(t *Target) call { return t.call(0, make([]byte, 1)) }, append([]string{"SUCCESS"}, notRun...)...)},
		Case{Name: "message/empty", Section: "RFC 5531 §9", On: TCP | UDP, steps: truncated(0)},
	)
	for n := 4; n < 40; n += 4 {
		list = append(list, Case{Name: fmt.Sprintf("message/first-%d-bytes", n), Section: "RFC 5531 §9", On: all, steps: truncated(n)})
	}
	return list
}

// otherProgram is a program number that no server should have: it is from the range that RFC 5531
// §13.1 reserves.
const otherProgram = 0x7ffffff0

// notRun are the answers to a message that is not a Call: silence or a refusal, never a result.
var notRun = []string{noReply, closed, "GARBAGE_ARGS", "AUTH_ERROR *", "ERR_CHUNK"}

// otherVersion calls another version of the program. The versions of the answer must include
// the program's.
func otherVersion(v uint32) func(t *Target) []step {
	return func(t *Target) []step {
		c := t.null()
		c.vers = v
		want := "PROG_MISMATCH *"
		if t.echo() {
			want = "PROG_MISMATCH 1 to 1"
		}
		return []step{{send: [][]byte{c.bytes()}, want: []expect{{c.xid, []string{want}}}}}
	}
}

// truncated sends the first bytes of a call.
func truncated(n int) func(t *Target) []step {
	return func(t *Target) []step {
		c := t.null()
		return []step{{send: [][]byte{c.bytes()[:n]}, want: []expect{{c.xid, notRun}}}}
	}
}

// xidAgain makes two calls with the same XID, the second after the first was answered.
func xidAgain(t *Target) []step {
	c := t.null()
	s := step{send: [][]byte{c.bytes()}, want: []expect{{c.xid, []string{"SUCCESS"}}}}
	return []step{s, s}
}

// callsAtOnce makes several calls before an answer.
func callsAtOnce(t *Target) []step {
	var s step
	for range 8 {
		c := t.null()
		s.send = append(s.send, c.bytes())
		s.want = append(s.want, expect{c.xid, []string{"SUCCESS"}})
	}
	return []step{s}
}

// replyToServer sends a reply, which has no call.
func replyToServer(t *Target) []step {
	xid := t.null().xid
	return []step{{send: [][]byte{words(nil, xid, typeReply, 0, 0, 0, 0)}, want: []expect{{xid, []string{noReply, closed}}}}}
}
