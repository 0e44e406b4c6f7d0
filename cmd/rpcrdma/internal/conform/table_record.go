package conform

import (
	"bytes"
	"fmt"
	"slices"
)

// recordCases are the cases of record marking (RFC 5531 §11).
func recordCases() []Case {
	var list []Case
	add := func(name string, pieces func(b []byte) [][]byte) {
		list = append(list, Case{Name: "record/" + name, Section: "RFC 5531 §11", On: TCP, steps: marked(pieces, "SUCCESS")})
	}
	for _, n := range []int{1, 3, 4, 7, 39} {
		add(fmt.Sprintf("fragments-of-%d", n), func(b []byte) [][]byte { return [][]byte{fragments(b, n)} })
	}
	add("byte-by-byte", func(b []byte) [][]byte { return split(record(b), 1) })
	add("mark-alone", func(b []byte) [][]byte { return [][]byte{mark(len(b), true), b} })
	add("mark-in-two-parts", func(b []byte) [][]byte { r := record(b); return [][]byte{r[:2], r[2:]} })
	add("empty-fragment-first", func(b []byte) [][]byte { return [][]byte{slices.Concat(mark(0, false), record(b))} })
	add("empty-fragment-last", func(b []byte) [][]byte { return [][]byte{slices.Concat(mark(len(b), false), b, mark(0, true))} })
	add("empty-fragment-between", func(b []byte) [][]byte {
		return [][]byte{slices.Concat(mark(8, false), b[:8], mark(0, false), record(b[8:]))}
	})
	list = append(list,
		Case{Name: "record/records-in-one-segment", Section: "RFC 5531 §11", On: TCP, steps: together},
		Case{Name: "record/empty", Section: "RFC 5531 §11", On: TCP, steps: emptyRecord},
		Case{Name: "record/empty-fragments-1000", Section: "RFC 5531 §11", On: TCP, steps: marked(func(b []byte) [][]byte {
			return [][]byte{append(bytes.Repeat(mark(0, false), 1000), record(b)...)}
		}, "SUCCESS", closed)},
		Case{Name: "record/2-gib", Section: "RFC 5531 §11", On: TCP, unusable: true, steps: marked(func(b []byte) [][]byte {
			return [][]byte{append(mark(1<<31-1, true), b...)}
		}, beforeEnd...)},
		Case{Name: "record/2-gib-in-a-second-fragment", Section: "RFC 5531 §11", On: TCP, unusable: true, steps: marked(func(b []byte) [][]byte {
			return [][]byte{slices.Concat(mark(len(b), false), b, mark(1<<31-1, true))}
		}, beforeEnd...)},
		Case{Name: "record/cut-by-the-end", Section: "RFC 5531 §11", On: TCP, unusable: true, steps: cutRecord(20)},
		Case{Name: "record/mark-cut-by-the-end", Section: "RFC 5531 §11", On: TCP, unusable: true, steps: cutRecord(2)},
		Case{Name: "record/no-rpc", Section: "RFC 5531 §11", On: TCP, unusable: true, steps: func(t *Target) []step {
			c := t.null()
			return []step{{send: [][]byte{[]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")}, raw: true, want: []expect{{c.xid, []string{noReply, closed}}}}}
		}},
	)
	return list
}

// beforeEnd are the answers to a call whose record does not end. A server that decodes while it
// reads may answer it.
var beforeEnd = []string{noReply, closed, "GARBAGE_ARGS", "SUCCESS"}

// marked sends a null call in pieces with marks.
func marked(pieces func(b []byte) [][]byte, allowed ...string) func(t *Target) []step {
	return func(t *Target) []step {
		c := t.null()
		return []step{{send: pieces(c.bytes()), raw: true, want: []expect{{c.xid, allowed}}}}
	}
}

// fragments returns a record in fragments of n bytes.
func fragments(b []byte, n int) (out []byte) {
	for part := range slices.Chunk(b, n) {
		last := &part[len(part)-1] == &b[len(b)-1]
		out = append(append(out, mark(len(part), last)...), part...)
	}
	return out
}

// split returns b in pieces of n bytes.
func split(b []byte, n int) [][]byte { return slices.Collect(slices.Chunk(b, n)) }

// together sends three records in one write.
func together(t *Target) []step {
	s := step{raw: true, send: [][]byte{nil}}
	for range 3 {
		c := t.null()
		s.send[0] = append(s.send[0], record(c.bytes())...)
		s.want = append(s.want, expect{c.xid, []string{"SUCCESS"}})
	}
	return []step{s}
}

// emptyRecord sends a record without bytes.
func emptyRecord(t *Target) []step {
	return []step{{raw: true, send: [][]byte{mark(0, true)}, want: []expect{{t.null().xid, []string{noReply, closed}}}}}
}

// cutRecord sends the first bytes of a record, and then the end of the stream.
func cutRecord(n int) func(t *Target) []step {
	return func(t *Target) []step {
		c := t.null()
		return []step{{raw: true, end: true, send: [][]byte{record(c.bytes())[:n]}, want: []expect{{c.xid, []string{noReply, closed}}}}}
	}
}

// datagramCases are the cases of UDP (RFC 5531 §10).
func datagramCases() []Case {
	return []Case{
		{Name: "datagram/same-call-twice", Section: "RFC 5531 §10", On: UDP, steps: func(t *Target) []step {
			c := t.null()
			return []step{{send: [][]byte{c.bytes(), c.bytes()}, want: []expect{{c.xid, []string{"SUCCESS"}}}}}
		}},
		{Name: "datagram/record-mark", Section: "RFC 5531 §11", On: UDP, steps: func(t *Target) []step {
			c := t.null()
			return []step{{send: [][]byte{record(c.bytes())}, want: []expect{{c.xid, []string{noReply}}}}}
		}},
		{Name: "datagram/two-calls", Section: "RFC 5531 §10", On: UDP, steps: func(t *Target) []step {
			a, b := t.null(), t.null()
			return []step{{send: [][]byte{append(a.bytes(), b.bytes()...)}, want: []expect{
				{a.xid, []string{"SUCCESS", "GARBAGE_ARGS", noReply}}, {b.xid, []string{noReply}},
			}}}
		}},
	}
}
