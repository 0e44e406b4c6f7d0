//go:build !unix

package process

// resources is not known here.
func resources() (cpu, switches int64) { return 0, 0 }
