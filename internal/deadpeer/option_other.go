//go:build !unix && !windows

package deadpeer

import "time"

// unackedOption returns no option: this system has none.
func unackedOption() (option int, unit time.Duration) { return 0, 0 }

func setTCPOption(uintptr, int, int) {}
