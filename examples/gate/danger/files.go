package danger

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"example.com/gate/shell"
)

// systemDirs are the directories whose loss takes a system or a person's files with it.
var systemDirs = map[string]bool{
	"/": true, "/bin": true, "/boot": true, "/dev": true, "/etc": true, "/home": true, "/lib": true, "/lib32": true, "/lib64": true, "/mnt": true,
	"/media": true, "/opt": true, "/proc": true, "/root": true, "/run": true, "/sbin": true, "/srv": true, "/sys": true, "/usr": true,
	"/usr/bin": true, "/usr/lib": true, "/usr/local": true, "/usr/sbin": true, "/usr/share": true, "/var": true, "/var/lib": true, "/var/log": true,
	"/Applications": true, "/Library": true, "/System": true, "/Users": true, "/Volumes": true, "/private": true, "/private/etc": true, "/private/var": true,
	"/c": true, "/mnt/c": true,
}

var (
	homeOf = regexp.MustCompile(`^/(home|Users)/[^/]+$`)
	// unset is a path that is the root, or all that is in it, where a variable is empty.
	unset = regexp.MustCompile(`^\$([A-Za-z_][A-Za-z0-9_]*)/+(\*|\.\*)?$`)
)

// root says what a word names where that is a system's or a person's whole tree, or is empty.
func root(w shell.Word) string {
	text := w.Text
	if w.Expands {
		// What is in a directory is as much as the directory.
		for _, all := range []string{"/*", "/.*", "/{*,.*}", "/.[!.]*"} {
			text = strings.TrimSuffix(text, all)
		}
		if text == "" && w.Text != "" && strings.HasPrefix(w.Text, "/") {
			text = "/"
		}
	}
	switch {
	case w.Home && (text == "~" || text == "~/"), w.Expands && (text == "$HOME" || text == "$HOME/" || text == "${HOME:?}" || text == "${HOME:?}/"):
		return "the home directory"
	case w.Home && !strings.Contains(text[1:], "/") && text != "~" && text[1:] != "+" && text[1:] != "-":
		return "a home directory"
	case w.Expands && unset.MatchString(w.Text) && !strings.HasPrefix(w.Text, "$HOME/") && !strings.HasPrefix(w.Text, "$PWD/") && !strings.HasPrefix(w.Text, "$TMPDIR/"):
		return "/ where " + strings.TrimRight(w.Text, "/*.") + " is empty"
	case !strings.HasPrefix(text, "/"):
		return ""
	}
	clean := path.Clean(text)
	if systemDirs[clean] || homeOf.MatchString(clean) {
		return clean
	}
	return ""
}

func removesRoot(run shell.Run) string {
	short, long := flags(run.Args)
	switch run.Program {
	case "rm":
		if long["no-preserve-root"] {
			return "--no-preserve-root is for removing the whole system; name the directory you mean without it"
		}
		if !short["r"] && !short["R"] && !long["recursive"] {
			return ""
		}
	case "find":
		return findsAndRemoves(run)
	default:
		return ""
	}
	for _, w := range operands(run.Args) {
		if what := root(w); what != "" {
			return fmt.Sprintf("%s removes %s and all that is in it; name the one directory you mean%s", shown(run), what, guard(what))
		}
	}
	return ""
}

// guard is what to write so that an empty variable ends the command.
func guard(what string) string {
	if _, name, ok := strings.Cut(what, "where $"); ok {
		name, _, _ = strings.Cut(name, " ")
		return ", or write ${" + name + ":?} so that an empty variable ends the command"
	}
	return ""
}

// findsAndRemoves objects to a find that removes all that is below a root.
func findsAndRemoves(run shell.Run) string {
	removes, narrowed := false, false
	var start string
	for i, w := range run.Args {
		switch {
		case w.Text == "-delete":
			removes = true
		case (w.Text == "-exec" || w.Text == "-execdir") && i+1 < len(run.Args) && path.Base(run.Args[i+1].Text) == "rm":
			removes = true
		case strings.HasPrefix(w.Text, "-") && strings.HasSuffix(w.Text, "name"), w.Text == "-path", w.Text == "-regex", w.Text == "-user", strings.HasSuffix(w.Text, "time"), w.Text == "-size", w.Text == "-empty":
			narrowed = true
		case start == "" && !strings.HasPrefix(w.Text, "-"):
			start = root(w)
		}
	}
	if removes && !narrowed && start != "" {
		return fmt.Sprintf("find removes all that is below %s; name a directory further down, and what to look for", start)
	}
	return ""
}

func removesGit(run shell.Run) string {
	if run.Program != "rm" {
		return ""
	}
	short, long := flags(run.Args)
	for _, w := range operands(run.Args) {
		if (short["r"] || short["R"] || long["recursive"]) && path.Base(path.Clean(w.Text)) == ".git" {
			return "removing " + w.Text + " loses the whole history of the repository; ask the person before that"
		}
	}
	return ""
}

var disk = regexp.MustCompile(`^/dev/(sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|disk\d|rdisk\d|md\d|dm-\d|mapper/|loop\d)`)

func overwritesDisk(run shell.Run) string {
	for _, w := range run.Writes {
		if disk.MatchString(w.Text) {
			return "the output would be written over the disk " + w.Text + "; write to a file"
		}
	}
	name, _, _ := strings.Cut(run.Program, ".")
	switch name {
	case "mkfs", "mke2fs", "wipefs", "mkswap", "blkdiscard":
		for _, w := range operands(run.Args) {
			if strings.HasPrefix(w.Text, "/dev/") {
				return run.Program + " destroys what is on " + w.Text + "; use a file as the image of a disk"
			}
		}
	case "shred", "tee", "cp", "mv", "cat":
		rest := operands(run.Args)
		if len(rest) > 0 && name != "cat" && disk.MatchString(rest[len(rest)-1].Text) {
			return run.Program + " would write over the disk " + rest[len(rest)-1].Text + "; name a file"
		}
	case "dd":
		for _, w := range run.Args {
			if to, ok := strings.CutPrefix(w.Text, "of="); ok && disk.MatchString(to) {
				return "dd would write over the disk " + to + "; write to a file"
			}
		}
	}
	return ""
}

var systemFile = regexp.MustCompile(`^/(private/)?etc/(passwd|shadow|gshadow|group|sudoers|sudoers\.d/.*|fstab|crypttab|pam\.d/.*|ld\.so\.preload)$`)

func overwritesSystemFile(run shell.Run) string {
	written := run.Writes
	if run.Program == "tee" {
		written = operands(run.Args)
	}
	for _, w := range written {
		if systemFile.MatchString(path.Clean(w.Text)) {
			return "writing " + w.Text + " can lock everybody out of this machine; ask the person to do it"
		}
	}
	return ""
}

func opensPermissions(run shell.Run) string {
	short, long := flags(run.Args)
	if !short["R"] && !long["recursive"] {
		return ""
	}
	rest := operands(run.Args)
	if len(rest) < 2 || run.Program != "chmod" && run.Program != "chown" && run.Program != "chgrp" {
		return ""
	}
	for _, w := range rest[1:] {
		if what := root(w); what != "" {
			return fmt.Sprintf("%s changes the permissions of %s and all that is in it; name the files you mean", shown(run), what)
		}
	}
	return ""
}

// shown is a program with its first words, as a reason repeats it.
func shown(run shell.Run) string {
	const enough = 60
	parts := []string{run.Program}
	for _, w := range run.Args {
		parts = append(parts, w.Text)
	}
	text := []rune(strings.Join(parts, " "))
	if len(text) > enough {
		return string(text[:enough]) + "…"
	}
	return string(text)
}
