package crc

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// The assembly for arm64, on other processors, if an emulator is installed.
func TestUnderARM64(t *testing.T) {
	switch {
	case runtime.GOARCH == "arm64" || runtime.GOOS != "linux":
		t.Skip("only on Linux, on another processor")
	case testing.Short():
		t.Skip("compiles the standard library for arm64: not with -short")
	default:
		cmd := exec.Command("go", "test", "-short", "-exec", witness.Program(t, "qemu-aarch64-static"), ".")
		cmd.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0", "GOFLAGS=-trimpath")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
