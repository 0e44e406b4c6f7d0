//go:build !unix || solaris || aix

package tcp

import "context"

// lockFolder does nothing: package syscall has no lock of a folder on this system.
func lockFolder(context.Context, string) (unlock func()) { return func() {} }
