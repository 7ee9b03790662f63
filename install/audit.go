package install

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/gen"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/source"
	"github.com/loomext/loomext/vet"
)

// audit re-derives what a generation says of itself. Its steps run in order and each
// leaves what it read for the next; [Store.Load] stops at the first that fails and
// [Store.Verify] goes on as far as it can.
type audit struct {
	store    *Store
	name     string
	base     string // of the generation
	record   Record
	tree     source.Tree
	manifest manifest.Manifest
	config   manifest.Config
	seal     bool        // the artifact is to be launched
	image    *jail.Image // of the artifact, where it is
	unjailed error       // the jail refused what a check wanted to run
}

// letGo gives up the image of an audit that came to nothing.
func (a *audit) letGo() {
	if a.image != nil {
		_ = a.image.Close()
	}
}

// auditStep is one check by its name in a verification.
type auditStep struct {
	name  string
	check func(context.Context) (detail string, err error)
	// needs names the steps that must have passed for this one to mean anything.
	needs []string
}

// The names of the checks, as a verification prints them.
const (
	checkLink     = "link"
	checkRecord   = "record"
	checkTree     = "tree"
	checkArtifact = "artifact"
	checkManifest = "manifest"
	checkApproval = "approval"
	checkSeam     = "seam"
	checkProgram  = "program"
	checkVetting  = "vetting"
	checkRebuild  = "rebuild"
)

// CheckJail is the name of the check that says what stood around the build.
const CheckJail = "jail"

// loadSteps are the checks of every load. They take milliseconds and no toolchain.
func (a *audit) loadSteps() []auditStep {
	return []auditStep{
		{name: checkLink, check: a.checkLink},
		{name: checkRecord, check: a.checkRecord, needs: []string{checkLink}},
		{name: checkTree, check: a.checkTree, needs: []string{checkRecord}},
		{name: checkArtifact, check: a.checkArtifact, needs: []string{checkRecord}},
		{name: checkManifest, check: a.checkManifest, needs: []string{checkTree}},
		{name: checkApproval, check: a.checkApproval, needs: []string{checkManifest}},
		{name: checkSeam, check: a.checkSeam, needs: []string{checkRecord}},
		{name: checkProgram, check: a.checkProgram, needs: []string{checkArtifact, checkApproval}},
	}
}

func (a *audit) dir() string { return a.store.generation(a.base) }

func (a *audit) checkLink(context.Context) (string, error) {
	base, err := a.store.current(a.name)
	if err != nil {
		return "", err
	}
	a.base = base
	dir, err := openDir(a.dir())
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		err = errors.New("it is no directory")
	}
	if err != nil {
		return "", fmt.Errorf("the link of %s names a generation that cannot be read (%w); install %s again", a.name, err, a.name)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return "", err
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains([]string{treeName, artifactName, recordName}, name) {
			return "", fmt.Errorf("%s does not belong to a generation; remove it, or install %s again", filepath.Join(a.dir(), name), a.name)
		}
	}
	return base, nil
}

func (a *audit) checkRecord(context.Context) (string, error) {
	want := strings.TrimPrefix(a.base, a.name+"-")
	record, err := readRecord(filepath.Join(a.dir(), recordName), want)
	if err != nil {
		return "", err
	}
	if record.Name != a.name {
		return "", fmt.Errorf("%s is of %q and is linked as %q; install it again", recordName, record.Name, a.name)
	}
	a.record = record
	return "sha256:" + want, nil
}

func (a *audit) checkTree(ctx context.Context) (string, error) {
	dir := filepath.Join(a.dir(), treeName)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s of the generation is no directory; install %s again", treeName, a.name)
	}
	tree, err := source.Reopen(ctx, dir, a.record.Module)
	if err != nil {
		return "", err
	}
	if tree.Digest() != a.record.TreeDigest {
		return "", fmt.Errorf("%s has digest %s and the record says %s: changed: %s; install %s again",
			treeName, tree.Digest(), a.record.TreeDigest, a.changedFiles(tree), a.name)
	}
	if changed := a.changedFiles(tree); changed != "" {
		return "", fmt.Errorf("the record's files are not those of its tree: changed: %s; install %s again", changed, a.name)
	}
	a.tree = tree
	return tree.Digest(), nil
}

// changedFiles names the files of a tree that are not those the record was made of, or is empty.
func (a *audit) changedFiles(tree source.Tree) string {
	var changed []string
	for _, path := range tree.Paths() {
		data, _ := tree.File(path)
		if want, ok := a.record.Files[path]; !ok || want != sum(data) {
			changed = append(changed, path)
		}
	}
	for path := range a.record.Files {
		if _, ok := tree.File(path); !ok {
			changed = append(changed, path+" (gone)")
		}
	}
	slices.Sort(changed)
	return strings.Join(changed, ", ")
}

func (a *audit) checkArtifact(context.Context) (string, error) {
	if a.seal {
		return a.sealArtifact()
	}
	digest, size, err := digestFile(filepath.Join(a.dir(), artifactName))
	if err != nil {
		return "", err
	}
	return a.sameArtifact(digest, size)
}

