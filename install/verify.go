package install

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vendorize"
	"github.com/loomext/loomext/vet"
)

// The states of a check.
const (
	StateOK      = "ok"
	StateFailed  = "failed"
	StateSkipped = "skipped"
)

// CheckResult is one line of a verification.
type CheckResult struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail"`
}

// Verification is what re-deriving an install found.
type Verification struct {
	Name       string        `json:"name"`
	Version    string        `json:"version"`
	Generation string        `json:"generation"`
	OK         bool          `json:"ok"` // no check failed
	Checks     []CheckResult `json:"checks"`
	// JailLevel is the weakest jail that this verification built in; empty where it built
	// nothing.
	JailLevel jail.Level `json:"jail_level"`
	// BuildJail is what the record says of the build that made the artifact.
	BuildJail jail.Report `json:"build_jail"`
}

// VerifyOptions are one verification.
type VerifyOptions struct {
	Rebuild  bool // build again, which needs the recorded toolchain
	Strict   bool // a rebuild that cannot be made fails
	Builder  *build.Builder
	Progress func(Progress)
}

// Verify does the checks of a load, vets the installed source anew and, where it is asked to
// and the recorded toolchain is there, builds it again and compares. Every check runs that can,
// so one verification names all that is wrong. The error is for what prevented the work itself:
// no such extension, or the end of ctx. With an error of layer "jail" the verification is whole
// but for the rebuild, which the jail refused.
func (s *Store) Verify(ctx context.Context, name string, o VerifyOptions) (Verification, error) {
	if err := checkName(name); err != nil {
		return Verification{}, refuse(LayerRecord, err)
	}
	var v Verification
	for range loadAttempts {
		before, err := s.current(name)
		if errors.Is(err, ErrNotInstalled) {
			return Verification{}, refuse(LayerRecord, err)
		}
		if v, err = s.verify(ctx, name, before, o); err != nil || v.OK {
			return v, err
		}
		if after, err := s.current(name); err != nil || after == before {
			break
		} // else a reinstall took away what was being verified
	}
	return v, nil
}

// verify runs every check, holding the generation with this base name.
func (s *Store) verify(ctx context.Context, name, base string, o VerifyOptions) (Verification, error) {
	v := Verification{Name: name, OK: true, Checks: []CheckResult{}}
	if base != "" {
		if held, err := lockDir(s.generation(base), shared); err == nil {
			defer held.Close()
		}
	}
	a := &audit{store: s, name: name}
	vetting := o // the level of the verification is that of its build
	o.Builder = noting(o.Builder, &v.JailLevel)
	checks := append(a.loadSteps(),
		auditStep{name: CheckJail, check: a.checkJail, needs: []string{checkRecord}},
		auditStep{name: checkVetting, check: func(ctx context.Context) (string, error) { return a.checkVetting(ctx, vetting) }, needs: []string{checkManifest}},
		auditStep{name: checkRebuild, check: func(ctx context.Context) (string, error) { return a.checkRebuild(ctx, o) },
			needs: []string{checkManifest, checkApproval}},
	)
	step := steps(o.Progress)
	passed := map[string]bool{}
	for _, next := range checks {
		done := step(LayerVerify, next.name)
		check := runCheck(ctx, next, passed)
		if o.Strict && next.name == checkRebuild && check.State == StateSkipped && a.unjailed == nil {
			check.State = StateFailed
		}
		if err := ctx.Err(); err != nil {
			return v, err
		}
		passed[next.name] = check.State == StateOK
		v.OK = v.OK && check.State != StateFailed
		v.Checks = append(v.Checks, check)
		done(check.State)
	}
	v.Version, v.Generation, v.BuildJail = a.record.Version, a.base, a.record.BuildJail
	v.BuildJail.Layers = append([]jail.Layer{}, v.BuildJail.Layers...) // never null in JSON
	return v, a.unjailed
}

