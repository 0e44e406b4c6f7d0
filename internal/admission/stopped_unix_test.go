//go:build unix

package admission_test

import (
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/admission"
)

// A process that is stopped while a handler runs does not blame it for that time.
func TestStoppedProcessBlamesNoHandler(t *testing.T) {
	var b admission.Blockers
	var warned, replaced atomic.Int32
	i := admission.Inline{Blockers: &b, Warn: func(_, _, _ uint32) { warned.Add(1) }, Replace: func() { replaced.Add(1) }}
	defer i.Forget()
	run := i.Begin(1, 2, 3)
	time.Sleep(1100 * time.Millisecond) // the first look has seen it
	pid := strconv.Itoa(os.Getpid())
	if out, err := exec.Command("sh", "-c", "kill -STOP "+pid+"; sleep 2.5; kill -CONT "+pid).CombinedOutput(); err != nil {
		t.Skipf("no shell can stop this process: %v: %s", err, out)
	}
	time.Sleep(50 * time.Millisecond) // the look that is due
	if !i.End(run) || warned.Load()+replaced.Load() > 0 {
		t.Errorf("%d warnings, replaced %d times", warned.Load(), replaced.Load())
	}
}
