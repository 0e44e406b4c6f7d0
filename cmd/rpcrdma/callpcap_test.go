package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
)

// TestCallWritesACaptureOverTCP checks that -pcap has the Call and the Reply, with their record
// marks, and that the call fails if the file cannot be made.
func TestCallWritesACaptureOverTCP(t *testing.T) {
	_, addr, _ := servingNotes(t)
	name := filepath.Join(t.TempDir(), "call.pcapng")
	args := []string{notesFile, addr, "NOTES.NOTES_V1.NOTES_GET"}
	if code, _, errs := call("", append([]string{"-d", `"absent"`, "-pcap", name}, args...)...); code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	segments, err := pcapng.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	var calls, replies []byte
	for _, s := range segments {
		if s.FromInitiator {
			calls = append(calls, s.Payload...)
		} else {
			replies = append(replies, s.Payload...)
		}
	}
	if !bytes.Contains(calls, []byte("\x00\x00\x00\x06absent")) || len(replies) < 32 || replies[0] != 0x80 || !bytes.Equal(calls[4:8], replies[4:8]) {
		t.Errorf("the capture has the Call %q and the Reply %q", calls, replies)
	}
	missing := filepath.Join(t.TempDir(), "no", "such")
	if code, _, errs := call("", append([]string{"-d", `"absent"`, "-pcap", missing}, args...)...); code != exitFailed || !strings.Contains(errs, "pcap") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
