//go:build !purego

package crc

// canFold says whether the processor has PCLMULQDQ (CPUID leaf 1, ECX bit 1).
// The other instructions are SSE2, which all amd64 processors have.
var canFold = featuresECX()&(1<<1) != 0

// fold takes the register r over p, whose length is a multiple of 16, not 0.
func fold(r uint32, p []byte) uint32 { return foldCLMUL(r, p, &folding) }

//go:noescape
func foldCLMUL(r uint32, p []byte, k *constants) uint32

// featuresECX returns ECX of CPUID leaf 1.
func featuresECX() uint32
