package install

import "github.com/loomext/loomext/jail"

// scanField is one member of an object.
type scanField[T any] struct {
	key  string
	read func(*scan, *T)
}

// The members of each object, in the order in which they are written.
var (
	recordFields = []scanField[Record]{
		{"format", func(s *scan, r *Record) { r.Format = s.int() }},
		{"name", func(s *scan, r *Record) { r.Name = s.string() }},
		{"version", func(s *scan, r *Record) { r.Version = s.string() }},
		{"description", func(s *scan, r *Record) { r.Description = s.string() }},
		{"license", func(s *scan, r *Record) { r.License = s.string() }},
		{"source", func(s *scan, r *Record) { r.Source = s.string() }},
		{"resolved_revision", func(s *scan, r *Record) { r.ResolvedRevision = s.string() }},
		{"module", func(s *scan, r *Record) { r.Module = s.string() }},
		{"tree_digest", func(s *scan, r *Record) { r.TreeDigest = s.string() }},
		{"files", func(s *scan, r *Record) { r.Files = s.strings() }},
		{"artifact_digest", func(s *scan, r *Record) { r.ArtifactDigest = s.string() }},
		{"artifact_size", func(s *scan, r *Record) { r.ArtifactSize = s.int64() }},
		{"prelude_digest", func(s *scan, r *Record) { r.PreludeDigest = s.string() }},
		{"revision", func(s *scan, r *Record) { r.Revision = s.string() }},
		{"fingerprint", func(s *scan, r *Record) { r.Fingerprint = s.string() }},
		{"approval_key", func(s *scan, r *Record) { r.ApprovalKey = s.string() }},
		{"seam", func(s *scan, r *Record) { r.Seam = s.seam() }},
		{"net", func(s *scan, r *Record) { r.Net = s.net() }},
		{"commands", func(s *scan, r *Record) { r.Commands = s.lists() }},
		{"command_env", func(s *scan, r *Record) { r.CommandEnv = s.list() }},
		{"memory_mb", func(s *scan, r *Record) { r.MemoryMB = s.int() }},
		{"config", func(s *scan, r *Record) { r.Config = s.raw() }},
		{"overrides", func(s *scan, r *Record) { r.Overrides = s.raw() }},
		{"requested", func(s *scan, r *Record) { r.Requested = s.list() }},
		{"granted", func(s *scan, r *Record) { r.Granted = s.list() }},
		{"tools", func(s *scan, r *Record) { r.Tools = scanArray(s, toolFields) }},
		{"hooks", func(s *scan, r *Record) { r.Hooks = scanArray(s, hookFields) }},
		{"mcp", func(s *scan, r *Record) { s.decode(&r.MCP) }}, // few have it
		{"toolchain", func(s *scan, r *Record) { r.Toolchain = s.string() }},
		{"build_env", func(s *scan, r *Record) { r.BuildEnv = s.list() }},
		{"build_flags", func(s *scan, r *Record) { r.BuildFlags = s.list() }},
		{"build_jail", func(s *scan, r *Record) { r.BuildJail = s.jail() }},
		{"approved_by", func(s *scan, r *Record) { r.ApprovedBy = s.string() }},
		{"approved_how", func(s *scan, r *Record) { r.ApprovedHow = s.string() }},
		{"approved_at", func(s *scan, r *Record) { s.time(&r.ApprovedAt) }},
		{"installed_at", func(s *scan, r *Record) { s.time(&r.InstalledAt) }},
		{sealKey, func(s *scan, _ *Record) { s.skipStrings() }},
	}
	seamFields = []scanField[RecordSeam]{
		{"version", func(s *scan, r *RecordSeam) { r.Version = s.int() }},
		{"allow", func(s *scan, r *RecordSeam) { r.Allow = s.list() }},
		{"denied", func(s *scan, r *RecordSeam) { r.Denied = s.list() }},
	}
	netFields = []scanField[RecordNet]{
		{"hosts", func(s *scan, r *RecordNet) { r.Hosts = s.list() }},
		{"methods", func(s *scan, r *RecordNet) { r.Methods = s.list() }},
		{"max_response_bytes", func(s *scan, r *RecordNet) { r.MaxResponseBytes = s.int64() }},
		{"requests_per_call", func(s *scan, r *RecordNet) { r.RequestsPerCall = s.int() }},
		{"secrets", func(s *scan, r *RecordNet) { r.Secrets = scanArray(s, secretFields) }},
	}
	secretFields = []scanField[RecordSecret]{
		{"env", func(s *scan, r *RecordSecret) { r.Env = s.string() }},
		{"host", func(s *scan, r *RecordSecret) { r.Host = s.string() }},
		{"header", func(s *scan, r *RecordSecret) { r.Header = s.string() }},
		{"format", func(s *scan, r *RecordSecret) { r.Format = s.string() }},
	}
	toolFields = []scanField[RecordTool]{
		{"name", func(s *scan, r *RecordTool) { r.Name = s.string() }},
		{"description", func(s *scan, r *RecordTool) { r.Description = s.string() }},
		{"prompt_snippet", func(s *scan, r *RecordTool) { r.PromptSnippet = s.string() }},
		{"parameters", func(s *scan, r *RecordTool) { r.Parameters = s.string() }},
		{"entry", func(s *scan, r *RecordTool) { r.Entry = s.string() }},
		{"timeout_ms", func(s *scan, r *RecordTool) { r.TimeoutMS = s.int64() }},
		{"schema", func(s *scan, r *RecordTool) { r.Schema = s.raw() }},
	}
	hookFields = []scanField[RecordHook]{
		{"event", func(s *scan, r *RecordHook) { r.Event = s.string() }},
		{"entry", func(s *scan, r *RecordHook) { r.Entry = s.string() }},
	}
	reportFields = []scanField[jail.Report]{
		{"level", func(s *scan, r *jail.Report) { r.Level = jail.Level(s.string()) }},
		{"layers", func(s *scan, r *jail.Report) { r.Layers = scanArray(s, layerFields) }},
	}
	layerFields = []scanField[jail.Layer]{
		{"name", func(s *scan, r *jail.Layer) { r.Name = s.string() }},
		{"state", func(s *scan, r *jail.Layer) { r.State = s.string() }},
		{"reason", func(s *scan, r *jail.Layer) { r.Reason = s.string() }},
		{"errno", func(s *scan, r *jail.Layer) { r.Errno = s.string() }},
		{"remedy", func(s *scan, r *jail.Layer) { r.Remedy = s.string() }},
	}
)
