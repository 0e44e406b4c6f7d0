package wireshark_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// Every tshark command of the page runs, and prints something where the capture has what it looks
// for. Every preference and field that the page names exists.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/wireshark.md")
	if err != nil {
		t.Fatal(err)
	}
	whole := base(t)
	name := write(t, 0, append(whole[:13:13], whole[14])) // a segment is missing
	dir := filepath.Dir(name)
	if err := os.Rename(name, filepath.Join(dir, "rdma.pcap")); err != nil {
		t.Fatal(err)
	}
	// The page also has captures of the reader's own programs.
	for _, own := range []string{"notes.pcap", "notes.pcapng"} {
		if err := os.Symlink("rdma.pcap", filepath.Join(dir, own)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "tools"), filepath.Join(dir, "tools")); err != nil {
		t.Fatal(err)
	}
	witness.Program(t, "tshark")
	script := exec.Command(witness.Program(t, "go"), "run", "./cmd/xdrgen", "wireshark", "-o", filepath.Join(dir, "notes.lua"), "examples/notes/notes.x")
	script.Dir = root
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	commands := 0
	for _, line := range strings.Split(string(page), "\n") {
		line, ok := strings.CutPrefix(line, "    tshark ")
		if !ok {
			continue
		}
		commands++
		cmd := exec.Command(witness.Program(t, "sh"), "-c", "tshark "+line)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
		if out, err := cmd.Output(); err != nil || strings.Contains(string(out), "Lua") || strings.Contains(line, "rdmatcp && _ws.expert") && !strings.Contains(string(out), "offset_not_next") {
			t.Errorf("tshark %s: %v\n%s", line, err, out)
		}
	}
	if commands < 4 {
		t.Errorf("the page has %d commands, want 4", commands)
	}
	for _, field := range numberFields {
		if !strings.Contains(string(page), "`"+field+"`") {
			t.Errorf("the page does not have the field %s", field)
		}
	}
}

// The preferences have their effects.
func TestPreferences(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Wireshark eight times")
	}
	whole := base(t)
	damaged := slices.Clone(whole[2].data)
	damaged[len(damaged)-1] ^= 1
	name := write(t, 0, append(whole[:2:2], piece{false, damaged}))
	for _, tt := range []struct{ pref, status, rule string }{{"TRUE", "0", "bad_crc"}, {"FALSE", "2", ""}} {
		p := segments(t, name, "-o", "rdmatcp.crc:"+tt.pref)[2]
		if p.One("rdmatcp.crc.status") != tt.status || brokenRules(p) != tt.rule {
			t.Errorf("rdmatcp.crc %s: status %s and rule %q, want %s and %q", tt.pref, p.One("rdmatcp.crc.status"), brokenRules(p), tt.status, tt.rule)
		}
	}
	late := write(t, 0, whole[15:])
	for _, tt := range []struct{ pref, key string }{{"TRUE", "0x0000cafe"}, {"FALSE", ""}} {
		if p := segments(t, late, "-o", "rdmatcp.profile:"+tt.pref)[0]; p.One("rdmatcp.invalidate") != tt.key {
			t.Errorf("rdmatcp.profile %s: invalidated key %q, want %q", tt.pref, p.One("rdmatcp.invalidate"), tt.key)
		}
	}
	// A connection on the port, until another port is chosen.
	part := write(t, 0, []piece{{false, whole[15].data[:1000]}, {false, whole[15].data[1000:]}})
	for port, want := range map[string]int{"20049": 1, "1-65535": 1, "20050": 0, "": 0} {
		if found := segments(t, part, "-o", "rdmatcp.ports:"+port); len(found) != want {
			t.Errorf("rdmatcp.ports %q: %d segments, want %d", port, len(found), want)
		}
	}
}

// Ports that are used again begin a new connection.
func TestPortsUsedAgain(t *testing.T) {
	again := slices.Clone(base(t)[:4])
	for i := range again {
		b := slices.Clone(again[i].data)
		b[4]++ // Connection ID
		again[i].data = sealed(b, segment.Type(b[1]&3).HeaderSize())
	}
	found := segments(t, write(t, 0, append(base(t)[:4:4], again...)))
	for i, p := range found {
		if rule := brokenRules(p); rule != "" {
			t.Errorf("segment %d: %s", i, rule)
		}
	}
	if len(found) != 8 || found[5].Fields["rdmatcp.hello"] == nil {
		t.Errorf("%d segments", len(found))
	}
}