// sealArtifact checks the artifact by taking it into sealed memory. Where that fails the file
// says why: either it is not the recorded one, or the jail cannot hold it.
func (a *audit) sealArtifact() (string, error) {
	path := filepath.Join(a.dir(), artifactName)
	image, err := jail.Seal(path, a.record.ArtifactDigest)
	if err != nil {
		digest, size, fileErr := digestFile(path)
		if fileErr == nil {
			_, fileErr = a.sameArtifact(digest, size)
		}
		if fileErr != nil {
			return "", fileErr
		}
		return "", refuse(LayerJail, err)
	}
	a.image = image
	return a.sameArtifact(image.Digest(), image.Size())
}

// sameArtifact holds what was read against the record.
func (a *audit) sameArtifact(digest string, size int64) (string, error) {
	if digest != a.record.ArtifactDigest || size != a.record.ArtifactSize {
		return "", fmt.Errorf("%s has digest %s and %d bytes, and the record says %s and %d; install %s again",
			artifactName, digest, size, a.record.ArtifactDigest, a.record.ArtifactSize, a.name)
	}
	return digest, nil
}

// checkManifest decodes the installed manifest and holds it against the record, field by field.
func (a *audit) checkManifest(context.Context) (string, error) {
	text, ok := a.tree.File(manifest.FileName)
	if !ok {
		return "", fmt.Errorf("the installed tree has no %s; install %s again", manifest.FileName, a.name)
	}
	m, err := manifest.Decode(text, a.tree)
	if err != nil {
		return "", fmt.Errorf("this loomext does not accept the manifest that was installed: %w", err)
	}
	derived := a.record
	if err := derived.terms(m); err != nil {
		return "", err
	}
	differ, err := differences(a.record, derived, approvedTerms)
	if err != nil {
		return "", err
	}
	if len(differ) > 0 {
		fields := make([]string, len(differ))
		for i, change := range differ {
			fields[i] = change.Field
		}
		return "", fmt.Errorf("the record and the installed manifest disagree about %s; install %s again", strings.Join(fields, ", "), a.name)
	}
	a.manifest = m
	return m.Revision(), nil
}

// checkApproval recomputes configuration, fingerprint and approval key.
func (a *audit) checkApproval(context.Context) (string, error) {
	r := a.record
	config, err := a.manifest.Config().Apply(manifest.Overrides(r.Overrides))
	if err != nil {
		return "", fmt.Errorf("the overrides in the record do not fit the manifest: %w; install %s again", err, a.name)
	}
	fingerprint := manifest.Fingerprint(r.Revision, r.Granted)
	key := manifest.ApprovalKey(fingerprint, r.Overrides, r.TreeDigest)
	for _, granted := range r.Granted {
		if !slices.Contains(r.Requested, granted) {
			return "", fmt.Errorf("the record grants %s, which the manifest does not request; install %s again", granted, a.name)
		}
	}
	for _, field := range []struct{ name, have, want string }{
		{"config", string(r.Config), string(config.JSON())},
		{"fingerprint", r.Fingerprint, fingerprint},
		{"approval_key", r.ApprovalKey, key},
	} {
		if field.have != field.want {
			return "", fmt.Errorf("%s in the record is %s and is derived as %s; install %s again", field.name, field.have, field.want, a.name)
		}
	}
	a.config = config
	return key, nil
}

// checkSeam holds the seam that the source was vetted against beside this program's. A seam
// that differs is a question for the operator.
func (a *audit) checkSeam(context.Context) (string, error) {
	now := vet.CurrentSeam()
	then := a.record.Seam
	if then.Version != now.Version || !slices.Equal(then.Allow, now.Allow) || !slices.Equal(then.Denied, now.Denied) {
		return "", fmt.Errorf("%s was vetted against seam %d and this loomext has seam %d, with other rules; install it again to approve it under these", a.name, then.Version, now.Version)
	}
	return fmt.Sprintf("version %d", now.Version), nil
}

// checkProgram looks into the artifact: that it is a static program, that it was built with the
// recorded toolchain, and that it declares what the manifest and the configuration do.
func (a *audit) checkProgram(context.Context) (string, error) {
	path := filepath.Join(a.dir(), artifactName)
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var program io.ReaderAt = f
	if a.image != nil {
		program = a.image // what will run, should the file have changed since
	}
	if err := build.CheckProgram(program); err != nil {
		return "", err
	}
	info, err := buildinfo.Read(program)
	if err != nil {
		return "", fmt.Errorf("%s does not say what built it (%w); install %s again", artifactName, err, a.name)
	}
	if info.GoVersion != a.record.Toolchain {
		return "", fmt.Errorf("%s was built with %s, and the record's toolchain is %s; install %s again", artifactName, info.GoVersion, a.record.Toolchain, a.name)
	}
	declared, err := gen.ReadDeclaration(program, a.record.ArtifactSize)
	if err != nil {
		return "", fmt.Errorf("%s: %w; install %s again", artifactName, err, a.name)
	}
	if difference := declared.Difference(a.declaration()); difference != "" {
		return "", fmt.Errorf("%s declares something else than the manifest: %s; install %s again", artifactName, difference, a.name)
	}
	return "declares " + declared.Name + " " + declared.Version, nil
}

// declaration is what the artifact of this record must say of itself.
func (a *audit) declaration() gen.Declaration { return gen.Declare(a.manifest, a.config) }
