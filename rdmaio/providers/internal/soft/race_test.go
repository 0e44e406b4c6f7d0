//go:build race

package soft

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Step 1: the race detector reports an application that accesses bytes while the peer may, because
// registered memory is Go heap and copies hold no lock. It reports nothing if the application waits
// for the end of the registration.
func TestRaceDetectorReportsEarlyAccess(t *testing.T) {
	const chosen = "SOFT_RACE_FAULT"
	if what := os.Getenv(chosen); what != "" {
		pd := newDomain(t)
		mr, err := pd.RegisterMemory(alloc(t, pd, 8), verbs.AccessLocalWrite|verbs.AccessRemoteWrite)
		if err != nil {
			t.Fatal(err)
		}
		buf, key, at := mr.Bytes(), mr.RKey(), mr.RemoteAddr()
		var wg sync.WaitGroup
		wg.Go(func() { // the peer
			if e, reason := pd.Remote(key, at, 8, verbs.AccessRemoteWrite); reason == "" && e.Pin() {
				copy(e.Bytes(), "overlaps")
				e.Unpin()
			}
		})
		if what == "late" {
			if err := mr.Invalidate(); err != nil {
				t.Fatal(err)
			}
		}
		buf[3]++
		wg.Wait()
		return
	}
	for what, seen := range map[string]bool{"late": false, "early": true} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRaceDetectorReportsEarlyAccess$")
		cmd.Env = append(os.Environ(), chosen+"="+what)
		out, err := cmd.CombinedOutput()
		if found := strings.Contains(string(out), "DATA RACE"); found != seen || (err != nil) != seen {
			t.Errorf("application %s: %v, reported %v, want %v\n%s", what, err, found, seen, out)
		}
	}
}
