//go:build !unix

package cputime

import "time"

// Used returns 0: it reads the processor time on Unix only.
func Used() time.Duration { return 0 }
