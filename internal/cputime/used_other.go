//go:build !unix

package cputime

import "time"

// Used returns 0: the system's processor time is read on Unix only.
func Used() time.Duration { return 0 }
