//go:build !(purego || race || msan || asan)

#include "textflag.h"

// func wideWords(dst, src []byte)
TEXT ·wideWords(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD src_base+24(FP), R1
	MOVD src_len+32(FP), R2
	CMP  $64, R2
	BLO  by32

by64:
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	VREV32 V0.B16, V0.B16
	VREV32 V1.B16, V1.B16
	VREV32 V2.B16, V2.B16
	VREV32 V3.B16, V3.B16
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0)
	SUB    $64, R2
	CMP    $64, R2
	BHS    by64

by32:
	CBZ    R2, done
	VLD1   (R1), [V0.B16, V1.B16]
	VREV32 V0.B16, V0.B16
	VREV32 V1.B16, V1.B16
	VST1   [V0.B16, V1.B16], (R0)

done:
	RET

// func wideHypers(dst, src []byte)
TEXT ·wideHypers(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD src_base+24(FP), R1
	MOVD src_len+32(FP), R2
	CMP  $64, R2
	BLO  by32

by64:
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	VREV64 V0.B16, V0.B16
	VREV64 V1.B16, V1.B16
	VREV64 V2.B16, V2.B16
	VREV64 V3.B16, V3.B16
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0)
	SUB    $64, R2
	CMP    $64, R2
	BHS    by64

by32:
	CBZ    R2, done
	VLD1   (R1), [V0.B16, V1.B16]
	VREV64 V0.B16, V0.B16
	VREV64 V1.B16, V1.B16
	VST1   [V0.B16, V1.B16], (R0)

done:
	RET
