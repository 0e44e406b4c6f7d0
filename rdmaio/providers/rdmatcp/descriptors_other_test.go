//go:build !unix

package rdmatcp_test

import "time"

func descriptors() int { return 1 << 20 }

func processorTime() time.Duration { return 0 } // does not tell
