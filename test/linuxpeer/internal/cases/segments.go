package cases

import (
	"fmt"
	"slices"
	"time"
)

// deviationCases send forbidden and unusual messages to siw and to the server of the kernel.
func deviationCases() []Case {
	return []Case{
		{Name: "deviations/segments", Run: func(t *T) { terminateBytes(t); runProbes(t, segmentProbes()) }, Timeout: 3 * time.Minute},
		{Name: "deviations/memory", Run: memoryProbes, Timeout: 2 * time.Minute},
		{Name: "deviations/headers", Run: func(t *T) { runProbes(t, headerProbes()) }, Timeout: 3 * time.Minute},
		{Name: "deviations/chunks", Run: func(t *T) { runProbes(t, chunkProbes()) }, Timeout: 3 * time.Minute},
		{Name: "deviations/results", Run: resultProbes, Timeout: time.Minute},
		{Name: "deviations/kernel-faults", Run: kernelFaults, Own: true, Timeout: time.Minute},
	}
}

// ends returns the answers on a connection that is closed with one of the errors.
func ends(codes ...uint16) []string {
	var list []string
	for _, c := range codes {
		list = append(list, terminate(c)+"; "+closed)
	}
	return list
}

// call returns the RPC-over-RDMA message of NULL.
func call() []byte {
	return append(words(probeXID, 1, 32, 0, 0, 0, 0), nullCall(probeXID, 100003, 3)...)
}

const nullAnswered = "RDMA_MSG, SUCCESS; " + goesOn

