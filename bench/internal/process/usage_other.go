//go:build !unix

package process

// resources returns 0: it reads the usage on Unix only.
func resources() (cpu, switches int64) { return 0, 0 }
