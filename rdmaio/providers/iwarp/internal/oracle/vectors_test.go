// Package oracle_test compares the packages of the provider with Wireshark: both read the same
// bytes.
package oracle_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
)

// write returns a capture of connections. Payloads are not RPC-over-RDMA: its dissector, which has
// no check of the length, is off.
func write(t *testing.T, connections ...[]piece) tshark.Input {
	t.Helper()
	var out bytes.Buffer
	file := pcapng.NewFile(&out, 0)
	at := time.Unix(1000, 0)
	for i, pieces := range connections {
		c := file.Connection(fmt.Sprintf("connection %d", i))
		for _, p := range pieces {
			at = at.Add(time.Millisecond)
			c.Segment(p.fromInitiator, at, p.data)
		}
	}
	name := filepath.Join(t.TempDir(), "capture.pcapng")
	if err := errors.Join(file.Err(), os.WriteFile(name, out.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return tshark.Input{File: name, Args: []string{"--disable-protocol", "rpcordma"}}
}

// cut returns the pieces in TCP segments of at most n bytes. The frames of the set-up stay whole,
// because Wireshark looks for them in single segments.
func cut(pieces []piece, n int) (all []piece) {
	for _, p := range pieces {
		if bytes.HasPrefix(p.data, []byte("MPA ID Re")) {
			all = append(all, p)
			continue
		}
		for c := range slices.Chunk(p.data, n) {
			all = append(all, piece{p.fromInitiator, c})
		}
	}
	return all
}

// compare compares what the packages and Wireshark read of each connection. It returns how often
// each opcode came, as Wireshark numbers it, and each kind of frame.
func compare(t *testing.T, names []string, connections [][]piece) (seen map[string]int) {
	t.Helper()
	seen = map[string]int{}
	in := write(t, connections...)
	found := shown(t, in, len(connections))
	for i, pieces := range connections {
		want := read(t, pieces)
		for d, name := range []string{"responder", "initiator"} {
			if diff := cmp.Diff(want[d], found[i][d]); diff != "" {
				t.Errorf("%s, %s (-ours +Wireshark's):\n%s", names[i], name, diff)
			}
			for _, u := range found[i][d] {
				seen["opcode "+u["iwarp_rdma.opcode"]]++
				seen["revision "+u["iwarp_mpa.rev"]]++
				seen["reject "+u["iwarp_mpa.rej_flag"]]++
			}
		}
	}
	if text := tshark.Complaints(t, in, ""); text != "" {
		t.Errorf("Wireshark complains:\n%s", text)
	}
	return seen
}

// requireAll reports what a run did not have.
func requireAll(t *testing.T, seen map[string]int, want ...string) {
	t.Helper()
	for _, w := range want {
		if seen[w] == 0 {
			t.Errorf("there was no %s", w)
		}
	}
}

// opcodes are those of RFC 5040, without 6, which the acceptance suite does not have.
var opcodes = []string{"opcode 0", "opcode 1", "opcode 2", "opcode 3", "opcode 4", "opcode 5", "opcode 7"}

// Every field of every vector is the same for both readers, in any TCP segments.
func TestBothReadersAgreeOnVectors(t *testing.T) {
	all, err := stranger.Vectors()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var connections [][]piece
	for _, v := range all {
		var pieces []piece
		for _, s := range v.Steps {
			if b := v.Expand(s); len(b) > 0 {
				pieces = append(pieces, piece{s.Initiator, b})
			}
		}
		for _, n := range []int{1460, 9} {
			names = append(names, fmt.Sprintf("%s in segments of %d bytes", v.Name, n))
			connections = append(connections, cut(pieces, n))
		}
	}
	seen := compare(t, names, connections)
	requireAll(t, seen, append(opcodes, "opcode 6", "revision 1", "revision 2", "reject 1")...)
}
