package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	// maxDrift is how far the second floor may be from the first, as a part of it.
	maxDrift = 0.05
	// maxRuns bounds the repetition of void runs.
	maxRuns = 4
	// settling is the part of a run's rounds that comes before the counted ones and is thrown away: caches fill, and the
	// processor leaves its sleep.
	settling = 10
)

// op does the same work every time it is called and says how long the part of it took that counts.
type op func(context.Context) (time.Duration, error)

// sample is what one run of rounds found, in medians.
type sample struct {
	Ours   time.Duration
	Floor  time.Duration // of both floors of a round, taken together
	Floors float64       // second floor ÷ first
	Runs   int           // how many runs it took to get this one
	Beside time.Duration // a third thing, where one is told beside them
}

func (s sample) ratio() float64 { return float64(s.Ours) / float64(s.Floor) }

// void reports whether the machine was too restless to tell.
func (s sample) void() bool { return math.Abs(s.Floors-1) > maxDrift }

// compare runs rounds of floor, ours, floor, ours, again and again until a run is not void. The last run counts where all are
// void. Both floors come after ours and ours after a floor, so what one leaves behind in the caches is a burden for each alike.
func compare(ctx context.Context, rounds int, floor, ours op) (sample, error) {
	var s sample
	for n := range maxRuns {
		var err error
		if s, err = interleave(ctx, rounds, floor, ours); err != nil {
			return sample{}, err
		}
		s.Runs = n + 1
		if !s.void() {
			break
		}
		say(fmt.Sprintf("void: the second floor was %.3f of the first", s.Floors))
	}
	return s, nil
}

func interleave(ctx context.Context, rounds int, floor, ours op) (sample, error) {
	var first, second, measured []time.Duration
	order := []struct {
		do   op
		into *[]time.Duration
	}{{floor, &first}, {ours, &measured}, {floor, &second}, {ours, &measured}}
	for i := -rounds / settling; i < rounds; i++ {
		for _, step := range order {
			if err := ctx.Err(); err != nil {
				return sample{}, err
			}
			took, err := step.do(ctx)
			if err != nil {
				return sample{}, err
			}
			if i >= 0 {
				*step.into = append(*step.into, took)
			}
		}
	}
	return sample{
		Ours:   median(measured),
		Floor:  median(slices.Concat(first, second)),
		Floors: float64(median(second)) / float64(median(first)),
	}, nil
}

// median is the middle of the values, or the mean of the two in the middle. It sorts what it is given.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	n := len(all)
	switch {
	case n == 0:
		return 0
	case n%2 == 1:
		return all[n/2]
	}
	return (all[n/2-1] + all[n/2]) / 2
}
