package capture_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/capturetest"
)

// numbered returns an untagged segment with a message sequence number and an offset, with a CRC or
// without.
func numbered(op byte, queue, msn, offset uint32, data string, crc bool) string {
	b := []byte(fpdu("\x41" + string(0x40|rune(op)) + capturetest.Words(0, queue, msn, offset) + data))
	if !crc {
		binary.BigEndian.PutUint32(b[len(b)-4:], 0)
	}
	return string(b)
}

// A capture that begins within a connection of iWARP has FPDUs that look like a long fragment: a
// first Read Request like one of a reply, and a second Send like one of a Call.
func TestCaptureBeginsWithinIWARP(t *testing.T) {
	request := capturetest.Words(50, 0, 0, 20, 7, 0, 100)
	send := header(2, 0, 0, 0, 0) + capturetest.Call(2, 99, 2, 4, "")
	before := header(1, 0, 0, 0, 0) + capturetest.Call(1, 99, 2, 4, "")
	for name, c := range map[string]struct {
		first func(crc bool) string
		crc   bool
	}{
		"a Read Request":             {func(crc bool) string { return numbered(1, 1, 1, 0, request, crc) }, true},
		"a Read Request without CRC": {func(crc bool) string { return numbered(1, 1, 1, 0, request, crc) }, false},
		"a Send without CRC":         {func(crc bool) string { return numbered(3, 0, 2, 0, before, crc) }, false},
		"the rest of a Send":         {func(crc bool) string { return numbered(3, 0, 2, 1000, send[:40], crc) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			k := talk{from: "10.0.0.9:40000"}
			k.says(c.first(c.crc))
			k.says(numbered(3, 0, 3, 0, send, c.crc))
			k.answers(numbered(3, 0, 3, 0, header(2, 0, 0, 0, 0)+capturetest.Reply(2, "good"), c.crc))
			f, err := run(t, capturetest.File(k.packets...), capture.Limits{})
			if err != nil {
				t.Error(err)
			}
			if !slices.Contains(f.lines, `1 iwarp xid 2 call 99.2.4 "" at 1-1 SUCCESS "good" at 2-2`) {
				t.Errorf("found %q", f.lines)
			}
		})
	}
}

// Replies that deny a Call are found.
func TestDeniedRepliesAreFound(t *testing.T) {
	var k talk
	k.answers(capturetest.Record(capturetest.Words(1, 1, 1, 0, 2, 2)))
	k.answers(capturetest.Record(capturetest.Words(2, 1, 1, 1, 5)))
	f, err := run(t, capturetest.File(k.packets...), capture.Limits{})
	if err != nil {
		t.Error(err)
	}
	same(t, f, `1 tcp xid 1 RPC_MISMATCH (2 to 2) "" at 0-0`, `1 tcp xid 2 AUTH_ERROR AUTH_TOOWEAK "" at 1-1`)
}
