//go:build !unix

package nfsd_test

import "os"

// inodeOf returns 0: this system does not serve directories.
func inodeOf(os.FileInfo) uint64 { return 0 }
