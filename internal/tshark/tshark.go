package tshark

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// Input is a capture, and how tshark reads it.
type Input struct {
	File    string
	Scripts []string // dissectors in Lua
	Args    []string // options, such as -o and a preference
}

// Run returns what tshark prints of a capture. It fails the test if tshark or a script of Input
// fails.
func Run(tb testing.TB, in Input, args ...string) []byte {
	tb.Helper()
	all := []string{"-r", in.File}
	for _, script := range in.Scripts {
		if _, err := os.Stat(script); err != nil { // go test then knows that this depends on it
			tb.Fatal(err)
		}
		all = append(all, "-X", "lua_script:"+script)
	}
	cmd := exec.Command(witness.Program(tb, "tshark"), append(append(all, in.Args...), args...)...)
	cmd.Env = append(os.Environ(), "HOME="+tb.TempDir())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || strings.Contains(errs.String(), "Lua") || bytes.Contains(out, []byte("Lua Error")) {
		tb.Fatalf("%v\n%s%s", err, excerpt(out), errs.String())
	}
	return out
}

// excerpt returns the lines about an error of a script, or the first lines.
func excerpt(b []byte) []byte {
	if at := bytes.Index(b, []byte("Lua Error")); at >= 0 {
		b = b[max(0, at-200):]
	}
	return b[:min(len(b), 2000)]
}

// Complaints returns a line for each packet that Wireshark complains about: a malformed packet, a
// wrong checksum, a gap in a TCP stream, or a note of an expert of at least the level of a warning.
// Packets that match the display filter except, which may be empty, are left out.
func Complaints(tb testing.TB, in Input, except string) string {
	tb.Helper()
	filter := `_ws.malformed || tcp.checksum.status == 0 || ip.checksum.status == 0 || tcp.analysis.flags || _ws.expert.severity >= "Warning"`
	if except != "" {
		filter = "(" + filter + ") && !(" + except + ")"
	}
	return string(Run(tb, in, "-2", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-Y", filter))
}
