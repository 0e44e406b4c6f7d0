package dissector_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// TestMutatedMessages gives Wireshark messages with bytes changed, words made huge, and ends cut
// off. No script fails, and the faults of dump are found among them.
func TestMutatedMessages(t *testing.T) {
	witness.Program(t, "tshark")
	m := &maker{Rand: rand.New(rand.NewPCG(5, 6))}
	all, scripts := exchanges(t, m, 20)
	var out bytes.Buffer
	file := pcapng.NewFile(&out, 0)
	mutated := 0
	for i := range 1000 {
		e := all[i%len(all)]
		conn := file.Connection(e.unit)
		// The header of the Call is whole, so that Wireshark finds the connection.
		conn.Segment(true, time.Time{}, record(m, m.mutate(e.call, 40)))
		conn.Segment(false, time.Time{}, record(m, m.mutate(e.reply, m.IntN(25))))
		mutated += 2
	}
	faults := []string{"short", "trailing", "bool", "padding", "bound", "enum", "union"}
	args := []string{"-T", "fields", "-e", "_ws.lua.error"}
	for _, unit := range order {
		args = append(args, "-e", unit+".rpc.xid")
		for _, fault := range faults {
			args = append(args, "-e", unit+".fault."+fault)
		}
	}
	lines := strings.Split(string(tshark.Run(t, tshark.Input{File: write(t, out.Bytes()), Scripts: scripts}, args...)), "\n")
	found := map[string]int{}
	messages := 0
	for i, line := range lines[:len(lines)-1] {
		for k, v := range strings.Split(line, "\t") {
			switch {
			case v == "":
			case k == 0:
				t.Fatalf("packet %d: %s", i+1, v)
			case (k-1)%(1+len(faults)) == 0:
				messages++
			default:
				found[faults[(k-1)%(1+len(faults))-1]]++
			}
		}
	}
	t.Logf("%d messages changed, %d shown, faults %v", mutated, messages, found)
	for _, fault := range faults {
		if found[fault] < 2 {
			t.Errorf("the fault %s was found %d times", fault, found[fault])
		}
	}
	if messages < mutated/2 {
		t.Errorf("Wireshark shows %d messages of %d", messages, mutated)
	}
}

// mutate returns a copy of a message that differs after the first bytes.
func (m *maker) mutate(message []byte, from int) []byte {
	b := slices.Clone(message)
	if len(b) <= from {
		return append(b, words(m.Uint32())...)
	}
	for range m.IntN(3) + 1 {
		at := from + m.IntN(len(b)-from)
		switch m.IntN(5) {
		case 0:
			b[at] = byte(m.Uint32())
		case 1:
			b = slices.Insert(b, at&^3, words(m.Uint32())...)
		case 2:
			if at &^= 3; at+4 <= len(b) {
				copy(b[at:], words([]uint32{0, 1, 5, 0xffffffff, 0x7fffffff, 0x10000}[m.IntN(6)]))
			}
		case 3:
			b[at]++
		case 4:
			b = b[:max(at, from)]
			if len(b) == from {
				return append(b, 0)
			}
		}
	}
	return b
}
