//go:build !purego

package crc

// canFold and canFoldWide report whether the processor has the instructions of foldCLMUL.
var (
	canFold     = has(1, 0, pclmulqdq)
	canFoldWide = canFold &&
		has(1, 0, osxsave) && xgetbv()&ymmState == ymmState && // the system keeps YMM registers
		has(7, avx2, vpclmulqdq)
)

// Bits of CPUID leaves 1 and 7, and of the extended control register 0
// (Intel 64 and IA-32 Architectures Software Developer's Manual, volumes 1 §13
// and 2 "CPUID").
const (
	pclmulqdq  = 1 << 1  // leaf 1, ECX
	osxsave    = 1 << 27 // leaf 1, ECX
	avx2       = 1 << 5  // leaf 7, EBX
	vpclmulqdq = 1 << 10 // leaf 7, ECX
	ymmState   = 1<<1 | 1<<2
)

// has reports whether a leaf of CPUID has all these bits in EBX and ECX.
func has(leaf, ebx, ecx uint32) bool {
	if max, _, _ := cpuid(0); max < leaf {
		return false
	}
	_, b, c := cpuid(leaf)
	return b&ebx == ebx && c&ecx == ecx
}

// fold returns the register r after the octets of p, whose length is a positive multiple
// of 16.
func fold(r uint32, p []byte) uint32 { return foldCLMUL(r, p, &folding, canFoldWide) }

// foldCLMUL folds with PCLMULQDQ and SSE2. If wide is set, it also uses AVX2 and
// VPCLMULQDQ.
//
//go:noescape
func foldCLMUL(r uint32, p []byte, k *constants, wide bool) uint32

// cpuid returns three registers that CPUID sets for a leaf, subleaf 0.
func cpuid(leaf uint32) (eax, ebx, ecx uint32)

// xgetbv returns the low half of extended control register 0. It must not be called
// unless OSXSAVE is set.
func xgetbv() uint32