// noting is a builder like b that notes the weakest level it built at.
func noting(b *build.Builder, level *jail.Level) *build.Builder {
	if b == nil {
		return nil
	}
	noted := *b
	noted.Jailed = func(r jail.Report) {
		*level = weaker(*level, r.Level)
		if b.Jailed != nil {
			b.Jailed(r)
		}
	}
	return &noted
}

func runCheck(ctx context.Context, step auditStep, passed map[string]bool) CheckResult {
	for _, need := range step.needs {
		if !passed[need] {
			return CheckResult{Name: step.name, State: StateSkipped, Detail: need + " did not pass"}
		}
	}
	detail, err := step.check(ctx)
	var skip *skipped
	switch {
	case errors.As(err, &skip):
		return CheckResult{Name: step.name, State: StateSkipped, Detail: skip.reason}
	case err != nil:
		return CheckResult{Name: step.name, State: StateFailed, Detail: err.Error()}
	}
	return CheckResult{Name: step.name, State: StateOK, Detail: detail}
}

// skipped is a check that could not be made, which is no failure of the install.
type skipped struct{ reason string }

func (s *skipped) Error() string { return s.reason }

// checkJail says what the record has of the jail around the build. Whatever it is, it is no
// fault: the operator accepted it, and the rebuild compares the bytes.
func (a *audit) checkJail(context.Context) (string, error) {
	if a.record.BuildJail.Level == "" {
		return "", &skipped{"the record does not say at which level it was built; install it again for one that does"}
	}
	return "level " + string(a.record.BuildJail.Level), nil
}

// checkVetting vets anew. The types need the toolchain; where it is not there or the jail refuses,
// that is no fault of the install.
func (a *audit) checkVetting(ctx context.Context, o VerifyOptions) (string, error) {
	pkg, err := vet.Syntax(ctx, a.tree, a.manifest)
	if err != nil {
		return "", err
	}
	_, err = vetTypes(ctx, pkg, o.Builder)
	switch {
	case err != nil && layerOf(err) != LayerVetting && ctx.Err() == nil:
		return "", &skipped{"the source passes by its spelling; its types were not checked: " + err.Error()}
	case err != nil:
		return "", err
	}
	return "passed", nil
}

// checkRebuild builds the installed tree again, past the artifact cache, and compares bytes by
// their digest.
func (a *audit) checkRebuild(ctx context.Context, o VerifyOptions) (string, error) {
	r := a.record
	if !o.Rebuild {
		return "", &skipped{"not rebuilt: not asked to"}
	}
	if have := vendorize.Digest(); have != r.PreludeDigest {
		return "", &skipped{fmt.Sprintf("not rebuilt: built with prelude %s, and this loomext carries %s", r.PreludeDigest, have)}
	}
	toolchain, err := build.Probe(ctx, o.Builder.Go)
	if err != nil {
		return "", &skipped{"not rebuilt: " + err.Error()}
	}
	if toolchain.Version != r.Toolchain {
		return "", &skipped{fmt.Sprintf("not rebuilt: built with %s, and this machine has %s", r.Toolchain, toolchain.Version)}
	}
	pkg, err := vet.Syntax(ctx, a.tree, a.manifest)
	if err != nil {
		return "", err
	}
	root, err := pkg.Root(a.config)
	if err != nil {
		return "", err
	}
	digest, err := o.Builder.Rebuild(ctx, root, a.declaration())
	if err != nil && buildLayer(err) == LayerJail {
		a.unjailed = refuse(LayerJail, err)
		return "", &skipped{"not rebuilt: " + err.Error()}
	}
	if err != nil {
		return "", err
	}
	if digest != r.ArtifactDigest {
		return "", fmt.Errorf("a rebuild of %s gives %s, and the record says %s; do not run it, and install %s again",
			filepath.Join(a.base, treeName), digest, r.ArtifactDigest, a.name)
	}
	return "the same bytes: " + digest, nil
}
