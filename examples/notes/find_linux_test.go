package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/isolated"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// The commands of the page with rpcbind print what it says. They run with a network and a /run of
// their own, as port 111 belongs to the rpcbind of the machine.
func TestFind(t *testing.T) {
	rpcinfo := witness.Program(t, "rpcinfo")
	const programEnv = "NOTES_PROGRAM"
	program := os.Getenv(programEnv)
	if program == "" {
		if testing.Short() {
			t.Skip("builds the command")
		}
		program = build(t)
	}
	if !isolated.Run(t, programEnv+"="+program) {
		return
	}
	s := &shell{t: t, program: program, tcpAddr: "127.0.0.1:20200", rdmaAddr: "127.0.0.1:20201"}
	for _, c := range commands(t, "8. Find a service: rpcbind") {
		switch {
		case c[0] == "sudo rpcbind":
			isolated.Rpcbind(t)
		case strings.HasPrefix(c[0], "rpcinfo "):
			out, err := exec.Command(rpcinfo, strings.Fields(c[0])[1:]...).CombinedOutput()
			if err != nil || string(out) != c[1] {
				t.Errorf("%s: %v, printed %q, the page says %q", c[0], err, out, c[1])
			}
		default:
			s.run(c[0], c[1])
		}
	}
}
