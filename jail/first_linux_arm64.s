#include "textflag.h"

// first is the whole of the program that is the first process of a command. It is
// never run here: see firstProcess. It uses no memory but its stack, and nothing of Go.
TEXT ·first(SB), NOSPLIT|NOFRAME, $0-0
	MOVD	RSP, R19
	MOVD	(R19), R20 // the number of arguments
	ADD	$8, R19, R21 // the arguments
	ADD	R20<<3, R21, R22
	ADD	$8, R22, R22 // the environment
	SUB	$64, R19, R24 // room for a status
	MOVD	$17, R0 // SIGCHLD
	MOVD	ZR, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	MOVD	$220, R8 // clone
	SVC
	CBZ	R0, child
	TBNZ	$63, R0, lost
	MOVD	R0, R23
wait:
	MOVD	$-1, R0
	MOVD	R24, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	$260, R8 // wait4, for any child: what lost its parent is one as well
	SVC
	CMP	R23, R0
	BNE	wait
	MOVWU	(R24), R1
	AND	$0x7f, R1, R0 // the signal that ended it
	CBZ	R0, status
	ADD	$128, R0, R0
	B	exit
status:
	LSR	$8, R1, R0
	AND	$0xff, R0, R0
exit:
	MOVD	$94, R8 // exit_group
	SVC
	B	exit

child:
	MOVD	(R21), R0
	MOVD	R21, R1
	MOVD	R22, R2
	MOVD	$221, R8 // execve
	SVC
	ADD	$2, R0, R1 // ENOENT
	MOVD	$127, R0
	CBZ	R1, exit
lost:
	MOVD	$126, R0
	B	exit

TEXT ·firstEnd(SB), NOSPLIT|NOFRAME, $0-0
	RET

// func firstCode() (from, to uintptr)
TEXT ·firstCode(SB), NOSPLIT|NOFRAME, $0-16
	MOVD	$·first(SB), R0
	MOVD	R0, from+0(FP)
	MOVD	$·firstEnd(SB), R0
	MOVD	R0, to+8(FP)
	RET