// segmentProbes are faults of MPA, DDP and RDMAP.
func segmentProbes() []probe {
	// one writes one segment, which change makes from the Send of NULL.
	one := func(change func(s *segment)) func(w *wire) {
		return func(w *wire) {
			s := w.next(call())
			change(&s)
			w.put(s)
		}
	}
	parts := func(n int, change func(i int, s *segment)) func(w *wire) {
		return func(w *wire) {
			s := w.next(make([]byte, n))
			copy(s.payload, call())
			payload := s.payload
			for i, mo := 0, 0; mo < n; i++ {
				s.mo, s.payload = uint32(mo), payload[mo:min(mo+1400, n)]
				mo += len(s.payload)
				s.last = mo == n
				part := s
				change(i, &part)
				w.put(part)
			}
		}
	}
	none := func(int, *segment) {}
	return []probe{
		{
			what: "MPA: wrong CRC", rule: "RFC 5044 §8", expected: "Terminate MPA, CRC error (`2002`); closed", allowed: ends(0x2002), crc: true,
			send: func(w *wire) {
				b := w.frame(w.next(call()))
				b[len(b)-1] ^= 1
				w.raw(b)
			},
		},
		{
			what: "MPA: ULPDU_Length 2, less than a DDP header", rule: "RFC 5041 §4", expected: "closed, with a Terminate or without",
			allowed: append(ends(0x2003), closed),
			send:    func(w *wire) { w.raw(fpdu([]byte{0x41, 0x43}, false)) },
		},
		{
			what: "MPA: padding that is not zero", rule: "RFC 5044 §4.1", expected: "padding is ignored", allowed: []string{nullAnswered},
			send: func(w *wire) {
				s := w.next(call())
				first, second := s, s
				first.payload, first.last = s.payload[:63], false
				second.payload, second.mo = s.payload[63:], 63
				b := w.frame(first)
				for i := 2 + 18 + 63; i < len(b)-4; i++ {
					b[i] = 0xff
				}
				w.raw(append(b, w.frame(second)...))
			},
		},
		{
			what: "DDP: version 0, untagged", rule: "RFC 5041 §7.2", expected: "Terminate DDP, invalid version (`1206`); closed", allowed: ends(0x1206),
			send: one(func(s *segment) { s.ddpVersion = 1 }),
		},
		{
			what: "DDP: version 2, tagged", rule: "RFC 5041 §7.2", expected: "Terminate DDP, invalid version (`1104`); closed", allowed: ends(0x1104),
			send: func(w *wire) { w.put(segment{tagged: true, last: true, op: opWrite, stag: 1, ddpVersion: 3}) },
		},
		{
			what: "DDP and RDMAP: reserved bits set", rule: "RFC 5041 §4.1, RFC 5040 §4.1", expected: "not checked", allowed: []string{nullAnswered},
			send: one(func(s *segment) { s.reserved = true }),
		},
		{
			what: "RDMAP: version 0", rule: "RFC 5040 §4.8", expected: "Terminate RDMAP, invalid version (`0205`); closed", allowed: ends(0x0205),
			send: one(func(s *segment) { s.rdmapVersion = 1 }),
		},
		{
			what: "RDMAP: version 2", rule: "RFC 5040 §4.8", expected: "Terminate RDMAP, invalid version (`0205`); closed", allowed: ends(0x0205),
			send: one(func(s *segment) { s.rdmapVersion = 3 }),
		},
		{
			what: "RDMAP: opcode 8", rule: "RFC 5040 §4.8", expected: "Terminate RDMAP, unexpected opcode (`0206`); closed", allowed: ends(0x0206),
			send: one(func(s *segment) { s.op = 8 }),
		},
		{
			what: "RDMAP: opcode 15", rule: "RFC 5040 §4.8", expected: "Terminate RDMAP, unexpected opcode (`0206`); closed", allowed: ends(0x0206),
			send: one(func(s *segment) { s.op = 15 }),
		},
		{
			what: "RDMAP: a Send in a tagged segment", rule: "RFC 5040 §4.1", expected: "Terminate, an error of the opcode or the STag; closed", allowed: ends(0x0206, 0x1100),
			send: func(w *wire) { w.put(segment{tagged: true, last: true, op: opSend, stag: 1, payload: make([]byte, 8)}) },
		},
		{
			what: "DDP: queue 3", rule: "RFC 5041 §7.2", expected: "Terminate DDP, invalid QN (`1201`); closed", allowed: ends(0x1201),
			send: one(func(s *segment) { s.qn = 3 }),
		},
		{
			what: "DDP: a Send in the queue of Read Requests", rule: "RFC 5040 §5", expected: "Terminate, an error of the queue or the opcode; closed", allowed: ends(0x1201, 0x0206),
			send: one(func(s *segment) { s.qn, s.msn = queueRead, 1 }),
		},
		{
			what: "DDP: an MSN left out", rule: "RFC 5041 §7.2", expected: "Terminate DDP, invalid MSN (`1203`, or `1202`); closed", allowed: ends(0x1203, 0x1202),
			send: one(func(s *segment) { s.msn++ }),
		},
		{
			what: "DDP: an MSN used before", rule: "RFC 5041 §7.2", expected: "Terminate DDP, invalid MSN (`1203`); closed", allowed: ends(0x1203, 0x1202),
			send: one(func(s *segment) { s.msn-- }),
		},
		{
			what: "DDP: an MSN beyond all buffers", rule: "RFC 5041 §7.2", expected: "Terminate DDP, invalid MSN (`1202`, or `1203`); closed", allowed: ends(0x1202, 0x1203),
			send: one(func(s *segment) { s.msn += 1000 }),
		},
		{
			what: "DDP: MO 4 in the first segment", rule: "RFC 5041 §7.2", expected: "Terminate DDP, invalid MO (`1204`); closed", allowed: ends(0x1204),
			send: one(func(s *segment) { s.mo = 4 }),
		},
		{
			what: "DDP: an MO that skips bytes of a message", rule: "RFC 5041 §7.2", expected: "Terminate DDP, invalid MO (`1204`); closed", allowed: ends(0x1204),
			send: parts(2000, func(i int, s *segment) { s.mo += uint32(4 * i) }),
		},
		{
			what: "DDP: the next message begins before the last segment of one", rule: "RFC 5041 §5.3",
			expected: "Terminate DDP, invalid MSN or MO; closed", allowed: ends(0x1203, 0x1202, 0x1204),
			send: func(w *wire) {
				s := w.next(call())
				s.last = false
				w.put(s)
				w.send(call())
			},
		},
		{
			what: "a Send of 4096 bytes, as long as the Receive", rule: "RFC 8797 §4", expected: "accepted", allowed: []string{nullAnswered},
			send: parts(4096, none),
		},
		{
			what: "a Send of 4100 bytes, longer than the Receive", rule: "RFC 5041 §7.2", expected: "Terminate DDP, message too long (`1205`); closed", allowed: ends(0x1205),
			send: parts(4100, none),
		},
		{
			what: "a Write to an STag that does not exist", rule: "RFC 5041 §7.2", expected: "Terminate DDP, invalid STag (`1100`); closed", allowed: ends(0x1100),
			send: func(w *wire) {
				w.put(segment{tagged: true, last: true, op: opWrite, stag: 0x12345678, payload: make([]byte, 8)})
			},
		},
		{
			what: "a Write of no bytes to an STag that does not exist", rule: "RFC 5041 §7.1", expected: "not checked", allowed: []string{nullAnswered},
			send: func(w *wire) {
				w.put(segment{tagged: true, last: true, op: opWrite, stag: 0x12345678})
				w.send(call())
			},
		},
		{
			what: "a Read Request of an STag that does not exist", rule: "RFC 5040 §7.2", expected: "Terminate RDMAP, invalid STag (`0100`); closed", allowed: ends(0x0100),
			send: func(w *wire) { w.put(readRequest(1, 8, 0x12345678, 0)) },
		},
		{
			what: "a Read Request of no bytes of an STag that does not exist", rule: "RFC 5040 §7.2", expected: "not checked: a Read Response of 0 bytes",
			allowed: []string{"Read Response of 0 bytes; " + goesOn},
			// The reply to NULL before it has 52 bytes.
			varies: []string{"Read Response of 0 bytes; " + goesOn, "Read Response of 52 bytes; " + goesOn},
			saw:    "a Read Response of 0 bytes, or of the bytes that siw sent in the message before it; " + goesOn,
			send:   func(w *wire) { w.put(readRequest(1, 0, 0x12345678, 0)) },
		},
		{
			what: "a Read Request of 20 bytes instead of 28", rule: "RFC 5040 §4.4", expected: "Terminate; closed",
			allowed: slices.Concat(ends(0x2003, 0x1205, 0x1204, 0x02ff, 0x0207), []string{closed}),
			send: func(w *wire) {
				s := readRequest(1, 0, 1, 0)
				s.payload = s.payload[:20]
				w.put(s)
			},
		},
		{
			what: "a Read Response that was not requested", rule: "RFC 5040 §7.2", expected: "Terminate, an error of the STag or the opcode; closed", allowed: ends(0x1100, 0x0206),
			send: func(w *wire) {
				w.put(segment{tagged: true, last: true, op: opReadResponse, stag: 0x12345678, payload: make([]byte, 8)})
			},
		},
		{
			what: "a Send with Invalidate of an STag that does not exist", rule: "RFC 5040 §7.2",
			expected: "Terminate RDMAP, invalid STag or STag cannot be invalidated; closed", allowed: ends(0x0100, 0x0109, 0x0209),
			send: one(func(s *segment) { s.op, s.stag = opSendInvalidate, 0x12345678 }),
		},
		{
			what: "a Terminate from the peer", rule: "RFC 5040 §5.2.2", expected: "closed, without a Terminate", allowed: []string{closed},
			send: func(w *wire) {
				w.put(segment{op: opTerminate, last: true, qn: queueTerminate, msn: 1, payload: unhex("02ff 0000")})
			},
		},
	}
}

