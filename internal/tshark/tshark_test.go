package tshark_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
)

// capture returns a capture of a DNS query over TCP, and of the same with a byte too few.
func capture(t *testing.T) tshark.Input {
	t.Helper()
	var out bytes.Buffer
	file := pcapng.NewFile(&out, 0)
	query := []byte("\x00\x11\x00\x2a\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01")
	file.Connection("right").Segment(true, time.Unix(1, 0), query)
	short := slices.Clone(query[:len(query)-1])
	short[1]--
	file.Connection("short").Segment(true, time.Unix(2, 0), short)
	name := filepath.Join(t.TempDir(), "dns.pcapng")
	if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return tshark.Input{File: name, Args: []string{"-d", "tcp.port==20049,dns"}}
}

// Parts has the fields of each protocol, with their values.
func TestParts(t *testing.T) {
	parts := tshark.Parts(t, capture(t))
	dns := tshark.Only(parts, "dns")
	if len(dns) != 2 {
		t.Fatalf("%d DNS messages, want 2", len(dns))
	}
	if p := dns[0]; p.Packet != 1 || p.Number(t, "dns.id") != 42 || p.One("dns.count.queries") != "1" || p.One("no.such") != "" {
		t.Errorf("%+v", p)
	}
	if got := tshark.Only(parts, "tcp")[1].Numbers(t, "tcp.dstport"); !slices.Equal(got, []uint64{20049}) {
		t.Errorf("destination port %v, want 20049", got)
	}
}

// Complaints has the malformed packet alone, unless it is excepted.
func TestComplaints(t *testing.T) {
	in := capture(t)
	if got := tshark.Complaints(t, in, ""); bytes.Count([]byte(got), []byte("\n")) != 1 {
		t.Errorf("found %q, want one line", got)
	}
	if got := tshark.Complaints(t, in, "frame.number == 2"); got != "" {
		t.Errorf("found %q, want none", got)
	}
}
