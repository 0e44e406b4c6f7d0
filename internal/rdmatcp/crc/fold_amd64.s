//go:build !purego

#include "textflag.h"
#include "go_asm.h"

// FOLD folds a by the distance of the multipliers in k, and adds data.
// It uses t.
#define FOLD(a, k, data, t) \
	MOVOA     a, t        \
	PCLMULQDQ $0x00, k, a \
	PCLMULQDQ $0x11, k, t \
	PXOR      data, a     \
	PXOR      t, a

// FOLDY is FOLD for two times 128 bits. It uses t and u.
#define FOLDY(a, k, data, t, u) \
	VPCLMULQDQ $0x00, k, a, t \
	VPCLMULQDQ $0x11, k, a, u \
	VPXOR      data, t, a     \
	VPXOR      u, a, a

// func foldCLMUL(r uint32, p []byte, k *constants, wide bool) uint32
//
// X0-X3 (Y0-Y3) are the registers to fold, X5 (Y5) the multipliers, X6 and X8-X10 the
// next octets, X7 a mask; the others are free.
TEXT ·foldCLMUL(SB), NOSPLIT, $0-52
	MOVL r+0(FP), AX
	MOVQ p_base+8(FP), SI
	MOVQ p_len+16(FP), CX
	MOVQ k+32(FP), DX

	CMPQ CX, $256
	JB   narrow
	CMPB wide+40(FP), $0
	JEQ  narrow

	VMOVD          AX, X4
	VPXOR          (SI), Y4, Y0
	VMOVDQU        32(SI), Y1
	VMOVDQU        64(SI), Y2
	VMOVDQU        96(SI), Y3
	VBROADCASTI128 constants_by128(DX), Y5
	SUBQ           $128, CX
	ADDQ           $128, SI

by128:
	FOLDY(Y0, Y5, (SI), Y4, Y8)
	FOLDY(Y1, Y5, 32(SI), Y6, Y9)
	FOLDY(Y2, Y5, 64(SI), Y7, Y10)
	FOLDY(Y3, Y5, 96(SI), Y11, Y12)
	SUBQ $128, CX
	ADDQ $128, SI
	CMPQ CX, $128
	JAE  by128

	// Fold the first 64 octets onto the last 64, split into four registers.
	VBROADCASTI128 constants_by64(DX), Y5
	FOLDY(Y0, Y5, Y2, Y4, Y8)
	FOLDY(Y1, Y5, Y3, Y6, Y9)
	VMOVDQA        Y1, Y2
	VEXTRACTI128   $1, Y0, X1
	VEXTRACTI128   $1, Y2, X3
	VZEROUPPER
	JMP            four

narrow:
	MOVQ  AX, X4
	MOVOU (SI), X0
	PXOR  X4, X0
	SUBQ  $16, CX
	ADDQ  $16, SI
	CMPQ  CX, $48
	JB    by16

	MOVOU (SI), X1
	MOVOU 16(SI), X2
	MOVOU 32(SI), X3
	SUBQ  $48, CX
	ADDQ  $48, SI

four:
	MOVOU constants_by64(DX), X5
	CMPQ  CX, $64
	JB    join

by64:
	MOVOU (SI), X6
	MOVOU 16(SI), X8
	MOVOU 32(SI), X9
	MOVOU 48(SI), X10
	FOLD(X0, X5, X6, X4)
	FOLD(X1, X5, X8, X11)
	FOLD(X2, X5, X9, X12)
	FOLD(X3, X5, X10, X13)
	SUBQ  $64, CX
	ADDQ  $64, SI
	CMPQ  CX, $64
	JAE   by64

join:
	MOVOU constants_by16(DX), X5
	FOLD(X0, X5, X1, X4)
	FOLD(X0, X5, X2, X4)
	FOLD(X0, X5, X3, X4)

by16:
	MOVOU constants_by16(DX), X5
	CMPQ  CX, $16
	JB    reduce

next16:
	MOVOU (SI), X6
	FOLD(X0, X5, X6, X4)
	SUBQ  $16, CX
	ADDQ  $16, SI
	CMPQ  CX, $16
	JAE   next16

reduce:
	// 128 bits to 96: fold the first 64 onto the second 64 and the 32 after them.
	MOVOU     constants_reduce(DX), X5
	MOVOA     X0, X4
	PSRLDQ    $8, X0
	PCLMULQDQ $0x00, X5, X4
	PXOR      X4, X0

	// 96 bits to 64: fold the first 32.
	PCMPEQL   X7, X7
	PSRLQ     $32, X7
	MOVOA     X0, X4
	PSRLDQ    $4, X0
	PAND      X7, X4
	PCLMULQDQ $0x10, X5, X4
	PXOR      X4, X0

	// The quotient of 64 bits by the generator, computed from the first 32 of
	// them, and the remainder.
	MOVOU     constants_barrett(DX), X5
	MOVOA     X0, X4
	PAND      X7, X4
	PCLMULQDQ $0x00, X5, X4
	PAND      X7, X4
	PCLMULQDQ $0x10, X5, X4
	PXOR      X4, X0
	MOVQ      X0, AX
	SHRQ      $32, AX
	MOVL      AX, ret+48(FP)
	RET
