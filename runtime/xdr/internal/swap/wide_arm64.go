//go:build !(purego || race || msan || asan)

package swap

// wide is set: every arm64 processor that Go supports has NEON.
const wide = true

// wideWords copies words. The length of src is a multiple of block, and dst is as long.
//
//go:noescape
func wideWords(dst, src []byte)

// wideHypers copies hypers. The length of src is a multiple of block, and dst is as long.
//
//go:noescape
func wideHypers(dst, src []byte)
