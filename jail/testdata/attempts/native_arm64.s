#include "textflag.h"

// func vfork() int
TEXT ·vfork(SB), NOSPLIT, $0-8
	MOVD	$0x4111, R0 // CLONE_VM | CLONE_VFORK | SIGCHLD
	MOVD	ZR, R1
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	MOVD	$220, R8 // clone
	SVC
	CBNZ	R0, parent
	MOVD	$93, R8 // exit, without having touched the shared stack
	SVC
	BRK
parent:
	MOVD	R0, ret+0(FP)
	RET

// func sleeper(flags uintptr, timespec *[2]int64) int
TEXT ·sleeper(SB), NOSPLIT, $0-24
	MOVD	flags+0(FP), R0
	MOVD	timespec+8(FP), R9
	MOVD	ZR, R1 // the parent's stack, which the child never touches
	MOVD	ZR, R2
	MOVD	ZR, R3
	MOVD	ZR, R4
	MOVD	$220, R8 // clone
	SVC
	CBNZ	R0, parent
asleep:
	MOVD	R9, R0
	MOVD	ZR, R1
	MOVD	$101, R8 // nanosleep
	SVC
	B	asleep
parent:
	MOVD	R0, ret+16(FP)
	RET

// func textAddress() uintptr
TEXT ·textAddress(SB), NOSPLIT, $0-8
	MOVD	$·vfork(SB), R0
	MOVD	R0, ret+0(FP)
	RET
