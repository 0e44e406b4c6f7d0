//go:build !(purego || race || msan || asan)

#include "textflag.h"

// The bytes of each number in reverse, for VPSHUFB.
DATA words<>+0(SB)/8, $0x0405060700010203
DATA words<>+8(SB)/8, $0x0c0d0e0f08090a0b
GLOBL words<>(SB), RODATA|NOPTR, $16

DATA hypers<>+0(SB)/8, $0x0001020304050607
DATA hypers<>+8(SB)/8, $0x08090a0b0c0d0e0f
GLOBL hypers<>(SB), RODATA|NOPTR, $16

// func wideWords(dst, src []byte)
TEXT ·wideWords(SB), NOSPLIT, $0-48
	VBROADCASTI128 words<>(SB), Y0
	MOVQ           dst_base+0(FP), DI
	MOVQ           src_base+24(FP), SI
	MOVQ           src_len+32(FP), CX
	JMP            reverse<>(SB)

// func wideHypers(dst, src []byte)
TEXT ·wideHypers(SB), NOSPLIT, $0-48
	VBROADCASTI128 hypers<>(SB), Y0
	MOVQ           dst_base+0(FP), DI
	MOVQ           src_base+24(FP), SI
	MOVQ           src_len+32(FP), CX
	JMP            reverse<>(SB)

// reverse copies CX bytes, a multiple of 32, from SI to DI, in the order that Y0 has.
TEXT reverse<>(SB), NOSPLIT, $0-48
	CMPQ CX, $128
	JB   by32

by128:
	VMOVDQU (SI), Y1
	VMOVDQU 32(SI), Y2
	VMOVDQU 64(SI), Y3
	VMOVDQU 96(SI), Y4
	VPSHUFB Y0, Y1, Y1
	VPSHUFB Y0, Y2, Y2
	VPSHUFB Y0, Y3, Y3
	VPSHUFB Y0, Y4, Y4
	VMOVDQU Y1, (DI)
	VMOVDQU Y2, 32(DI)
	VMOVDQU Y3, 64(DI)
	VMOVDQU Y4, 96(DI)
	ADDQ    $128, SI
	ADDQ    $128, DI
	SUBQ    $128, CX
	CMPQ    CX, $128
	JAE     by128

by32:
	TESTQ CX, CX
	JEQ   done

next32:
	VMOVDQU (SI), Y1
	VPSHUFB Y0, Y1, Y1
	VMOVDQU Y1, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $32, CX
	JNE     next32

done:
	VZEROUPPER
	RET
