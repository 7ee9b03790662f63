package danger

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.com/gate/shell"
)

// fetchers bring text from elsewhere, and decoders make one out of another that nobody reads.
var (
	fetchers = map[string]bool{"curl": true, "wget": true, "fetch": true, "http": true, "https": true, "xh": true, "aria2c": true, "lynx": true, "nc": true, "ncat": true}
	decoders = map[string]bool{"base64": true, "base32": true, "xxd": true, "openssl": true, "uudecode": true}
	// interpreters run what they read where they are given no program of their own.
	interpreters = regexp.MustCompile(`^(python[0-9.]*|perl|ruby|node|nodejs|deno|bun|php|lua|osascript)$`)
)

func pipesToShell(run shell.Run) string {
	from := ""
	for _, name := range run.From {
		if fetchers[name] || decoders[name] {
			from = name
		}
	}
	if from == "" || !runsItsInput(run) {
		return ""
	}
	return fmt.Sprintf("%s runs what %s gives it before anybody has read it; save it to a file, read it, and run that", run.Program, from)
}

// runsItsInput reports whether a program runs the text that a pipe or a substitution gives it.
func runsItsInput(run shell.Run) bool {
	substituted := func(w shell.Word) bool {
		return w.Expands && (strings.TrimSpace(w.Text) == "" || w.Text == "/dev/fd/63")
	}
	switch {
	case run.Program == "eval":
		return slices.ContainsFunc(run.Args, substituted)
	case run.Program == "source" || run.Program == ".":
		return len(run.Args) > 0 && (substituted(run.Args[0]) || run.Args[0].Text == "/dev/stdin")
	case shell.Shells[run.Program]:
		return shell.ReadsScript(run) || slices.ContainsFunc(run.Args, substituted)
	case interpreters.MatchString(run.Program):
		for _, w := range run.Args {
			if w.Text == "-" || substituted(w) {
				return true
			}
			if !strings.HasPrefix(w.Text, "-") || strings.ContainsAny(w.Text, "cem") && !strings.HasPrefix(w.Text, "--") {
				return false // a script, a module or a text of its own
			}
		}
		return true
	}
	return false
}

// gitGlobals are the options before git's command that take the next word.
var gitGlobals = map[string]bool{"-C": true, "-c": true, "--git-dir": true, "--work-tree": true, "--namespace": true, "--exec-path": true}

func forcePushes(run shell.Run) string {
	if run.Program != "git" {
		return ""
	}
	args := run.Args
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		skip := 1
		if gitGlobals[args[0].Text] {
			skip = 2
		}
		args = args[min(skip, len(args)):]
	}
	if len(args) == 0 || args[0].Text != "push" {
		return ""
	}
	const lease = "; push to a branch of your own, or use --force-with-lease after a fetch"
	short, long := flags(args[1:])
	switch {
	case long["force"] || short["f"]:
		return "a forced push throws away what others have pushed" + lease
	case long["mirror"]:
		return "git push --mirror removes every branch of the remote that is not here; push the branches you mean"
	}
	for _, w := range operands(args[1:]) {
		if strings.HasPrefix(w.Text, "+") && len(w.Text) > 1 {
			return "the + before " + w.Text[1:] + " forces the push, which throws away what others have pushed" + lease
		}
	}
	return ""
}

func powersOff(run shell.Run) string {
	const stop = " stops the machine that everything here runs on; ask the person to do it"
	switch run.Program {
	case "shutdown", "reboot", "halt", "poweroff":
		_, long := flags(run.Args)
		if long["help"] || long["version"] {
			return ""
		}
		return run.Program + stop
	case "init", "telinit":
		if len(run.Args) == 1 && (run.Args[0].Text == "0" || run.Args[0].Text == "6") {
			return run.Program + " " + run.Args[0].Text + stop
		}
	case "systemctl":
		for _, w := range operands(run.Args) {
			if slices.Contains([]string{"poweroff", "reboot", "halt", "kexec"}, w.Text) {
				return "systemctl " + w.Text + stop
			}
		}
	}
	return ""
}

func killsAll(run shell.Run) string {
	switch run.Program {
	case "kill":
		if n := len(run.Args); n > 1 && run.Args[n-1].Text == "-1" {
			return "kill … -1 ends every process there is; name the one you mean"
		}
	case "crontab":
		if short, _ := flags(run.Args); short["r"] {
			return "crontab -r removes every job there is, without asking; edit the one you mean"
		}
	}
	return ""
}

// readers show or carry away what is in a file. Programs that use a key for what it is for (ssh,
// ssh-add, git) are none.
var readers = map[string]bool{
	"cat": true, "less": true, "more": true, "head": true, "tail": true, "bat": true, "base64": true, "xxd": true, "od": true, "strings": true, "hexdump": true,
	"cp": true, "scp": true, "rsync": true, "tar": true, "zip": true, "curl": true, "wget": true, "nc": true, "grep": true, "rg": true, "awk": true, "sed": true,
	"tee": true, "dd": true, "python": true, "python3": true, "openssl": true, "sort": true, "nl": true, "tac": true, "vim": true, "nano": true,
}

var credential = regexp.MustCompile(`(^|[/@=])(\.ssh/(id_[a-z0-9_]+|identity)|\.aws/credentials|\.netrc|\.pgpass|\.git-credentials|\.docker/config\.json|\.kube/config|\.npmrc|\.pypirc|\.gnupg/.*|\.config/gh/hosts\.yml|\.config/gcloud/.*(credentials|access_tokens).*)$|(^|[@=])(/private)?/etc/(shadow|gshadow|sudoers)$`)

func readsCredentials(run shell.Run) string {
	if !readers[run.Program] {
		return ""
	}
	for _, w := range run.Args {
		if credential.MatchString(path.Clean(w.Text)) {
			return fmt.Sprintf("%s would put the credentials in %s into this conversation or somewhere else; use the program that they are for, or ask the person", run.Program, strings.TrimLeft(w.Text, "@"))
		}
	}
	return ""
}

var wholeBucket = regexp.MustCompile(`^s3://[^/]*/?$`)

func destroysInfrastructure(run shell.Run) string {
	rest := operands(run.Args)
	has := func(i int, words ...string) bool { return len(rest) > i && slices.Contains(words, rest[i].Text) }
	short, long := flags(run.Args)
	switch run.Program {
	case "terraform", "tofu", "terragrunt":
		for _, w := range run.Args {
			if w.Text == "-auto-approve" || w.Text == "--auto-approve" {
				if has(0, "destroy") || slices.ContainsFunc(run.Args, func(w shell.Word) bool { return w.Text == "-destroy" }) {
					return run.Program + " destroy -auto-approve removes everything of the stack unasked; make a plan, and have the person apply it"
				}
			}
		}
	case "kubectl":
		if has(0, "delete") && (long["all"] || long["all-namespaces"] || short["A"] || has(1, "namespace", "ns", "namespaces")) {
			return "kubectl delete of everything, or of a namespace, takes what others run there with it; name the objects you mean"
		}
	case "dropdb":
		return "dropdb removes a database; ask the person to do it"
	case "aws":
		if has(0, "s3") && (has(1, "rb") && long["force"] || has(1, "rm") && long["recursive"] && len(rest) > 2 && wholeBucket.MatchString(rest[2].Text)) {
			return "this removes all objects of a bucket; name the prefix, list it, and have the person remove it"
		}
	}
	return ""
}
