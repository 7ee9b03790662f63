# Targets:
#   build     bin/loomext
#   demo      build, install examples/units into .demo, call it, verify it
#   test      every test; the last line counts those that were skipped, with reasons above it
#   race      the rooms where much happens at once, with the race detector; it needs a C compiler.
#             bridge/mcp and install are left out: with the detector they take minutes, most of it in builds, and what
#             runs at once in them are sessions, which host has
#   conformance  the official suite and the Inspector of the Model Context Protocol against loomext mcp;
#             installs both, and the Node that they need, from the npm registry into .conformance
#   lint      gofmt, go vet, staticcheck
#   fuzz      every fuzz target for FUZZTIME each
#   soak      a racing renamer against the workspace, a minute each way
#   bench     the table of ratios; BENCH_OUT=bench/RESULTS.md keeps it; downloads the modules of bench/peers
#   generate  third-party sources and golden files
#   modules   vet fifty well-known modules, which it downloads, into docs/lints.md

GO       ?= go
FUZZTIME ?= 30s
DEMO     := $(CURDIR)/.demo
PROGRAMS := $(CURDIR)/.conformance

.PHONY: build demo test race conformance lint fuzz soak bench generate modules

build:
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/loomext ./cmd/loomext

demo: build
	bin/loomext --home $(DEMO) install examples/units --yes
	bin/loomext --home $(DEMO) call units convert --args '{"value": 26.2, "from": "mi", "to": "km"}'
	bin/loomext --home $(DEMO) verify units

test:
	$(GO) tool gotestsum --format pkgname -- -timeout 14m ./...
	for dir in examples/*/; do (cd $$dir && $(GO) test ./...) || exit 1; done

race:
	CGO_ENABLED=1 $(GO) test -race -timeout 10m ./egress ./broker/... ./host/... ./hookbus ./record ./satellite

conformance:
	LOOMEXT_TEST_CONFORMANCE=$(PROGRAMS) $(GO) test -count 1 -v -timeout 10m ./bridge/mcp/conformance

lint:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go' | grep -v '^third_party/')); \
	if [ -n "$$unformatted" ]; then echo "gofmt: not formatted:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

fuzz:
	@set -e; for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "== $$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$package; \
		done; \
	done

soak:
	LOOMEXT_TEST_RENAMER=60s $(GO) test ./broker/workspace -run Racing

bench: build
	$(GO) run ./bench $(if $(BENCH_OUT),-out $(BENCH_OUT))

generate:
	$(GO) generate ./...

modules:
	LOOMEXT_TEST_MODULES=1 $(GO) test ./vet -run TestWellKnownModules -update
