package cli

import (
	"syscall"
	"unsafe"
)

// isTerminal reports whether fd has a console mode to read.
func isTerminal(fd uintptr) bool {
	var mode uint32
	return syscall.GetConsoleMode(syscall.Handle(fd), &mode) == nil
}

// terminalWidth returns the number of columns of the window of console fd, or 0.
func terminalWidth(fd uintptr) int {
	var info struct { // CONSOLE_SCREEN_BUFFER_INFO
		size, cursor             [2]int16
		attributes               uint16
		left, top, right, bottom int16
		largest                  [2]int16
	}
	get := syscall.NewLazyDLL("kernel32.dll").NewProc("GetConsoleScreenBufferInfo")
	if ok, _, _ := get.Call(fd, uintptr(unsafe.Pointer(&info))); ok == 0 {
		return 0
	}
	return int(info.right-info.left) + 1
}
