package build

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path/filepath"
	"runtime"
	"slices"
)

// formatVersion is part of every key. Raise it when this package changes what it builds from the same inputs.
const formatVersion = "loomext-build/1"

// flags are the arguments of every build. The linker's -d refuses dynamic imports, which //go:cgo_import_dynamic could
// smuggle in; an empty build ID and -trimpath keep the place of the build out of the file.
func flags() []string {
	return []string{"-mod=vendor", "-trimpath", "-buildvcs=false", "-pgo=off", "-ldflags=-s -w -d -buildid="}
}

// recordedEnv is the part of the environment that can change the output. Nothing is inherited, so a variable that is not
// here or in [environment] is not set: no HOME (no telemetry), no GOCACHEPROG, GOTOOLDIR, GOEXPERIMENT or CC. GOENV=off
// matters most: without it an empty GOFLAGS counts as unset and the user's `go env -w` file decides.
func recordedEnv() []string {
	env := append(neutralEnv(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "GOFIPS140=off")
	switch runtime.GOARCH {
	case "amd64":
		env = append(env, "GOAMD64=v1")
	case "arm64":
		env = append(env, "GOARM64=v8.0")
	}
	slices.Sort(env)
	return env
}

// neutralEnv closes every other source of settings, code and network that the go command knows.
func neutralEnv() []string {
	return []string{
		"GOENV=off", "GOFLAGS=", "GOPROXY=off", "GOSUMDB=off", "GOVCS=*:off", "GOAUTH=off", "GOTOOLCHAIN=local",
		"GOWORK=off", "GO111MODULE=on", "GOPACKAGESDRIVER=off",
	}
}

// environment is the whole environment of a build: what can change the output, and where things are.
func environment(t Toolchain, goCache, tmp string) []string {
	env := append(recordedEnv(),
		"PATH="+filepath.Join(t.GoRoot, "bin"),
		"GOROOT="+t.GoRoot,
		"GOCACHE="+goCache,
		"GOMODCACHE="+nowhere,
		"GOPATH="+nowhere,
		"TMPDIR="+tmp,
	)
	slices.Sort(env)
	return env
}

// nowhere is a path that cannot be made by a user and is not there.
const nowhere = "/nonexistent"

// probeEnvironment is for go version and go env, which build nothing. A wrapper script may need the system's own tools.
func probeEnvironment(goDir string) []string {
	env := append(neutralEnv(), "PATH="+goDir+string(filepath.ListSeparator)+"/usr/bin"+string(filepath.ListSeparator)+"/bin",
		"GOCACHE=off", "GOMODCACHE="+nowhere, "GOPATH="+nowhere)
	slices.Sort(env)
	return env
}

// artifactKey is the hex digest of everything that can change a satellite.
func artifactKey(rootDigest string, t Toolchain) string {
	parts := append([]string{formatVersion, "artifact", rootDigest, t.Version, t.Stamp}, recordedEnv()...)
	return keyOf(append(parts, flags()...))
}

// keyOf is a hex SHA-256 over length-prefixed parts.
func keyOf(parts []string) string {
	h := sha256.New()
	var length [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(p)))
		h.Write(length[:])
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}
