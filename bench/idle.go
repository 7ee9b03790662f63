package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/loomext/loomext/satellite"
)

const (
	roleIdle = "idle"

	idleSatellites = 1000
	idleLimit      = 4.0 // GB
	gigabyte       = 1e9

	// goneWithin is how long after the host's end a satellite may still be there.
	goneWithin   = time.Second
	gonePause    = time.Millisecond
	gonePatience = 20 * time.Second

	// The memory of the machine is at rest where steadyReads reads in a row, steadyPause apart, are within steadyWithin of
	// each other: what others do at the time moves it by some megabytes.
	steadyReads  = 5
	steadyPause  = 100 * time.Millisecond
	steadyWithin = 16 << 20
	steadyWait   = 10 * time.Second
)

// crowd is what the host of many satellites says of them.
type crowd struct {
	PIDs         []int
	Answered     int   // how many answered a call once all were up
	Before       int64 // what the machine had to give, in bytes
	Started      int64 // and when all had been started
	After        int64 // and when each had answered and all was quiet
	HostResident int64
	Took         time.Duration // to start them
}

// idleCrowd has a host of its own start a thousand satellites, looks at the memory of the machine, and kills the host.
func idleCrowd(ctx context.Context, b *bed) (row, error) {
	self, err := os.Executable()
	if err != nil {
		return row{}, err
	}
	host := exec.CommandContext(ctx, self, "-role", roleIdle, b.echo, strconv.Itoa(idleSatellites))
	host.Stderr = os.Stderr
	stay, err := host.StdinPipe() // it ends with its standard input
	if err != nil {
		return row{}, err
	}
	defer stay.Close()
	out, err := host.StdoutPipe()
	if err != nil {
		return row{}, err
	}
	if err := host.Start(); err != nil {
		return row{}, err
	}
	defer host.Wait()
	defer host.Process.Kill()
	var c crowd
	if err := json.NewDecoder(out).Decode(&c); err != nil {
		return row{}, fmt.Errorf("the host of %d satellites: %w", idleSatellites, err)
	}
	watched, err := watch(c.PIDs)
	if err != nil {
		return row{}, err
	}
	defer watched.close()
	lost := len(c.PIDs) - min(c.Answered, watched.alive())
	start := time.Now()
	if err := host.Process.Kill(); err != nil {
		return row{}, err
	}
	for watched.alive() > 0 && time.Since(start) < gonePatience {
		time.Sleep(gonePause)
	}
	gone, left := time.Since(start), watched.alive()

	fall := float64(c.Before-c.After) / gigabyte
	r := row{
		measured: fmt.Sprintf("%.2f GB", fall), floors: exact, limit: most(idleLimit).in("GB"),
		verdict: most(idleLimit).judge(fall),
		note: fmt.Sprintf("%.2f GB before their first call; the host itself %.0f MB; started in %s; %d lost; all gone %s after SIGKILL of the host",
			float64(c.Before-c.Started)/gigabyte, float64(c.HostResident)/megabyte, duration(c.Took), lost, duration(gone)),
	}
	if left > 0 {
		r.note += fmt.Sprintf(" but for %d", left)
	}
	if lost > 0 || left > 0 || gone > goneWithin {
		r.verdict = verdictOver
	}
	return r, nil
}

// serveIdle is the host: it starts the satellites, says so, and stays until it is killed or nobody listens to it.
func serveIdle(ctx context.Context, args []string) int {
	c, err := gather(ctx, args)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: host of many:", err)
		return exitFault
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return exitFine
}

func gather(ctx context.Context, args []string) (c crowd, err error) {
	if len(args) != 2 {
		return c, errors.New("want an artifact and a number")
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return c, err
	}
	image, err := seal(args[0])
	if err != nil {
		return c, err
	}
	if c.Before, err = steady(ctx); err != nil {
		return c, err
	}
	// The descriptors of so many are within the hard limit of most machines, and Go has raised its own to that.
	all := make([]*satellite.Satellite, n)
	start := time.Now()
	for i := range all {
		if all[i], err = satellite.Launch(ctx, satellite.Config{Image: image}); err != nil {
			return c, fmt.Errorf("satellite %d: %w", i+1, err)
		}
		c.PIDs = append(c.PIDs, all[i].PID())
	}
	c.Took = time.Since(start)
	if c.Started, err = steady(ctx); err != nil {
		return c, err
	}
	for _, s := range all {
		if _, err := s.Tool(ctx, echoTool, []byte(forecastArgs), "", 0); err == nil {
			c.Answered++
		}
	}
	if c.After, err = steady(ctx); err != nil {
		return c, err
	}
	own, err := residentOf(os.Getpid())
	c.HostResident = own.total
	return c, err
}

// steady is the memory the machine has to give once it has come to rest, or after a while.
func steady(ctx context.Context) (int64, error) {
	var last []int64
	for end := time.Now().Add(steadyWait); ; {
		n, err := available()
		if err != nil {
			return 0, err
		}
		last = append(last, n)
		if len(last) > steadyReads {
			last = last[1:]
		}
		if len(last) == steadyReads && spread(last) <= steadyWithin || time.Now().After(end) {
			return n, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(steadyPause):
		}
	}
}

func spread(all []int64) int64 {
	low, high := all[0], all[0]
	for _, n := range all {
		low, high = min(low, n), max(high, n)
	}
	return high - low
}

// available is MemAvailable in bytes.
func available() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("/proc/meminfo does not say MemAvailable")
}
