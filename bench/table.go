package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// row is one line of the table.
type row struct {
	figure   string
	measured string
	floors   string // second floor ÷ first, or exact
	limit    string
	verdict  string
	note     string // the absolute numbers behind it
}

// The verdicts.
const (
	verdictOK    = "ok"
	verdictOver  = "over"
	verdictUnder = "under"
	verdictVoid  = "void"
	// verdictUnmet is that of a figure whose other side is not there to be measured.
	verdictUnmet = "not measured"
)

// exact stands where there is no floor because nothing is timed.
const exact = "exact"

// ratioRow is a row of a ratio of times.
func ratioRow(s sample, limit bound, note string) row {
	r := row{
		measured: fmt.Sprintf("%.2f", s.ratio()),
		limit:    limit.String(),
		verdict:  limit.judge(s.ratio()),
		note:     note + runs(s),
	}
	r.judge(s)
	return r
}

// unmetRow is a row of a figure whose other side is not there; the note says what it needs.
func unmetRow(limit bound, note string) row {
	return row{measured: "–", floors: "–", limit: limit.String(), verdict: verdictUnmet, note: note}
}

// bound is the limit of a figure.
type bound struct {
	value float64
	sign  string
}

const (
	signMost  = "≤"
	signLeast = "≥"
)

// most is the limit of what is better where it is less.
func most(value float64) bound { return bound{value, signMost} }

// least is the limit of what is better where it is more.
func least(value float64) bound { return bound{value, signLeast} }

// judge gives the verdict on a value. The limit itself is within, and what is no number is not.
func (b bound) judge(value float64) string {
	switch {
	case b.sign == signMost && value <= b.value:
		return verdictOK
	case b.sign == signLeast && value >= b.value:
		return verdictOK
	case b.sign == signLeast:
		return verdictUnder
	}
	return verdictOver
}

// String has one digit after the point, and a second where there is one.
func (b bound) String() string {
	return b.sign + " " + strings.TrimSuffix(strconv.FormatFloat(b.value, 'f', 2, 64), "0")
}

// in is the limit of something that is counted, in whole numbers where they are.
func (b bound) in(unit string) string {
	return strings.TrimSpace(b.sign + " " + strconv.FormatFloat(b.value, 'g', -1, 64) + " " + unit)
}

// judge fills in the floors, and takes the verdict back where they disagree.
func (r *row) judge(s sample) {
	r.floors = fmt.Sprintf("%.3f", s.Floors)
	if s.void() {
		r.verdict = verdictVoid
	}
}

// runs says of a sample how many runs were thrown away for it.
func runs(s sample) string {
	switch {
	case s.Runs <= 1:
		return ""
	case s.void():
		return fmt.Sprintf("; all %d runs void", s.Runs)
	}
	return fmt.Sprintf("; run %d, the ones before it void", s.Runs)
}

func allHold(rows []row) bool {
	for _, r := range rows {
		if r.verdict != verdictOK {
			return false
		}
	}
	return true
}

// table is the rows for a terminal.
func table(rows []row) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\tmeasured\tfloor÷floor\tlimit\t\tbehind it")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.figure, r.measured, r.floors, r.limit, r.verdict, r.note)
	}
	w.Flush() // into memory
	return b.String()
}

