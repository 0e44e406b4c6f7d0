package conform

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/cmd/rpcrdma/internal/conform/program"
)

// incoming is a call of a client that is tested.
type incoming struct {
	xid, prog, vers, proc uint32
	args                  []byte
	number                uint32 // of the case
	before                uint32 // the XID of the call before it
}

// readCall reads a call. ok is false if it is not one of RPC version 2.
func readCall(b []byte) (c *incoming, ok bool) {
	r := &reader{b: b}
	c = &incoming{xid: r.word()}
	typ, version := r.word(), r.word()
	c.prog, c.vers, c.proc = r.word(), r.word(), r.word()
	for range 2 { // the credential and the verifier
		r.word()
		n := int(r.word())
		if n > maxAuth || n+(-n&3) > len(r.b) {
			return nil, false
		}
		r.b = r.b[n+(-n&3):]
	}
	c.args = r.b
	return c, r.err == "" && typ == typeCall && version == rpcVersion
}

// refusal returns the reply to a call that is not one of CONFORM_CLIENT, or nil.
func (c *incoming) refusal() []byte {
	switch {
	case c.prog != program.ClientProgram:
		return c.accepted(1)
	case c.vers != program.ClientVersion1:
		return c.accepted(2, words(nil, program.ClientVersion1, program.ClientVersion1)...)
	case c.proc == program.ClientVersion1Null, c.proc == program.ClientVersion1Next && len(c.args) == 0:
		return nil
	case c.proc == program.ClientVersion1Try && len(c.args) == 4, c.proc == program.ClientVersion1Report && len(c.args) == 16:
		return nil
	case c.proc > program.ClientVersion1Report:
		return c.accepted(3)
	}
	return c.accepted(4)
}

// reported returns the number of a case and its outcome, from the arguments of REPORT.
func reported(args []byte, want uint32) (number uint32, outcome string) {
	w := func(i int) uint32 { return binary.BigEndian.Uint32(args[4*i:]) }
	number = w(0)
	first, second := w(2), w(3)
	switch came := program.Came(w(1)); came {
	case program.CameResult:
		if first == want {
			return number, gotResult
		}
		return number, gotOther
	case program.CameProgMismatch:
		return number, fmt.Sprintf("PROG_MISMATCH %d to %d", first, second)
	case program.CameProgUnavail, program.CameProcUnavail, program.CameGarbageArgs, program.CameSystemErr:
		return number, acceptNames[came]
	case program.CameRPCMismatch:
		return number, fmt.Sprintf("RPC_MISMATCH %d to %d", first, second)
	case program.CameAuthError:
		if int(first) < len(authNames) {
			return number, "AUTH_ERROR " + authNames[first]
		}
		return number, fmt.Sprintf("AUTH_ERROR %d", first)
	case program.CameFault:
		return number, gotFault
	case program.CameLost:
		return number, gotLost
	case program.CameNothing:
		return number, gotNothing
	default:
		return number, fmt.Sprintf("a report with outcome %d", came)
	}
}
