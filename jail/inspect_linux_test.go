package jail

import (
	"bytes"
	"debug/elf"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func TestInspectFindsWhatASatelliteGets(t *testing.T) {
	r := Inspect()
	if len(r.Layers) != len(steps) {
		t.Fatalf("%d layers of %d: %+v", len(r.Layers), len(steps), r.Layers)
	}
	for i, l := range r.Layers {
		if l.Name != steps[i].name {
			t.Errorf("layer %d is %q, want %q", i, l.Name, steps[i].name)
		}
	}
	// What a launch of a real program reports must be the same, layer by layer.
	c, err := Start(t.Context(), Spec{Path: child, Image: childImage(t), Args: []string{"exit", "0"}, Profile: Satellite, Limits: Limits{DataBytes: 1 << 30}}, Options{BestEffort: true})
	if err != nil {
		t.Fatal(err)
	}
	mustWait(t, c)
	real := c.Report()
	if real.Level != r.Level {
		t.Errorf("level %q, and a program gets %q", r.Level, real.Level)
	}
	for i, l := range r.Layers {
		if l.State != real.Layers[i].State {
			t.Errorf("%s is %s, and for a program it is %s", l.Name, l.State, real.Layers[i].State)
		}
	}
	// A caller may keep and change what it got.
	r.Layers[0].Name = "changed"
	if Inspect().Layers[0].Name != steps[0].name {
		t.Error("the answer that is kept was changed")
	}
}

func TestInspectNamesAMissingWall(t *testing.T) {
	for layer, want := range map[string]Level{layerNamespaces: LevelNoNamespaces, layerLandlock: LevelNoLandlock} {
		if stands, _ := Inspect().Layer(layer); stands.State != Enforced {
			t.Logf("skipped layer: %s: it is missing anyway", layer)
			continue
		}
		r := inspect(Options{BestEffort: true, without: []string{layer}})
		if l, _ := r.Layer(layer); r.Level != want || l.State != Skipped {
			t.Errorf("without %s: level %q, %+v", layer, r.Level, l)
		}
	}
}

func TestReportOfAMachineWhereNothingStarts(t *testing.T) {
	for _, tt := range []struct {
		err   error
		want  Layer
		total int
	}{
		{&Error{Place: layerSealed, What: "no executable memory file", Fix: "do this", Err: unix.EACCES},
			Layer{Name: layerSealed, State: Skipped, Reason: "no executable memory file", Errno: "EACCES", Remedy: "do this"}, len(steps)},
		{&Error{Place: "descriptors", What: "no null device", Err: unix.ENOENT},
			Layer{Name: layerDescriptors, State: Skipped, Reason: "no null device", Errno: "ENOENT"}, len(steps)},
		{errors.New("odd"), Layer{Name: "start", State: Skipped, Reason: "odd"}, len(steps) + 1},
	} {
		r := refusedReport(tt.err)
		if got, _ := r.Layer(tt.want.Name); got != tt.want || len(r.Layers) != tt.total || r.Level != "" {
			t.Errorf("%v: level %q, %d layers, %+v", tt.err, r.Level, len(r.Layers), got)
		}
		for _, l := range r.Layers {
			if l.State != Skipped || l.Reason == "" {
				t.Errorf("%v: %+v", tt.err, l)
			}
		}
	}
}

func TestLeastProgramIsOneForEachArchitecture(t *testing.T) {
	for goarch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		data := leastProgram(goarch)
		f, err := elf.NewFile(bytes.NewReader(data))
		if err != nil {
			t.Fatal(goarch, err)
		}
		load := f.Progs[0]
		if f.Machine != machine || f.Type != elf.ET_EXEC || load.Flags != elf.PF_R|elf.PF_X || load.Filesz != uint64(len(data)) ||
			f.Entry < load.Vaddr || f.Entry >= load.Vaddr+load.Filesz || load.Off%load.Align != load.Vaddr%load.Align {
			t.Errorf("%s: %+v, %+v", goarch, f.FileHeader, load.ProgHeader)
		}
	}
}
