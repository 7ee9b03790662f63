package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/satellite"
)

// maxArtifact bounds what is read as an artifact: a satellite with every allowed package is a
// tenth of it.
const maxArtifact = 64 << 20

// digestFile is the SHA-256 and the size of a regular file.
func digestFile(path string) (digest string, size int64, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", 0, fmt.Errorf("%w; install the extension again", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxArtifact {
		return "", 0, fmt.Errorf("%s is no regular file of at most %d bytes; install the extension again", path, maxArtifact)
	}
	return build.FileDigest(path)
}

// copyArtifact copies an artifact into a generation, refusing bytes that are not those that
// were built.
func copyArtifact(from, to, wantDigest string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o500)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := out.Chmod(0o500); err != nil { // whatever the umask
		return err
	}
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(out, hash), io.LimitReader(in, maxArtifact)); err != nil {
		return err
	}
	if digest := "sha256:" + hex.EncodeToString(hash.Sum(nil)); digest != wantDigest {
		return fmt.Errorf("the artifact changed between build and install: %s, not %s", digest, wantDigest)
	}
	return nil
}

// Limits bound a satellite of this record: the memory its manifest asks for, on top of what
// any Go program needs, or the default where it asks for none.
func (r Record) Limits() jail.Limits {
	if r.MemoryMB == 0 {
		return jail.Limits{}
	}
	return jail.Limits{DataBytes: jail.DataFloor + int64(r.MemoryMB)<<20}
}

// unservedTool is a tool that no manifest can declare: names have no double underscore.
const unservedTool = "loomext__unserved"

// askTimeout bounds the one question an install asks of a fresh satellite.
const askTimeout = 10 * time.Second

// askNames starts a satellite and asks it, over its real channel, for a tool that it does not
// have. Its answer names what it serves, which must be what the manifest declares. The level is
// that of the satellite's jail.
func askNames(ctx context.Context, o Options, artifact string, record Record) (jail.Level, error) {
	sat, err := satellite.Launch(ctx, satellite.Config{
		Artifact: artifact, Digest: record.ArtifactDigest, Limits: record.Limits(), Jail: o.Jail,
	})
	if err != nil {
		return "", refuse(LayerJail, err)
	}
	defer sat.Close()
	level := sat.Report().Level
	if o.Builder.Jailed != nil {
		o.Builder.Jailed(sat.Report())
	}
	_, err = sat.Tool(ctx, unservedTool, []byte("{}"), "", askTimeout)
	if ctx.Err() != nil {
		return level, ctx.Err()
	}
	var fault *satellite.Error
	if !errors.As(err, &fault) || fault.Code != wire.CodeUnknownTool {
		return level, refuse(LayerHost, fmt.Errorf("the fresh satellite did not answer with the names of its tools: %s", continued(orNothing(err))))
	}
	want := make([]string, 0, len(record.Tools))
	for _, tool := range record.Tools {
		want = append(want, tool.Name)
	}
	slices.Sort(want)
	if served := servedNames(fault.Msg); !slices.Equal(served, want) {
		return level, refuse(LayerHost, fmt.Errorf("the satellite serves [%s] and the manifest declares [%s]", strings.Join(served, ", "), strings.Join(want, ", ")))
	}
	return level, nil
}

// continued indents the lines after the first, so that foreign text cannot begin a line.
func continued(err error) string {
	return strings.ReplaceAll(strings.TrimRight(err.Error(), "\n"), "\n", "\n  ")
}

func orNothing(err error) error {
	if err == nil {
		return errors.New("it answered the call")
	}
	return err
}

// servedNames reads the names out of an unknown_tool answer, which ends in `served: "a", "b"`
// or in "served: no tools". Text of another form gives a name that no manifest has.
func servedNames(msg string) []string {
	_, after, _ := strings.Cut(msg, "served: ")
	if after == "no tools" {
		return nil
	}
	var names []string
	for _, quoted := range strings.Split(after, ", ") {
		name, err := strconv.Unquote(quoted)
		if err != nil {
			return []string{msg}
		}
		names = append(names, name)
	}
	return names
}
