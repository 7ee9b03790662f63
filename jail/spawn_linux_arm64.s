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
	MOVD	flags+0(FP), R0
	MOVD	first+8(FP), R19
	MOVD	fault+16(FP), R21
	MOVD	ZR, R1 // the stack pointer stays
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	MOVD	$220, R8 // clone
	SVC
	CBZ	R0, child
	MOVD	R0, pid+24(FP)
	RET

child:
	MOVD	R19, R20 // the first call: jumps are offsets from it
make:
	MOVD	NUMBER(R19), R8
	MOVD	(ARGUMENT+0)(R19), R0
	MOVD	(ARGUMENT+8)(R19), R1
	MOVD	(ARGUMENT+16)(R19), R2
	MOVD	(ARGUMENT+24)(R19), R3
	MOVD	(ARGUMENT+32)(R19), R4
	MOVD	(ARGUMENT+40)(R19), R5
	SVC
	MOVD	R0, RESULT(R19)
	TBNZ	$63, R0, failed
	MOVD	INTO(R19), R22
	CBZ	R22, judge
	MOVD	R0, (R22)
	MOVD	ALSO(R19), R22
	CBZ	R22, judge
	MOVD	R0, (R22)
judge:
	CBZ	R0, next
	MOVD	ONVALUE(R19), R22
	CBNZ	R22, jump
next:
	ADD	$SIZE, R19
	B	make
failed:
	MOVD	ONERROR(R19), R22
	CBZ	R22, die
jump:
	ADD	R20, R22, R19
	B	make
die:
	MOVD	R19, (R21)
exit:
	MOVD	$94, R8 // exit_group
	MOVD	$127, R0
	SVC
	B	exit
