package cases

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/guest"
)

// kernelFaults sends messages on which the server runs into a WARNING or a BUG of the kernel. The
// last one kills a thread of the server for good.
func kernelFaults(t *T) {
	answered := []string{nullAnswered, errChunk, "ERR_CHUNK; " + closed}
	const stag = 0x00112233
	list := []probe{
		{
			what: "RDMA_MSG with a call, and a Read chunk at position 0", rule: "RFC 8166 §3.5.3",
			expected: "not defined: ERR_CHUNK, or an answer to either call",
			allowed:  append([]string{"RDMA_MSG, denied: RPC_MISMATCH; " + goesOn}, answered...),
			send:     header(null(), 32, procMsg, 1, 0, stag, 40, 0, 0, 0, 0, 0),
		},
		{
			what: "a Read chunk of 0 bytes", rule: "RFC 8166 §3.4.5", expected: "an answer, or ERR_CHUNK", allowed: answered,
			send: header(null(), 32, procMsg, 1, 40, stag, 0, 0, 0, 0, 0, 0),
		},
	}
	var faults []string
	for _, p := range list {
		mark := t.Guest().Console.Mark()
		w := dialWire(t, false)
		p.send(w)
		saw := w.answer(true)
		w.close()
		if fault := kernelFault(t, mark); fault != "" {
			saw += "; " + fault
			faults = append(faults, fault)
		}
		reportProbe(t, p, saw)
	}
	t.Say("%d probes: %s", len(list), strings.Join(faults, ", "))
}

var (
	kernelBug     = regexp.MustCompile(`kernel BUG at ([^:]+):`)
	kernelWarning = regexp.MustCompile(`WARNING: .* at \S+ (\w+)\+`)
)

// kernelFault names the fault in the kernel's log after mark, if there is one. It waits for the end
// of its trace.
func kernelFault(t *T, mark int) string {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := t.Guest().Console.Wait(ctx, mark, "---[ end trace"); err != nil {
		return "" // no trace in this time
	}
	lines := t.Guest().Console.Since(mark)
	problems := guest.JudgeLog(lines)
	if len(problems) == 0 {
		return ""
	}
	text := strings.Join(problems[0].Text, "\n")
	if m := kernelBug.FindStringSubmatch(text); m != nil {
		return "a BUG in " + m[1] + " ends a thread of the server"
	}
	if m := kernelWarning.FindStringSubmatch(text); m != nil {
		return "a WARNING in " + m[1]
	}
	t.Errorf("a fault of the kernel that no row expects: %s", text)
	return "a fault of the kernel"
}