// document is the rows as a file to keep.
func document(rows []row, machine string, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What loomext costs\n\nMade by `go run ./bench` on %s: %s.\n\n", at.UTC().Format(time.DateOnly), machine)
	b.WriteString("| figure | measured | floor ÷ floor | limit | | behind it |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.figure, r.measured, r.floors, r.limit, r.verdict, r.note)
	}
	b.WriteString(`
Every ratio is of medians. The floor and what is measured take turns, twice in a round, and *floor ÷ floor* is the second
floor of the rounds divided by the first: where it is off by more than 5 %, the run is void and repeated, and a figure that
never had a run that counts is *void*.

- **Changed install**: the whole process of ` + "`loomext install --yes`" + `, a constant of the source changed every time, against
  ` + "`go build`" + ` with the flags and the environment that the record of the install names, in the same build root, with a Go
  build cache of its own that is as warm. Before it counts, both must have made the same bytes.
- **Unchanged install**: the same command on a tree that is installed. Every process it starts is counted with ptrace; only
  the go command asked for its version or its settings may be among them. The floor is ` + "`loomext version`" + ` and only there to
  tell whether the machine was quiet.
- **Unjailed start**: from before the launch to the decoded answer of the first call of a tool that gives its arguments back,
  against fork, exec, one frame written and read with system calls on a socket pair. The artifact is started as any program is,
  with what package satellite starts it with and no jail, and the host's part is the wire alone: the figure is the prelude's.
- **Jailed start**: a launch by package satellite, from an image sealed before, up to the outcome of the first call, against that
  very start without a jail. What is left of the difference is the jail's, package satellite's and the host's.
- **Bubblewrap**: the same against ` + "`bwrap --unshare-all --die-with-parent --ro-bind DIR / /PROGRAM`" + `, which is given the same
  descriptors and variables. What the kernel has to clear up after it falls into the time of the launch that comes next.
- **Tool calls**: one process for the host and one for the other end, both on one core, against frames of the very lengths of
  the call and of its answer over ` + "`net.UnixConn`" + `. The tool gives its arguments back. Minted tokens, deadlines, JSON checks and
  UTF-8 checks are part of the call.
- **Jailed call**: one core, the same host that uses the wire alone, the same artifact inside a jail and outside of one.
- **Session**: the same call by ` + "`host.Session.Call`" + `, of a session that is open and a satellite that runs: beside what package
  satellite does, the arguments are held against the tool's schema, the call waits for its turn and the broker begins an
  invocation.
- **Capability call**: a tool stores 1 KiB with ` + "`kv.Set`" + ` again and again, served by the real host and broker. A call that stores it
  20 times is timed, less a call that stores nothing. The floor has frames of the lengths of the cap_call and its cap_result.
- **Peers**: the program of the module ` + "`bench/peers`" + `, client and far end, on the same two cores as host and satellite, with the same
  bytes as arguments; they take turns. Each peer is used as its documentation shows, with no TLS, no log and no schema to check,
  and its text comes back as it went. Here more is better: it is how many times as long the peer takes. What it is where all of
  them share one core, on which nobody has to wake another one, stands beside it.
- **Brokered request**: ` + "`broker.Invocation.Serve`" + ` of a ` + "`net.request`" + ` for 1 KiB, from the decoded arguments to the value, with one invocation
  for each, against net/http with the same settings of TLS. The server is a process of its own on the same core; each side keeps
  its connection, and both speak HTTP/2, as the server offers it. What it takes as a tool calls it with ` + "`net.Fetch`" + ` stands beside it,
  measured as the capability calls are: on one core another process that has slept comes between. So does what net/http takes
  with no more than frames of the same lengths echoed by another process before each request, which no broker can be below.
- **Call of an MCP client**: a client of the SDK calls over standard streams, and the text comes back as it went: from ` + "`loomext mcp --warm`" + `, whose
  satellite is jailed, and from the server of the SDK among the peers, which has the tool in its own process. They share one core, as the other calls of tools do; what it is on two stands beside
  it, where the process that is there in addition has to wake another core.
- **List of tools**: ` + "`loomext mcp`" + ` from before its start to the answer to ` + "`tools/list`" + `, in a home with 50 extensions against one with one of them. No satellite
  is started.
- **Files**: a tool that reads a file of the workspace with ` + "`fs.read`" + `, measured as the capability calls are, against a tool that gets as many bytes from its scratch and
  ` + "`os.ReadFile`" + ` of the file by the host. The paths of 40 and of 4 components are read by ` + "`broker.Invocation.Serve`" + `, with no satellite.
- **Commands**: ` + "`proc.Runner.Run`" + ` of ` + "`/bin/true`" + `, from the request to the result, against bubblewrap with the binds and an environment as a command has them.
- **Record**: the call of a tool that stores 1 KiB once, in two sessions of one process on one core, of which one has a record. Its lines are written as they are
  in any session: what waits goes out when it has come to 64 KiB, or after 100 ms.
- **Replay**: ` + "`replay.Player.Run`" + ` over a record of a thousand such calls, from opening the file to the summary, the start of the satellite among it, against the start of a satellite
  and the same calls by package satellite, whose effects are answered with what is at hand.
- **Gate**: ` + "`hookbus.Bus.ToolCall`" + ` over a session of five extensions, two of which have a hook for ` + "`tool_call`" + ` that allows, against
  ` + "`host.Session.Fire`" + ` of the same document at the two by turns, all on one core: of two satellites each finds caches that
  the other has filled, whoever asks.
- **Fold**: ` + "`hookbus.Bus.Context`" + ` of messages of 1.2 kB through three extensions that each add one, from the messages to the messages that
  came out, against three times ` + "`json.Unmarshal`" + ` into an any and ` + "`json.Marshal`" + ` of the same document in the host. Host and satellites
  share one core; each satellite reads and writes the document itself. What it is where no extension changes anything stands beside it.
- **Undeclared event**: the slowest method of a bus over three extensions without hooks, in batches of a thousand. One allocation of
  any method is over the limit.
- **Many sessions**: a host of its own on two cores opens them in three stages of 50, 100 and 200, each on two extensions. At each
  stage every extension of every session is called five times by a goroutine of its own, all at once, and must answer with what
  it was asked. A session's memory is what the host and its satellites hold beside the pages of files that they share (RssAnon),
  once they have come to rest and the host's garbage was collected.
- **Ahead of need**: a satellite is started and left alone until all of its threads sleep and the host's own goroutine waits for
  what it says; then comes its first call, of 1 KiB. The floor is the tenth call of the same satellite, after it was left alone as
  long again: both find caches that others have filled, and both wake the sleepers. What a call takes that follows another at
  once, which neither has to do, stands beside them.
- **Resident memory**: what the kernel counts (VmRSS) once the satellite has answered a call and the count has come to rest.
- **Idle satellites**: a host of its own starts a thousand, calls each once when all are up, and waits until MemAvailable has come
  to rest; the fall counts the host and the image. Then the host is killed with SIGKILL. One that does not answer or is not there
  when the host is killed is lost. One lost, or one still there after a second, is over the limit.

The descriptors that a shell left open are closed first: how wide the table of descriptors is changes what a launch costs.
`)
	return b.String()
}

// machine says what kind of machine this is, and nothing that tells it from another of its kind.
func machine() string {
	return fmt.Sprintf("%s, %d cores, %s, %s %s/%s", processor(), runtime.NumCPU(), kernel(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// processor is the model of the first processor, where the kernel tells it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "a processor of unknown model"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "a processor of unknown model"
}

// kernel is the system's name and the numbers of its version.
func kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	numbers, _, _ := strings.Cut(strings.TrimSpace(string(text)), "-")
	return "Linux " + numbers
}

// duration is a time in the unit a reader would choose, with three digits.
func duration(d time.Duration) string {
	switch {
	case d >= time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	case d >= time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'g', 3, 64) + " ms"
	}
	return strconv.FormatFloat(float64(d)/float64(time.Microsecond), 'g', 3, 64) + " µs"
}

// behind is the note of a ratio of times.
func behind(s sample) string { return duration(s.Ours) + " ÷ " + duration(s.Floor) }
