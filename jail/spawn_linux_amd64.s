#include "textflag.h"

// The fields of a call.
#define NUMBER   0
#define ARGUMENT 8
#define RESULT   56
#define INTO     64
#define ONERROR  72
#define ONVALUE  80
#define ALSO     88
#define SIZE     96

// func spawn(flags uintptr, first *call, fault *uintptr) (pid int)
//
// The child makes the calls of the table one after another and never returns
// from here. It has no stack of its own and does not touch the one it shares.
TEXT ·spawn(SB), NOSPLIT|NOFRAME, $0-32
	MOVQ	flags+0(FP), DI
	MOVQ	first+8(FP), R12
	MOVQ	fault+16(FP), R15
	XORL	SI, SI // the stack pointer stays
	XORL	DX, DX
	XORL	R10, R10
	XORL	R8, R8
	MOVL	$56, AX // clone
	SYSCALL
	TESTQ	AX, AX
	JZ	child
	MOVQ	AX, pid+24(FP)
	RET

child:
	MOVQ	R12, R13 // the first call: jumps are offsets from it
make:
	MOVQ	NUMBER(R12), AX
	MOVQ	(ARGUMENT+0)(R12), DI
	MOVQ	(ARGUMENT+8)(R12), SI
	MOVQ	(ARGUMENT+16)(R12), DX
	MOVQ	(ARGUMENT+24)(R12), R10
	MOVQ	(ARGUMENT+32)(R12), R8
	MOVQ	(ARGUMENT+40)(R12), R9
	SYSCALL
	MOVQ	AX, RESULT(R12)
	TESTQ	AX, AX
	JLT	failed
	MOVQ	INTO(R12), BX
	TESTQ	BX, BX
	JZ	judge
	MOVQ	AX, (BX)
	MOVQ	ALSO(R12), BX
	TESTQ	BX, BX
	JZ	judge
	MOVQ	AX, (BX)
judge:
	TESTQ	AX, AX
	JZ	next
	MOVQ	ONVALUE(R12), BX
	TESTQ	BX, BX
	JNZ	jump
next:
	ADDQ	$SIZE, R12
	JMP	make
failed:
	MOVQ	ONERROR(R12), BX
	TESTQ	BX, BX
	JZ	die
jump:
	LEAQ	(R13)(BX*1), R12
	JMP	make
die:
	MOVQ	R12, (R15)
exit:
	MOVL	$231, AX // exit_group
	MOVL	$127, DI
	SYSCALL
	JMP	exit
