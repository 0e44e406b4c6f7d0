package trace

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// FuzzEvent formats arbitrary events. The result is one line without control characters,
// which names the event's kind.
//
//fuzz:floor 300 it formats and parses JSON
func FuzzEvent(f *testing.F) {
	for k := range uint8(len(kindNames) + 1) {
		f.Add(k, uint32(3), uint64(7), uint8(1), uint8(2), 64, "127.0.0.1:1", "mem0", "")
		f.Add(k, uint32(0), uint64(0), uint8(9), uint8(0), -1, "[::1%\n]:1", "mem\x1b[31m", "no such key\nat all")
	}
	f.Fuzz(func(t *testing.T, kind uint8, num uint32, id uint64, op, status uint8, length int, addr, device, fault string) {
		e := Event{
			Seq: id, Device: device, Kind: Kind(kind), CQ: num, QP: num >> 1, WRID: id, Opcode: verbs.Opcode(op), Flags: verbs.SendFlags(status),
			RKey: num, RemoteAddr: id, InvalidateRKey: num, Access: verbs.Access(op), Length: length, Elements: length, Head: addr,
			Status: verbs.Status(status), WCOpcode: verbs.WCOpcode(op), Solicited: op&1 == 1, Addr: addr, Depth: length, Resources: length,
		}
		if fault != "" {
			e.Err = errors.New(fault)
		}
		line := e.String()
		if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("byte %d of %q does not print", i, line)
		}
		if !strings.Contains(line, e.Kind.String()) {
			t.Errorf("%q does not name %v", line, e.Kind)
		}
	})
}
