//go:build unix

package broker

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a process group of its own, all of which is killed with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
			return err // it has been waited for, so its number may be another's
		}
		return endGroup(cmd)
	}
}

// endGroup kills what is left of a group that has a member.
func endGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
