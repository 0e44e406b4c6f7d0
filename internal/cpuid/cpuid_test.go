//go:build amd64 && linux && !purego

package cpuid

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The kernel lists the abilities of the processor that it supports.
func TestAgainstKernel(t *testing.T) {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip(err)
	}
	_, flags, ok := strings.Cut(string(text), "\nflags")
	if !ok {
		t.Skip("/proc/cpuinfo has no flags")
	}
	flags, _, _ = strings.Cut(flags, "\n")
	names := strings.Fields(flags)
	for _, c := range []struct {
		name string
		got  bool
	}{{"pclmulqdq", PCLMULQDQ()}, {"avx2", AVX2()}, {"vpclmulqdq", VPCLMULQDQ()}} {
		if want := slices.Contains(names, c.name); c.got != want {
			t.Errorf("%s: %v, the kernel says %v", c.name, c.got, want)
		}
	}
}
