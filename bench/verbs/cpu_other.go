//go:build !unix

package verbs

// cpuTime is not known here: rows have no processor time.
func cpuTime() int64 { return 0 }
