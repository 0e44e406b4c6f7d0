//go:build !unix

package rdmatcp_test

func descriptors() int { return 1 << 20 }
