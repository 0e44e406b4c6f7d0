package cli

import (
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// TestWidthIsThatOfTheTerminal sets the size of a pseudo-terminal.
func TestWidthIsThatOfTheTerminal(t *testing.T) {
	terminal, err := os.Open("/dev/ptmx")
	if err != nil {
		t.Skip("this system has no /dev/ptmx")
	}
	defer terminal.Close()
	if got := Width(terminal); got != DefaultWidth {
		t.Errorf("without a size: %d columns", got)
	}
	for _, want := range []uint16{60, 213} {
		size := [4]uint16{40, want}
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, terminal.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
			t.Fatal(errno)
		}
		if got := Width(terminal); got != int(want) {
			t.Errorf("%d columns, want %d", got, want)
		}
	}
}
