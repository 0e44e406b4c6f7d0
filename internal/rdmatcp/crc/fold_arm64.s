//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// FOLD folds a by the distance of the multipliers in V5, and adds data.
// It uses t.
#define FOLD(a, data, t) \
	VPMULL  V5.D1, a.D1, t.Q1           \
	VPMULL2 V5.D2, a.D2, a.Q1           \
	VEOR    data.B16, t.B16, t.B16      \
	VEOR    t.B16, a.B16, a.B16

// func foldPMULL(r uint32, p []byte, k *constants) uint32
//
// V0-V3 are the registers to fold, V5 the multipliers, V16-V19 the next octets, V30 a
// mask, V31 zero; V4, V20-V22 are free.
TEXT ·foldPMULL(SB), NOSPLIT, $0-44
	MOVWU r+0(FP), R0
	MOVD  p_base+8(FP), R1
	MOVD  p_len+16(FP), R2
	MOVD  k+32(FP), R3

	VEOR   V31.B16, V31.B16, V31.B16
	VEOR   V4.B16, V4.B16, V4.B16
	VMOV   R0, V4.S[0]
	VLD1.P 16(R1), [V0.B16]
	VEOR   V4.B16, V0.B16, V0.B16
	SUB    $16, R2
	CMP    $48, R2
	BLO    by16

	VLD1.P 48(R1), [V1.B16, V2.B16, V3.B16]
	SUB    $48, R2
	ADD    $constants_by64, R3, R4
	VLD1   (R4), [V5.D2]
	CMP    $64, R2
	BLO    join

by64:
	VLD1.P 64(R1), [V16.B16, V17.B16, V18.B16, V19.B16]
	FOLD(V0, V16, V4)
	FOLD(V1, V17, V20)
	FOLD(V2, V18, V21)
	FOLD(V3, V19, V22)
	SUB    $64, R2
	CMP    $64, R2
	BHS    by64

join:
	ADD  $constants_by16, R3, R4
	VLD1 (R4), [V5.D2]
	FOLD(V0, V1, V4)
	FOLD(V0, V2, V4)
	FOLD(V0, V3, V4)

by16:
	ADD  $constants_by16, R3, R4
	VLD1 (R4), [V5.D2]
	CMP  $16, R2
	BLO  reduce

next16:
	VLD1.P 16(R1), [V16.B16]
	FOLD(V0, V16, V4)
	SUB    $16, R2
	CMP    $16, R2
	BHS    next16

reduce:
	// 128 bits to 96: fold the first 64 onto the second 64 and the 32 after them.
	ADD    $constants_reduce, R3, R4
	VLD1   (R4), [V5.D2]
	VPMULL V5.D1, V0.D1, V4.Q1
	VEXT   $8, V31.B16, V0.B16, V0.B16
	VEOR   V4.B16, V0.B16, V0.B16

	// 96 bits to 64: fold the first 32.
	VEXT   $8, V31.B16, V5.B16, V5.B16
	MOVD   $0xffffffff, R5
	VDUP   R5, V30.D2
	VAND   V30.B16, V0.B16, V4.B16
	VEXT   $4, V31.B16, V0.B16, V0.B16
	VPMULL V5.D1, V4.D1, V4.Q1
	VEOR   V4.B16, V0.B16, V0.B16

	// The quotient of 64 bits by the generator, computed from the first 32 of
	// them, and the remainder.
	ADD    $constants_barrett, R3, R4
	VLD1   (R4), [V5.D2]
	VAND   V30.B16, V0.B16, V4.B16
	VPMULL V5.D1, V4.D1, V4.Q1
	VAND   V30.B16, V4.B16, V4.B16
	VEXT   $8, V31.B16, V5.B16, V5.B16
	VPMULL V5.D1, V4.D1, V4.Q1
	VEOR   V4.B16, V0.B16, V0.B16
	VMOV   V0.S[1], R0
	MOVW   R0, ret+40(FP)
	RET
