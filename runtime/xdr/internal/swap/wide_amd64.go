//go:build !(purego || race || msan || asan)

package swap

import "github.com/rpcrdma/rpcrdma/internal/cpuid"

// wide reports whether the processor has the instructions of wideWords and wideHypers.
var wide = cpuid.AVX2()

// wideWords copies words. The length of src is a multiple of block, and dst is as long.
//
//go:noescape
func wideWords(dst, src []byte)

// wideHypers copies hypers. The length of src is a multiple of block, and dst is as long.
//
//go:noescape
func wideHypers(dst, src []byte)
