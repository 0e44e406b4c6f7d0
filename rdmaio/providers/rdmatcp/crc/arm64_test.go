package crc

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// The assembly for the other processor, where an emulator is installed.
func TestUnderARM64(t *testing.T) {
	const emulator = "qemu-aarch64-static" // Debian's package qemu-user-static
	switch path, err := exec.LookPath(emulator); {
	case runtime.GOARCH == "arm64" || runtime.GOOS != "linux":
		t.Skip("only on Linux, on another processor")
	case testing.Short():
		t.Skip("compiles the standard library for arm64: not with -short")
	case err != nil:
		t.Skipf("%s is not installed: the assembly for arm64 is not tested here", emulator)
	default:
		cmd := exec.Command("go", "test", "-short", "-exec", path, ".")
		cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
