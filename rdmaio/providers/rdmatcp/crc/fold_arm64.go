//go:build !purego

package crc

// canFold says whether the processor has PMULL.
var canFold = hasPMULL()

// fold takes the register r over p, whose length is a multiple of 16, not 0.
func fold(r uint32, p []byte) uint32 { return foldPMULL(r, p, &folding) }

//go:noescape
func foldPMULL(r uint32, p []byte, k *constants) uint32
