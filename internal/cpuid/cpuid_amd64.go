//go:build !purego

package cpuid

// Bits of CPUID leaves 1 and 7, and of the extended control register 0 (Intel 64 and IA-32
// Architectures Software Developer's Manual, volumes 1 §13 and 2 "CPUID").
const (
	pclmulqdq  = 1 << 1  // leaf 1, ECX
	osxsave    = 1 << 27 // leaf 1, ECX
	avx2       = 1 << 5  // leaf 7, EBX
	vpclmulqdq = 1 << 10 // leaf 7, ECX
	ymmState   = 1<<1 | 1<<2
)

// PCLMULQDQ reports whether the processor has the instruction PCLMULQDQ.
func PCLMULQDQ() bool { return has(1, 0, pclmulqdq) }

// AVX2 reports whether the processor has AVX2, and the system keeps the YMM registers.
func AVX2() bool {
	return has(1, 0, osxsave) && xgetbv()&ymmState == ymmState && has(7, avx2, 0)
}

// VPCLMULQDQ reports whether the processor has the instruction VPCLMULQDQ. It needs AVX2, too.
func VPCLMULQDQ() bool { return has(7, 0, vpclmulqdq) }

// has reports whether a leaf of CPUID has all these bits in EBX and ECX.
func has(leaf, ebx, ecx uint32) bool {
	if max, _, _ := cpuid(0); max < leaf {
		return false
	}
	_, b, c := cpuid(leaf)
	return b&ebx == ebx && c&ecx == ecx
}

// cpuid returns three registers that CPUID sets for a leaf, subleaf 0.
func cpuid(leaf uint32) (eax, ebx, ecx uint32)

// xgetbv returns the low half of extended control register 0. It must not be called unless OSXSAVE
// is set.
func xgetbv() uint32