// terminateBytes reports how siw writes a Terminate. All other rows have its meaning.
func terminateBytes(t *T) {
	w := dialWire(t, false)
	defer w.close()
	s := w.next(call())
	s.qn = 3
	w.put(s)
	got, ok := <-w.in
	if !ok {
		t.Fatalf("no Terminate")
	}
	if got.op != opTerminate || len(got.payload) < 4 {
		t.Fatalf("opcode %d with %x, expected a Terminate", got.op, got.payload)
	}
	const want = "1201c000"
	saw, deviation := fmt.Sprintf("`%x`", got.payload[:4]), false
	if saw != "`"+want+"`" {
		saw, deviation = saw+": layer and error type have changed places, and the header bits are at the other end; rows below have the meaning", true
	}
	t.Report(Finding{
		What: "the first four bytes of a Terminate for an invalid queue", Rule: "RFC 5040 §4.8",
		Expected: "`" + want + "`: layer 1, type 2, code 1, M and D", Saw: saw, Deviation: deviation,
	})
}

// readRequest returns a Read Request into an STag that the peer does not interpret.
func readRequest(msn, size, stag uint32, to uint64) segment {
	return segment{
		op: opReadRequest, last: true, qn: queueRead, msn: msn,
		payload: words(1, 0, 0, size, stag, uint32(to>>32), uint32(to)),
	}
}
