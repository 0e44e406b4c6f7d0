//go:build asan && !(memguard && linux)

package soft

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Step 5: a read after Free, or of the byte after the buffer, stops the process.
func TestAddressSanitizerStopsWrongAccess(t *testing.T) {
	const chosen = "SOFT_ASAN_FAULT"
	if what := os.Getenv(chosen); what != "" {
		pd := newDomain(t)
		b := alloc(t, pd, 10)
		if block := pd.heap.blocks[&b[0]]; what == "behind" {
			t.Log(block.whole[block.at+10])
		}
		if err := pd.Free(b); err != nil {
			t.Fatal(err)
		}
		if what == "late" {
			t.Log(b[3])
		}
		return
	}
	for what, dies := range map[string]bool{"none": false, "behind": true, "late": true} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAddressSanitizerStopsWrongAccess$")
		cmd.Env = append(os.Environ(), chosen+"="+what)
		out, err := cmd.CombinedOutput()
		if found := strings.Contains(string(out), "AddressSanitizer: use-after-poison"); found != dies || (err != nil) != dies {
			t.Errorf("fault %q: %v, reported %v, want %v\n%s", what, err, found, dies, out)
		}
	}
}
