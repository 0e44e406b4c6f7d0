//go:build !purego

package crc

// canFold reports whether the processor has PMULL.
var canFold = hasPMULL()

// fold returns the register r after the octets of p, whose length is a positive multiple
// of 16.
func fold(r uint32, p []byte) uint32 { return foldPMULL(r, p, &folding) }

//go:noescape
func foldPMULL(r uint32, p []byte, k *constants) uint32
