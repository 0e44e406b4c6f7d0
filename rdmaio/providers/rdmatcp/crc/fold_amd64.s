//go:build !purego

#include "textflag.h"
#include "go_asm.h"

// FOLD moves a on by the distance that k is for and adds what is in data.
// It uses t.
#define FOLD(a, k, data, t) \
	MOVOA     a, t        \
	PCLMULQDQ $0x00, k, a \
	PCLMULQDQ $0x11, k, t \
	PXOR      data, a     \
	PXOR      t, a

// func foldCLMUL(r uint32, p []byte, k *constants) uint32
//
// X0-X3 are what is moved, X4 is free, X5 the multipliers, X6 and X8-X10 the
// next octets, X7 a mask.
TEXT ·foldCLMUL(SB), NOSPLIT, $0-44
	MOVL r+0(FP), AX
	MOVQ p_base+8(FP), SI
	MOVQ p_len+16(FP), CX
	MOVQ k+32(FP), DX

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
	// 128 bits to 96: the first 64 go to the second 64 and the 32 after them.
	MOVOU     constants_reduce(DX), X5
	MOVOA     X0, X4
	PSRLDQ    $8, X0
	PCLMULQDQ $0x00, X5, X4
	PXOR      X4, X0

	// 96 bits to 64: the first 32.
	PCMPEQL   X7, X7
	PSRLQ     $32, X7
	MOVOA     X0, X4
	PSRLDQ    $4, X0
	PAND      X7, X4
	PCLMULQDQ $0x10, X5, X4
	PXOR      X4, X0

	// The quotient of 64 bits by the generator, from the first 32 of them; and
	// what it leaves.
	MOVOU     constants_barrett(DX), X5
	MOVOA     X0, X4
	PAND      X7, X4
	PCLMULQDQ $0x00, X5, X4
	PAND      X7, X4
	PCLMULQDQ $0x10, X5, X4
	PXOR      X4, X0
	MOVQ      X0, AX
	SHRQ      $32, AX
	MOVL      AX, ret+40(FP)
	RET

// func featuresECX() uint32
TEXT ·featuresECX(SB), NOSPLIT, $0-4
	MOVL $1, AX
	XORL CX, CX
	CPUID
	MOVL CX, ret+0(FP)
	RET
