package conform

import (
	"fmt"
	"slices"
)

// Reply is a test of a client: what a call of procedure TRY gets, and the outcomes that the
// documents allow.
type Reply struct {
	Name    string
	Section string
	On      Carrier

	allowed []string
	acts    func(c *incoming) []act
}

// Allows reports whether the documents allow an outcome, such as "RESULT" or "no reply".
func (r *Reply) Allows(outcome string) bool {
	e := expect{allowed: r.allowed}
	return e.allows(outcome)
}

// act is a part of an answer.
type act struct {
	send  []byte // a message, or if raw is set bytes as they are
	raw   bool
	close bool // the connection, over TCP
}

// Outcomes that a client reports, besides the refusals.
const (
	gotResult  = "RESULT"
	gotOther   = "another result"
	gotFault   = "a faulty reply"
	gotLost    = "a lost connection"
	gotNothing = "no reply"
	noReport   = "no report"
)

// unusable are the outcomes of a reply that a client cannot use: never a result.
var unusable = []string{gotFault, gotLost, gotNothing}

// answerText is the data in the right result.
const answerText = "right answer"

// result returns the right result of a case.
func (c *incoming) result() []byte {
	return append(words(nil, c.number), opaque([]byte(answerText))...)
}

// accepted returns an accepted reply with a status and what follows.
func (c *incoming) accepted(stat uint32, rest ...byte) []byte {
	return append(words(nil, c.xid, typeReply, 0, 0, 0, stat), rest...)
}

// good returns the right reply.
func (c *incoming) good() []byte { return c.accepted(0, c.result()...) }

// wrong returns a reply with a wrong result, under another XID.
func (c *incoming) wrong(xid uint32) []byte {
	b := c.accepted(0, append(words(nil, c.number+1), opaque([]byte("wrong answer"))...)...)
	return append(words(nil, xid), b[4:]...)
}

// RepliesOver returns the cases of a carrier, in order.
func RepliesOver(carrier Carrier) []Reply {
	return slices.DeleteFunc(Replies(), func(r Reply) bool { return r.On&carrier == 0 })
}

// Replies returns all cases with clients, in order.
func Replies() []Reply {
	var list []Reply
	messages := func(name, section string, f func(c *incoming) [][]byte, allowed ...string) {
		list = append(list, Reply{Name: "reply/" + name, Section: section, On: all, allowed: allowed, acts: func(c *incoming) (acts []act) {
			for _, b := range f(c) {
				acts = append(acts, act{send: b})
			}
			return acts
		}})
	}
	one := func(name, section string, f func(c *incoming) []byte, allowed ...string) {
		messages(name, section, func(c *incoming) [][]byte { return [][]byte{f(c)} }, allowed...)
	}
	one("good", "RFC 5531 §9", (*incoming).good, gotResult)
	messages("other-xid-first", "RFC 5531 §9", func(c *incoming) [][]byte { return [][]byte{c.wrong(c.xid ^ 0x5a5a), c.good()} }, gotResult)
	messages("earlier-xid-first", "RFC 5531 §9", func(c *incoming) [][]byte { return [][]byte{c.wrong(c.before), c.good()} }, gotResult)
	messages("twice", "RFC 5531 §9", func(c *incoming) [][]byte { return [][]byte{c.good(), c.good()} }, gotResult)
	one("other-xid-alone", "RFC 5531 §9", func(c *incoming) []byte { return c.wrong(c.xid ^ 0x5a5a) }, gotNothing, gotLost)
	messages("call-first", "RFC 5531 §9", func(c *incoming) [][]byte {
		return [][]byte{call{xid: c.xid, rpc: rpcVersion, prog: c.prog, vers: c.vers}.bytes(), c.good()}
	}, append([]string{gotResult}, unusable...)...)
	messages("type-2-first", "RFC 5531 §9", func(c *incoming) [][]byte { return [][]byte{words(nil, c.xid, 2, 0, 0, 0, 0), c.good()} }, append([]string{gotResult}, unusable...)...)
	statuses(one)
	for n := 4; n < 24; n += 4 {
		one(fmt.Sprintf("first-%d-bytes", n), "RFC 5531 §9", func(c *incoming) []byte { return c.good()[:n] }, unusable...)
	}
	results(one)
	return append(list, recordReplies()...)
}

