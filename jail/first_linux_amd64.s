#include "textflag.h"

// first is the whole of the program that is the first process of a command. It is
// never run here: see firstProcess. It uses no memory but its stack, and nothing of Go.
TEXT ·first(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ	SP, BX
	MOVQ	(BX), R12          // the number of arguments
	LEAQ	8(BX), R13         // the arguments
	LEAQ	16(BX)(R12*8), R14 // the environment
	SUBQ	$64, BX            // room for a status
	MOVL	$57, AX            // fork
	SYSCALL
	TESTQ	AX, AX
	JZ	child
	JLT	lost
	MOVQ	AX, R12
wait:
	MOVL	$61, AX // wait4, for any child: what lost its parent is one as well
	MOVQ	$-1, DI
	MOVQ	BX, SI
	XORL	DX, DX
	XORL	R10, R10
	SYSCALL
	CMPQ	AX, R12
	JNE	wait
	MOVL	(BX), AX
	MOVL	AX, DI
	ANDL	$0x7f, DI // the signal that ended it
	JZ	status
	ADDL	$128, DI
	JMP	exit
status:
	MOVL	AX, DI
	SHRL	$8, DI
	ANDL	$0xff, DI
exit:
	MOVL	$231, AX // exit_group
	SYSCALL
	JMP	exit

child:
	MOVQ	(R13), DI
	MOVQ	R13, SI
	MOVQ	R14, DX
	MOVL	$59, AX // execve
	SYSCALL
	MOVL	$127, DI
	CMPQ	AX, $-2 // ENOENT
	JEQ	exit
lost:
	MOVL	$126, DI
	JMP	exit

TEXT ·firstEnd(SB), NOSPLIT|NOFRAME, $0-0
	RET

// func firstCode() (from, to uintptr)
TEXT ·firstCode(SB), NOSPLIT|NOFRAME, $0-16
	LEAQ	·first(SB), AX
	MOVQ	AX, from+0(FP)
	LEAQ	·firstEnd(SB), AX
	MOVQ	AX, to+8(FP)
	RET
