package cases

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"time"
)

// memoryProbes access memory of rping, because the kernel's server gives no STag to its peers.
// rping's client says in its first message where its buffer is, and then waits.
func memoryProbes(t *T) {
	type target struct {
		stag uint32
		base uint64
		size uint32
	}
	write := func(w *wire, stag uint32, to uint64, n int) {
		w.put(segment{tagged: true, last: true, op: opWrite, stag: stag, to: to, payload: make([]byte, n)})
	}
	list := []struct {
		probe
		send func(w *wire, m target)
	}{
		{
			probe{
				what: "a Read of 60000 bytes within the region", rule: "RFC 5040 §5.3.2", expected: "Read Responses of these bytes",
				allowed: []string{"60000 bytes read"},
			},
			func(w *wire, m target) { w.put(readRequest(1, m.size, m.stag, m.base)) },
		},
		{
			probe{what: "a Write that ends beyond the region", rule: "RFC 5041 §7.2", expected: "Terminate DDP, base or bounds (`1101`); closed", allowed: ends(0x1101)},
			func(w *wire, m target) { write(w, m.stag, m.base+uint64(m.size)-4, 8) },
		},
		{
			probe{what: "a Write that begins before the region", rule: "RFC 5041 §7.2", expected: "Terminate DDP, base or bounds (`1101`); closed", allowed: ends(0x1101)},
			func(w *wire, m target) { write(w, m.stag, m.base-4, 8) },
		},
		{
			probe{what: "a Write whose tagged offset wraps", rule: "RFC 5041 §7.2", expected: "Terminate DDP, TO wrap or base or bounds; closed", allowed: ends(0x1103, 0x1101)},
			func(w *wire, m target) { write(w, m.stag, 1<<64-4, 8) },
		},
		{
			probe{what: "a Write with another key of the same STag index", rule: "RFC 5041 §7.2", expected: "Terminate DDP, invalid STag (`1100`); closed", allowed: ends(0x1100)},
			func(w *wire, m target) { write(w, m.stag^1, m.base, 8) },
		},
		{
			probe{what: "a Read that ends beyond the region", rule: "RFC 5040 §7.2", expected: "Terminate RDMAP, base or bounds (`0101`); closed", allowed: ends(0x0101)},
			func(w *wire, m target) { w.put(readRequest(1, 8, m.stag, m.base+uint64(m.size)-4)) },
		},
		{
			probe{what: "a Read whose tagged offset wraps", rule: "RFC 5040 §7.2", expected: "Terminate RDMAP, TO wrap or base or bounds; closed", allowed: ends(0x0104, 0x0101)},
			func(w *wire, m target) { w.put(readRequest(1, 8, m.stag, 1<<64-4)) },
		},
		{
			probe{
				what: "16 Reads at once of a peer with IRD 1", rule: "RFC 5040 §5.3.2, RFC 5041 §7.2",
				expected: "Terminate DDP, invalid MSN: no buffer (`1202`); closed", allowed: ends(0x1202, 0x1203),
			},
			func(w *wire, m target) {
				var b []byte
				for i := range uint32(16) {
					b = append(b, w.frame(readRequest(i+1, m.size, m.stag, m.base))...)
				}
				w.raw(b)
			},
		},
		{
			probe{what: "a Read with the second MSN first", rule: "RFC 5041 §7.2", expected: "Terminate DDP, invalid MSN (`1203`, or `1202`); closed", allowed: ends(0x1203, 0x1202)},
			func(w *wire, m target) { w.put(readRequest(2, 8, m.stag, m.base)) },
		},
	}
	ln, addr := t.Listen()
	host, port, err := net.SplitHostPort(addr)
	t.Must(err)
	deviations := 0
	for i, p := range list {
		saw := again(p.probe, func() string {
			client := t.Background("rping", "-c", "-a", host, "-p", port, "-C", "1", "-S", "60000")
			defer client.Stop()
			conn, err := ln.Accept()
			t.Must(err)
			acceptMPA(t, conn)
			w := newWire(t, conn, false, 1)
			defer w.close()
			first, ok := <-w.in
			if !ok || first.op != opSend || len(first.payload) < 16 {
				t.Fatalf("rping's first message: %+v", first)
			}
			m := target{base: binary.BigEndian.Uint64(first.payload), stag: binary.BigEndian.Uint32(first.payload[8:]), size: binary.BigEndian.Uint32(first.payload[12:])}
			p.send(w, m)
			if i == 0 {
				return readAll(t, w, int(m.size))
			}
			return withoutResponses(w.answer(false))
		})
		if reportProbe(t, p.probe, saw) {
			deviations++
		}
	}
	t.Say("%d probes, %d deviations", len(list), deviations)
}

// acceptMPA answers the request of siw with its own depths in each other's place, or with 1.
func acceptMPA(t *T, conn net.Conn) {
	t.Cleanup(func() { conn.Close() })
	t.Must(conn.SetDeadline(time.Now().Add(20 * time.Second)))
	head := make([]byte, len(mpaRequestKey)+4)
	_, err := io.ReadFull(conn, head)
	t.Must(err)
	data := make([]byte, binary.BigEndian.Uint16(head[len(head)-2:]))
	_, err = io.ReadFull(conn, data)
	t.Must(err)
	frame := head[len(mpaRequestKey):]
	t.Logf("MPA request %x %x", frame, data)
	reply := append([]byte(mpaReplyKey), frame[0], frame[1], 0, 0)
	if frame[0]&0x10 != 0 && len(data) >= 4 {
		reply[len(reply)-1] = 4
		reply = append(reply, data[2], data[3], data[0], data[1])
	}
	_, err = conn.Write(reply)
	t.Must(err)
	t.Must(conn.SetDeadline(time.Time{}))
}

// readAll awaits the Read Responses of n bytes.
func readAll(t *T, w *wire, n int) string {
	have := 0
	for s := range w.in {
		if s.op != opReadResponse {
			t.Fatalf("opcode %d, expected Read Responses", s.op)
		}
		have += len(s.payload)
		if s.last {
			break
		}
	}
	if have != n {
		return "another number of bytes read"
	}
	return "60000 bytes read"
}

// withoutResponses leaves out Read Responses: their number depends on the time.
func withoutResponses(saw string) string {
	var parts []string
	for p := range strings.SplitSeq(saw, "; ") {
		if !strings.Contains(p, "Read Response") {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "; ")
}
