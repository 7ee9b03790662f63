#include "textflag.h"

// func vfork() int
TEXT ·vfork(SB), NOSPLIT, $0-8
	MOVQ	$58, AX // vfork
	SYSCALL
	TESTQ	AX, AX
	JNZ	parent
	MOVQ	$60, AX // exit, without having touched the shared stack
	XORQ	DI, DI
	SYSCALL
	HLT
parent:
	MOVQ	AX, ret+0(FP)
	RET

// func sleeper(flags uintptr, timespec *[2]int64) int
TEXT ·sleeper(SB), NOSPLIT, $0-24
	MOVQ	flags+0(FP), DI
	MOVQ	timespec+8(FP), R12
	XORQ	SI, SI // the parent's stack, which the child never touches
	XORQ	DX, DX
	XORQ	R10, R10
	XORQ	R8, R8
	MOVQ	$56, AX // clone
	SYSCALL
	TESTQ	AX, AX
	JNZ	parent
asleep:
	MOVQ	R12, DI
	XORQ	SI, SI
	MOVQ	$35, AX // nanosleep
	SYSCALL
	JMP	asleep
parent:
	MOVQ	AX, ret+16(FP)
	RET

// func interrupt80(number, a, b, c uint32) int32
TEXT ·interrupt80(SB), NOSPLIT, $0-20
	MOVL	number+0(FP), AX
	MOVL	a+4(FP), BX
	MOVL	b+8(FP), CX
	MOVL	c+12(FP), DX
	XORL	SI, SI
	XORL	DI, DI
	INT	$0x80
	MOVL	AX, ret+16(FP)
	RET

// func textAddress() uintptr
TEXT ·textAddress(SB), NOSPLIT, $0-8
	LEAQ	·vfork(SB), AX
	MOVQ	AX, ret+0(FP)
	RET
