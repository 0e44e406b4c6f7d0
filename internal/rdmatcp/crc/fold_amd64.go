//go:build !purego

package crc

import "github.com/rpcrdma/rpcrdma/internal/cpuid"

// canFold and canFoldWide report whether the processor has the instructions of foldCLMUL.
var (
	canFold     = cpuid.PCLMULQDQ()
	canFoldWide = canFold && cpuid.AVX2() && cpuid.VPCLMULQDQ()
)

// fold returns the register r after the octets of p, whose length is a positive multiple
// of 16.
func fold(r uint32, p []byte) uint32 { return foldCLMUL(r, p, &folding, canFoldWide) }

// foldCLMUL folds with PCLMULQDQ and SSE2. If wide is set, it also uses AVX2 and
// VPCLMULQDQ.
//
//go:noescape
func foldCLMUL(r uint32, p []byte, k *constants, wide bool) uint32