// statuses adds a reply of each status (RFC 5531 §9).
func statuses(one func(name, section string, f func(c *incoming) []byte, allowed ...string)) {
	const section = "RFC 5531 §9"
	for stat := uint32(1); stat < 6; stat++ {
		if stat != 2 {
			one("status-"+acceptNames[stat], section, func(c *incoming) []byte { return c.accepted(stat) }, acceptNames[stat])
		}
	}
	one("status-PROG_MISMATCH", section, func(c *incoming) []byte { return c.accepted(2, words(nil, 3, 5)...) }, "PROG_MISMATCH 3 to 5")
	one("accept-stat-6", section, func(c *incoming) []byte { return c.accepted(6) }, unusable...)
	one("accept-stat-largest", section, func(c *incoming) []byte { return c.accepted(1<<32 - 1) }, unusable...)
	one("reply-stat-2", section, func(c *incoming) []byte { return words(nil, c.xid, typeReply, 2, 0, 0, 0) }, unusable...)
	one("status-RPC_MISMATCH", section, func(c *incoming) []byte { return words(nil, c.xid, typeReply, 1, 0, 3, 5) }, "RPC_MISMATCH 3 to 5")
	one("reject-stat-2", section, func(c *incoming) []byte { return words(nil, c.xid, typeReply, 1, 2, 0) }, unusable...)
	for why := 1; why < len(authNames); why++ {
		one("status-"+authNames[why], section, func(c *incoming) []byte { return words(nil, c.xid, typeReply, 1, 1, uint32(why)) }, "AUTH_ERROR "+authNames[why])
	}
	one("auth-stat-99", section, func(c *incoming) []byte { return words(nil, c.xid, typeReply, 1, 1, 99) }, append([]string{"AUTH_ERROR 99"}, unusable...)...)
	one("denied-without-reason", section, func(c *incoming) []byte { return words(nil, c.xid, typeReply, 1) }, unusable...)
	one("mismatch-without-versions", section, func(c *incoming) []byte { return c.accepted(2) }, unusable...)
}

// results adds replies with verifiers and results at their bounds and beyond.
func results(one func(name, section string, f func(c *incoming) []byte, allowed ...string)) {
	verified := func(claim uint32, body int) func(c *incoming) []byte {
		return func(c *incoming) []byte {
			b := words(nil, c.xid, typeReply, 0, 0, claim)
			b = append(padded(append(b, make([]byte, body)...), body), words(nil, 0)...)
			return append(b, c.result()...)
		}
	}
	one("verifier-400", "RFC 5531 §8.2", verified(400, 400), append([]string{gotResult}, unusable...)...)
	one("verifier-401", "RFC 5531 §8.2", verified(401, 401), unusable...)
	one("verifier-longer-than-message", "RFC 5531 §8.2", verified(396, 0), unusable...)
	one("verifier-4-gib", "RFC 5531 §8.2", verified(1<<32-1, 0), unusable...)
	with := func(rest ...byte) func(c *incoming) []byte {
		return func(c *incoming) []byte { return c.accepted(0, append(words(nil, c.number), rest...)...) }
	}
	one("result-missing", "RFC 4506 §4", func(c *incoming) []byte { return c.accepted(0) }, unusable...)
	one("result-cut", "RFC 4506 §4", func(c *incoming) []byte { b := c.good(); return b[:len(b)-4] }, unusable...)
	one("result-over-the-bound", "RFC 4506 §4.10", with(opaque(make([]byte, 65))...), unusable...)
	one("result-longer-than-message", "RFC 4506 §4.10", with(words(nil, 64, 0)...), unusable...)
	one("result-2-gib", "RFC 4506 §4.10", with(words(nil, 1<<31, 0)...), unusable...)
	one("result-4-gib", "RFC 4506 §4.10", with(words(nil, 1<<32-1, 0)...), unusable...)
	one("result-followed-by-4-bytes", "RFC 5531 §9", func(c *incoming) []byte { return append(c.good(), 0, 0, 0, 0) }, append([]string{gotResult}, unusable...)...)
}

// recordReplies are the cases of record marking (RFC 5531 §11).
func recordReplies() []Reply {
	const section = "RFC 5531 §11"
	var list []Reply
	add := func(name string, f func(b []byte) []act, allowed ...string) {
		list = append(list, Reply{Name: "reply/record-" + name, Section: section, On: TCP, allowed: allowed, acts: func(c *incoming) []act { return f(c.good()) }})
	}
	raw := func(pieces ...[]byte) (acts []act) {
		for _, p := range pieces {
			acts = append(acts, act{send: p, raw: true})
		}
		return acts
	}
	for _, n := range []int{1, 4, 7} {
		add(fmt.Sprintf("fragments-of-%d", n), func(b []byte) []act { return raw(fragments(b, n)) }, gotResult)
	}
	add("byte-by-byte", func(b []byte) []act { return raw(split(record(b), 1)...) }, gotResult)
	add("empty-fragment-first", func(b []byte) []act { return raw(slices.Concat(mark(0, false), record(b))) }, gotResult)
	add("empty-fragment-last", func(b []byte) []act { return raw(slices.Concat(mark(len(b), false), b, mark(0, true))) }, gotResult)
	add("2-gib", func(b []byte) []act { return raw(append(mark(1<<31-1, true), b...)) }, append([]string{gotResult}, unusable...)...)
	add("cut-by-the-end", func(b []byte) []act { return append(raw(record(b)[:20]), act{close: true}) }, unusable...)
	add("mark-cut-by-the-end", func(b []byte) []act { return append(raw(record(b)[:2]), act{close: true}) }, unusable...)
	add("no-reply-but-the-end", func([]byte) []act { return []act{{close: true}} }, unusable...)
	add("no-rpc", func([]byte) []act { return raw([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }, unusable...)
	return list
}
