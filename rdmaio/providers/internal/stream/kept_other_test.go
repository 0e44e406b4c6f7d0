//go:build !unix

package stream

// keepsTarget reports false: here a read does not keep its target.
func keepsTarget(*Conn) bool { return false }

// keepsBytes reports false, for the same reason.
func keepsBytes(*Conn) bool { return false }
