//go:build !purego

package crc

// What the processor has, of what foldCLMUL needs.
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

// has says whether a leaf has all these bits of EBX and of ECX.
func has(leaf, ebx, ecx uint32) bool {
	if max, _, _ := cpuid(0); max < leaf {
		return false
	}
	_, b, c := cpuid(leaf)
	return b&ebx == ebx && c&ecx == ecx
}

// fold takes the register r over p, whose length is a multiple of 16, not 0.
func fold(r uint32, p []byte) uint32 { return foldCLMUL(r, p, &folding, canFoldWide) }

// foldCLMUL folds with PCLMULQDQ and SSE2; wide lets it use AVX2 and
// VPCLMULQDQ too.
//
//go:noescape
func foldCLMUL(r uint32, p []byte, k *constants, wide bool) uint32

// cpuid returns three registers of CPUID's answer to a leaf, subleaf 0.
func cpuid(leaf uint32) (eax, ebx, ecx uint32)

// xgetbv returns the low half of extended control register 0. It may be called
// only with OSXSAVE set.
func xgetbv() uint32
