//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package cli

func isTerminal(uintptr) bool { return false }

func terminalWidth(uintptr) int { return 0 }
