package vet

import "strings"

// refusal says why an import path outside the seam is refused and what to use instead.
func refusal(path string) advice {
	switch {
	case path == "C":
		return advice{"cgo compiles C, and C reaches everything", "write it in Go"}
	case path == project || strings.HasPrefix(path, project+"/"):
		return projectRefusal(path)
	}
	if a, ok := refused[path]; ok {
		return a
	}
	first, _, _ := strings.Cut(path, "/")
	if strings.Contains(first, ".") {
		return advice{"an extension carries no other modules", "copy the packages it needs into the extension, under its own module path and their license"}
	}
	if a, ok := refusedBelow[first]; ok {
		return a
	}
	return advice{"it is not in the part of the standard library an extension may import", "use the pure packages, such as bytes, strings, encoding/json and time, and the prelude"}
}

func projectRefusal(path string) advice {
	rest := strings.TrimPrefix(strings.TrimPrefix(path, project), "/")
	switch {
	case rest == "prelude/ext/runtime" || rest == "prelude/cap/runtime":
		return advice{"the runtime belongs to the generated program, which serves the extension's functions itself", "export the entry's function and let the manifest name its package"}
	case rest == "prelude/cap/captest":
		return advice{"captest fakes the capability channel, which only tests do", "import it from a _test.go file; those never reach an install"}
	case strings.HasPrefix(rest, "prelude/cap/"):
		return advice{"no such capability package is in the seam", "use one of " + strings.Join(capabilityPackages(), ", ") + " under " + strings.TrimSuffix(caps, "/")}
	}
	return advice{"it is the inside of loomext and not in the seam", "use " + extPath + ", " + hooks + " and the packages under " + strings.TrimSuffix(caps, "/")}
}

func capabilityPackages() []string {
	var names []string
	for _, path := range seam {
		if name, ok := strings.CutPrefix(path, caps); ok {
			names = append(names, name)
		}
	}
	return names
}

var (
	typeEscape = advice{"it reads and writes any value past the type system", "use type switches, generics and encoding/json"}
	logs       = advice{stdio, useReport}
	templates  = advice{"it reads files and calls methods by name", "build the text with fmt, strings and html.EscapeString"}
	files      = advice{"it reaches files", useFS + "; for paths alone, path"}
	sockets    = advice{"it opens sockets", useNet}
	machine    = advice{"it reaches the machine the satellite runs on", "pass what is needed as arguments or configuration"}
	compilers  = advice{"it is for programs that read programs or processes", "parse what you need yourself, in memory"}
	keys       = advice{"it is not among the hashes and codecs an extension may import", "leave keys and certificates to the host: net sends a secret by its name"}
)

// refused are the packages people reach for.
var refused = map[string]advice{
	"reflect":        typeEscape,
	"unsafe":         {pointers, "use encoding/binary for layouts and math.Float64bits for bits"},
	"encoding/gob":   {"it sets any field through reflection", "use encoding/json or encoding/binary"},
	"log":            {"it writes to the process's own streams and can end the process", useReport},
	"log/slog":       logs,
	"log/syslog":     sockets,
	"text/scanner":   {"it writes its errors to the process's own streams", "use bufio.Scanner or strings.Cut"},
	"flag":           {"it reads the command line and can end the process, and there is no command line", "declare defaults in [config] and read them with ext.Config"},
	"testing":        {"it reads the command line and writes to the process's own streams", "keep tests in _test.go files; they never reach an install"},
	"text/template":  templates,
	"html/template":  templates,
	"path/filepath":  files,
	"io/fs":          files,
	"io/ioutil":      files,
	"embed":          {"it reads files of the build", "put the text in a Go string constant, or in [config]"},
	"mime":           {"it reads the machine's files of types", "name the content type yourself"},
	"mime/multipart": {"it keeps parts in temporary files", inMemory},
	"net/mail":       {"it brings the network with it", "split addresses with strings"},
	"net/textproto":  {"it brings the network with it", "parse headers with bufio and strings"},
	"hash/maphash":   {"its values differ in every process", "use hash/fnv"},
	"net":            sockets,
	"net/http":       {"it opens sockets", "use " + caps + "net: net.Fetch or net.Do, and request net"},
	"net/rpc":        sockets,
	"net/smtp":       sockets,
	"os":             {"it reaches files, the environment and the process", useFS + "; for settings, [config] and ext.Config; for secrets, [[net.secret]]"},
	"os/exec":        {"it starts programs", useProc},
	"os/signal":      {"it takes the signals that end a satellite", "watch the context"},
	"os/user":        machine,
	"syscall":        {"it makes system calls", "use the capability packages under " + strings.TrimSuffix(caps, "/")},
	"plugin":         {"it loads native code", "make it a package of the extension"},
	"runtime":        {"it steers the scheduler and the collector of the satellite", "leave both to the satellite; bound work with the context"},
	"weak":           {"it watches the collector", "keep what you need in a map"},
	"expvar":         {"it serves the process's variables over HTTP", useReport},
	"database/sql":   {"its drivers open sockets and files", "keep values with " + caps + "kv, and request kv"},
	"arena":          {pointers, "use slices"},
	"simd":           {"it is tied to one machine", "write loops"},
}

// refusedBelow are whole trees of the standard library, by their first element.
var refusedBelow = map[string]advice{
	"archive":  {"its readers and writers are built on files", inMemory + "; compress/gzip and compress/flate are allowed"},
	"crypto":   keys,
	"database": {"its drivers open sockets and files", "keep values with " + caps + "kv, and request kv"},
	"debug":    compilers,
	"go":       compilers,
	"internal": {"it is the inside of the standard library", "use the public packages"},
	"log":      logs,
	"net":      sockets,
	"os":       machine,
	"plugin":   {"it loads native code", "make it a package of the extension"},
	"runtime":  {"it steers the scheduler and the collector of the satellite", "leave both to the satellite; bound work with the context"},
	"syscall":  {"it makes system calls", "use the capability packages under " + strings.TrimSuffix(caps, "/")},
	"testing":  {"it is for tests", "keep tests in _test.go files; they never reach an install"},
	"text":     templates,
	"vendor":   {"it is the inside of the standard library", "use the public packages"},
}
