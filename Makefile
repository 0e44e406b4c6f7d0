# A fresh machine with Go, git and make is enough: everything else is fetched
# by the go command at the versions of go.mod and tools.mod. `make` lists the targets.

GO       ?= go
FUZZTIME ?= 10s
TESTFLAGS ?=

# The modules that go.work uses. The go command knows their packages as "work". Users build the root module without
# go.work, so it is vetted and tested without it, too. The benchmarks in bench are a module that go.work does not use.
module  := github.com/rpcrdma/rpcrdma
modules := . nfs metrics/otel metrics/prometheus test/linuxpeer
# Replacements for go mod tidy, which does not read go.work.
released = $(module)=$(CURDIR) $(module)/nfs=$(CURDIR)/nfs
others  := ./nfs/... ./metrics/otel/... ./metrics/prometheus/... ./test/linuxpeer/...
alone   := GOWORK=off
xdrgen  := bin/xdrgen
# The race detector needs cgo, which the go command enables only with a C compiler.
race   := $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)
asan    = $(if $(race),$(shell echo 'int main(void) { return 0; }' | $(or $(CC),cc) -fsanitize=address -x c -o /dev/null - 2>/dev/null && echo yes))

# The folder of unit $$1's package: from the package line of its sidecar, from
# spec/MANIFEST, or gen/<unit>; none if no package of it is committed.
target = dir=$$(cat spec/x/$$1/*.bind 2>/dev/null | sed -n 's|^package *$(module)/||p'); test -n "$$dir" && echo $$dir || \
	awk -v unit="$$1" '$$1 == "unit" { u = $$2 } $$1 == "target" && u == unit { t = $$2 } \
	END { print t ? t : "gen/" unit }' spec/MANIFEST

.DEFAULT_GOAL := help
.PHONY: help quick generate extract check xdrgen page test check-format vet check-generated conformance check-conformance test-go test-race test-all test-stall test-memory test-bench bench-codec bench-compile bench-verbs bench-transport bench-depths bench-nfs bench-continue bench-report test-arch test-systems test-peers interop sim mutants fuzz lint clean corpus

help: ## list the targets
	@echo 'usage: make TARGET [VARIABLE=value ...]'
	@echo
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20
	@echo
	@echo 'variables: CORPUS=DIR (interface files for the tests that use them; ../shared/corpus where it exists)'
	@echo '           WITNESSES=required (a test fails if a program that it needs is not installed; otherwise it skips)'
	@echo '           BUDGET=2m (for quick; 60s)  BASE=HEAD~3 (quick: what has changed since)  QUICK=rdmaio,runtime/xdr (these packages)'
	@echo '           FUZZTIME=$(FUZZTIME) (for each fuzz target)  TESTFLAGS="-run X -count 1" (passed to go test)'

##: from documents to code

generate: check ## make spec/x from the documents, gen/ and a dissector from spec/x, and the conformance tables; a second run changes nothing
	@set -e; for dir in spec/x/*/; do \
		set -- $$(basename $$dir); out=$$($(target)); \
		if [ "$$out" = none ]; then continue; fi; \
		echo "xdrgen gen $$1 -> $$out"; \
		$(xdrgen) gen -tests -o $$out -package $$(basename $$out | tr A-Z a-z | tr -cd 'a-z0-9') -I spec/x -import-root $(module)/gen $$dir*.x; \
	done
	@$(xdrgen) gen -o examples/filestore/store -package store examples/filestore/store.x
	@$(xdrgen) gen -rpc -o examples/hello/hello -package hello examples/hello/hello.x
	@$(xdrgen) gen -o examples/notes/notes -package notes examples/notes/notes.x
	@$(xdrgen) gen -o test/linuxpeer/internal/nfs/nfs41 -package nfs41 test/linuxpeer/internal/nfs/nfs41/nfs41.x
	@$(xdrgen) gen -o cmd/rpcrdma/internal/perf -package perf cmd/rpcrdma/internal/perf/perf.x
	@$(xdrgen) gen -o cmd/rpcrdma/internal/conform/program -package program cmd/rpcrdma/internal/conform/program/conform.x
	@$(xdrgen) gen -o internal/zero -package zero internal/zero/zero.x
	@set -e; for dir in spec/x/*/; do \
		set -- $$(basename $$dir); \
		if [ "$$($(target))" != none ] && cat $$dir*.bind 2>/dev/null | grep -q '^ *code '; then set -- $$dir*.x; echo "#include \"$${1#spec/x/}\""; fi; \
	done | $(xdrgen) wireshark -I spec/x -o tools/wireshark/rpcrdma2.lua -
	@$(GO) run ./tools/speccheck

extract: ## extract the XDR from the documents in spec/ and apply spec/errata
	$(GO) run ./tools/extract

check: extract xdrgen ## check every unit of spec/x, those from documents strictly
	@set -e; for dir in spec/x/*/; do \
		strict=; if grep -q "^[[:space:]]*unit[[:space:]]*$$(basename $$dir)\b" spec/MANIFEST; then strict=-strict; fi; \
		$(xdrgen) check $$strict -I spec/x $$dir*.x; \
	done

xdrgen: ## build the compiler as bin/xdrgen
	@$(GO) build -o $(xdrgen) ./cmd/xdrgen

page: ## build the page for browsers as bin/page/index.html, with the compiler in it (docs/browser.md)
	@$(GO) run ./cmd/xdrgen/internal/page/build -o bin/page

# A program with the provider ibverbs is linked to the system's C library, which loads rdma-core: it needs glibc, and
# neither a C compiler nor rdma-core to be built.
.PHONY: build-ibverbs
build-ibverbs: ## build bin/rpcrdma, nfs and nfsserve with the provider ibverbs for RDMA devices (docs/ibverbs.md); without it they are static
	CGO_ENABLED=0 $(GO) build -tags ibverbs -o bin/ ./cmd/rpcrdma ./nfs/cmd/nfs ./nfs/cmd/nfsserve

##: checks and tests

quick: ## check what you have changed, within a minute: gofmt, vet and short tests of those packages, then of their importers
	@$(GO) run ./internal/quick $(if $(BUDGET),-budget '$(BUDGET)') $(if $(BASE),-base '$(BASE)') -- $(QUICK)

# The parts of make test, the cheapest first, with their budgets in seconds on two processors without other work.
parts = check-format:5 check-conformance:10 check-api:15 vet:20 check-generated:20 test-bench:25 test-race:300 test-all:500
test: ## run every check that this machine can run
	@set -e; table=; for part in $(parts); do \
		name=$${part%:*} budget=$${part#*:} note= begin=$$(date +%s); \
		echo "make test: $$name"; \
		$(MAKE) --no-print-directory $$name; \
		took=$$(($$(date +%s) - begin)); \
		[ $$took -le $$budget ] || note=', over budget'; \
		table="$$table$$(printf '%5d s of %4d s  %s%s' $$took $$budget $$name "$$note")\n"; \
	done; printf "$$table"
	@echo 'make test: passed'
	$(if $(race),,@echo 'make test: without the race detector, which needs a C compiler')

check-format: ## refuse Go files that gofmt would change
	@out=$$(find . -name '*.go' -not -path '*/testdata/*' -exec gofmt -l {} +); \
	if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

vet: ## run go vet, also over the files of the build tag ibverbs
	$(alone) $(GO) vet ./...
	$(GO) vet $(others)
	$(GO) vet -tags ibverbs ./cmd/rpcrdma ./examples/... ./nfs/... ./test/linuxpeer/verbspeer

check-generated: ## regenerate all code in a copy of the tree, and compare
	@set -e; copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; \
	tar -cf - --exclude=./.git --exclude=./bin . | tar -xf - -C "$$copy"; \
	find "$$copy" -name '*_xdr.go' -not -path '*/testdata/*' -delete; rm -f "$$copy"/tools/wireshark/rpcrdma2.lua; \
	GOFLAGS="$$($(GO) env GOFLAGS) -trimpath" $(MAKE) --no-print-directory -C "$$copy" generate >"$$copy/generate.log" 2>&1 || { cat "$$copy/generate.log"; exit 1; }; \
	for dir in spec gen nfs runtime examples test cmd/rpcrdma tools; do diff -ru "$$dir" "$$copy/$$dir" || stale=1; done; \
	if [ -n "$$stale" ]; then echo 'generated files are not current (- here, + regenerated): run make generate, and remove files that exist only here'; exit 1; fi; \
	echo 'generated files are current'

conformance: ## make docs/conformance.md and the pages by section from the duties and the code and tests that cite them
	$(GO) run ./tools/speccheck

check-conformance: ## refuse conformance tables that are not current, lost proofs, and proved duties that no code cites
	$(GO) run ./tools/speccheck -check

# Every test run has the lower levels of the memory checks (ADR 0011): with the race
# detector, or with a build tag.
test-memory: ## run the verbs tests with the upper levels of memory checks: inaccessible pages, AddressSanitizer
	$(GO) run ./internal/testrun -tags memguard $(TESTFLAGS) ./rdmaio/...
	$(if $(asan),$(GO) run ./internal/testrun -asan -short -skip '^Test(CallAllocatesLittle|CodecAllocatesNothing|MessageDoesNotAllocate)$$' $(TESTFLAGS) ./rdmaio/...,@echo 'make test-memory: without AddressSanitizer, which needs a C compiler that supports it')

# The race detector finds nothing in packages without goroutines, nor in tests that
# mostly build and run other programs. testrun leaves out such packages, -short such
# tests, and both are listed. The second run has all of them. Target vet vets for both.
# One package more than processors is tested at a time, because some wait for peers and time limits.
atonce = -p $$(($$(getconf _NPROCESSORS_ONLN) + 1))

# The longest packages begin first. Most of them wait for peers: at the end nothing would run beside them.
longest = ./rdmaio/providers/ibverbs ./rdmaio/providers/rdmatcp ./rdmaio/internal/sim ./runtime/oncrpc/tcp ./internal/pairs
longest_unraced = ./cmd/xdrgen ./cmd/xdrgen/internal/gogen ./runtime/oncrpc/replycache ./rdmaio/internal/credit ./tools/wireshark
test-go: test-race test-all ## run the tests: the short ones with the race detector, then all without it

test-race: ## run the short tests with the race detector
	$(if $(race),$(GO) run ./internal/testrun $(atonce) -timeout 25m -vet=off -race -short $(TESTFLAGS) $(longest) work,@echo 'make test-race: skipped: the race detector needs a C compiler')

everytest = $(atonce) -timeout 25m -vet=off $(if $(race),,-tags memcheck) $(TESTFLAGS)
test-all: ## run all tests, without the race detector, which distorts allocation counts
	$(alone) $(GO) run ./internal/testrun $(everytest) $(longest) $(longest_unraced) ./...
	$(GO) run ./internal/testrun $(everytest) $(others)

# Packages whose tests wait for goroutines, peers and time limits, and take seconds. The tests of resident memory run
# for a fixed time, and stops change nothing there.
stalled = ./runtime/oncrpc/tcp ./runtime/oncrpc/udp ./runtime/oncrpc/gss ./runtime/oncrpc/rpc ./rdmaio/providers/internal/stream ./rdmaio/internal/driver ./internal/admission
test-stall: ## stop the test process for a second at random, as a loaded machine does (STALLED=packages, SEED=n)
	$(GO) run ./internal/testrun -stall 1s $(if $(SEED),-seed $(SEED)) -short -count 1 -vet=off -skip '^TestResidentMemory' $(TESTFLAGS) $(or $(STALLED),$(stalled))

corpus: xdrgen ## check, generate, vet and round-trip every .x file of CORPUS=DIR, plainly and with every option
	@set -e; for options in '' '-views -rpc -with json,clone,equal,stream'; do \
		$(xdrgen) corpus $$options $(CORPUSFLAGS) -bind cmd/xdrgen/testdata/corpus $(or $(CORPUS),../shared/corpus); \
	done

.PHONY: test-options
test-options: ## generate spec/x and the test units of xdrgen with every option, and round-trip them
	$(GO) test -count 1 -run '^TestEveryOption' ./cmd/xdrgen/internal/gogen

# Benchmarks measure this code as it is now, so it is made each time, and not committed.
.PHONY: bench-code
bench-code: xdrgen ## make the generated code of the benchmark module, which is not committed
	@set -e; for name in dirplus nfs4 envelope; do $(xdrgen) gen -views -o bench/codec/$$name -package $$name bench/codec/$$name.x; done
	@$(xdrgen) gen -o bench/transport/echo -package echo bench/transport/echo.x

test-bench: bench-code ## vet and test the benchmark module, with its go.work
	cd bench && $(GO) vet ./... && $(GO) run $(module)/internal/testrun -short ./...

# Codecs depend on these: 32-bit int, other alignment, other byte order. What xdrgen generates depends on the
# first and the last only: arm64 is like amd64 for it. Of rpcbind only the codec is tested:
# its client needs namespaces, which the emulators do not offer, and deadlines, which they do not meet.
codecs = ./runtime/xdr/... ./runtime/oncrpc ./gen/... ./nfs/gen/... ./rdmaio/internal/header ./rdmaio/internal/v1
test-arch: ## run the codec tests as 386, arm64 and s390x, as far as this machine can run their programs
	@host=$$($(GO) env GOHOSTARCH); set -e; for arch in 386 arm64 s390x; do \
		case $$arch in arm64) run=qemu-aarch64-static;; s390x) run=qemu-s390x-static;; *) run=qemu-i386-static;; esac; \
		case $$host/$$arch in $$arch/$$arch | amd64/386) run=;; esac; \
		if [ -n "$$run" ] && ! command -v $$run >/dev/null; then \
			echo "test-arch: $$arch is skipped: $$run is not installed (Debian package qemu-user-static)"; \
			if [ "$$WITNESSES" = required ]; then exit 1; fi; continue; fi; \
		echo "test-arch: $$arch$${run:+ by $$run}"; \
		GOARCH=$$arch CGO_ENABLED=0 $(GO) test -short -vet=off -exec="$$run" $(codecs); \
		GOARCH=$$arch CGO_ENABLED=0 $(GO) test -short -vet=off -exec="$$run" -run XDR ./runtime/oncrpc/rpcbind; \
		if [ $$arch != arm64 ]; then CODEC_GOARCH=$$arch CODEC_EXEC=$$run $(GO) test -short -vet=off -count 1 -run 'TestGoodFilesGiveTestedPackages|TestReduceRandom' ./cmd/xdrgen/internal/gogen; fi; \
	done

# vet type-checks every file, tests included, and compiles all imported packages. Linking finds little beyond that,
# and takes as long: of the commands, for two systems.
systems = darwin/arm64 windows/amd64 freebsd/amd64 js/wasm linux/386
linked  = darwin/arm64 windows/amd64
test-systems: ## vet everything for other systems, whose programs this machine cannot run, and link the commands for two
	@set -e; for system in $(systems); do \
		echo "test-systems: $$system"; \
		export GOOS=$${system%/*} GOARCH=$${system#*/} CGO_ENABLED=0; \
		$(GO) vet work; \
		case " $(linked) " in *" $$system "*) for cmd in xdrgen rpcrdma; do $(GO) build -o /dev/null ./cmd/$$cmd; done;; esac; \
	done

test-peers: ## compare codecs with those of another Go compiler, over the corpus (minutes)
	cd bench && $(GO) test -count 1 -v ./differ

# The shell takes INTEROPFLAGS from its environment, so that it splits the text into words and does nothing else.
export INTEROPFLAGS
interop: ## run the cases against a Linux kernel under QEMU, with its siw and NFS/RDMA (KERNEL=backports: another one; SET=ci: one of each kind)
	@set -f; $(GO) run ./test/linuxpeer $(if $(KERNEL),-kernel '$(KERNEL)') $(if $(SET),-set '$(SET)') $$INTEROPFLAGS

sim: ## simulate SEEDS=n connections with faults, the engines stepped by a seed
	$(GO) test ./rdmaio/internal/sim -run 'TestSeeds' -v -timeout 0 -args -seeds $(or $(SEEDS),1000)

mutants: ## make known mistakes, and require that a test fails (ONLY=part of a name or file, ROOM=folder, TOUCHED=revision)
	$(GO) run ./internal/mutants $(if $(ONLY),-only '$(ONLY)') $(if $(ROOM),-room '$(ROOM)') $(if $(TOUCHED),-touched='$(TOUCHED)')

fuzz: ## run each fuzz target for FUZZTIME, and warn about those below their floor of executions (ONLY=part of folder and name)
	$(GO) run ./internal/fuzzrun -time $(FUZZTIME) $(if $(ONLY),-only '$(ONLY)')

.PHONY: fuzz-corpus
fuzz-corpus: ## the same, and keep in testdata/fuzz the inputs that reach most code: commit them
	$(GO) run ./internal/fuzzrun -keep -time $(FUZZTIME) $(if $(ONLY),-only '$(ONLY)')

# The tools are built without go.work, which does not go with -modfile, and run with it.
lint: ## run gofumpt and staticcheck at the versions of tools.mod
	@$(alone) $(GO) build -modfile=tools.mod -o bin/ mvdan.cc/gofumpt honnef.co/go/tools/cmd/staticcheck
	@out=$$(bin/gofumpt -l .); if [ -n "$$out" ]; then echo "gofumpt would change:"; echo "$$out"; exit 1; fi
	bin/staticcheck ./... $(others)

.PHONY: api
api: ## list what the working tree changes in the exported Go API since BASE=REVISION (the merge base with main)
	@$(alone) $(GO) build -modfile=tools.mod -o bin/ golang.org/x/exp/cmd/apidiff
	@set -e; base=$(or $(BASE),$$(git merge-base HEAD main)); old=$$(mktemp -d); trap 'rm -rf "$$old"' EXIT; here=$$(pwd); \
	git archive "$$base" | tar -xf - -C "$$old"; \
	apidiff() { "$$here/bin/apidiff" -m "$$@" 2>&1 | sed '/^Ignoring internal package/d'; }; \
	for dir in . nfs; do \
		name=$$(sed -n 's/^module //p' $$dir/go.mod); work=; [ $$dir != . ] || work=off; \
		if [ ! -e "$$old/$$dir/go.mod" ]; then echo "module $$name is new since $$base"; continue; fi; \
		(cd "$$old/$$dir" && GOWORK=$$work apidiff -w "$$old/old.api" $$name); (cd $$dir && GOWORK=$$work apidiff -w "$$old/new.api" $$name); \
		test -s "$$old/old.api" && test -s "$$old/new.api"; \
		echo "exported API of $$name since $$base:"; apidiff $(APIFLAGS) "$$old/old.api" "$$old/new.api"; \
	done

# The last release is a tag, or as long as there is none the commit that wrote the newest heading of CHANGELOG.md with a
# number. Between two releases of version 0 names may go, but not without a word: each is named below Unreleased.
.PHONY: check-api
check-api: ## refuse exported names that are gone or changed since the last release, unless CHANGELOG.md names them
	@set -e; heading=$$(sed -n 's/^\(## \[[0-9][0-9.]*\]\).*/\1/p' CHANGELOG.md | head -n 1); \
	base=$$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || git log --format=%H -S"$$heading" -- CHANGELOG.md 2>/dev/null | tail -n 1); \
	if [ -z "$$base" ] || [ -z "$$heading" ]; then echo 'check-api: skipped: the history of git lacks the last release'; exit 0; fi; \
	lost=$$(mktemp); trap 'rm -f "$$lost"' EXIT; \
	$(MAKE) --no-print-directory api BASE="$$base" APIFLAGS=-incompatible >"$$lost"; \
	sed -n 's/^- \([^ ]*[^: ]\):* .*/\1/p' "$$lost" | sort -u | while read -r name; do \
		sed '/^## \[[0-9]/,$$d' CHANGELOG.md | grep -qw -- "$${name##*[./]}" || echo "$$name"; \
	done >"$$lost.names"; \
	if [ -s "$$lost.names" ]; then \
		echo "gone or changed since $$heading, and not named in CHANGELOG.md below Unreleased:"; \
		while read -r name; do grep -F -- "- $$name" "$$lost"; done <"$$lost.names"; rm "$$lost.names"; exit 1; fi; \
	rm -f "$$lost.names"; echo "check-api: CHANGELOG.md names all $$(grep -c '^- ' "$$lost" || true) incompatible changes since $$heading"

.PHONY: tidy
tidy: ## write what the modules' imports need into their go.mod and go.sum
	@set -e; mod=$$(mktemp -d); trap 'rm -rf "$$mod"' EXIT; for dir in $(modules); do \
		cp $$dir/go.mod $$dir/go.sum "$$mod"; \
		if [ $$dir != . ]; then $(alone) $(GO) mod edit $(released:%=-replace=%) "$$mod/go.mod"; fi; \
		$(alone) $(GO) -C $$dir mod tidy -modfile="$$mod/go.mod"; \
		if [ $$dir != . ]; then $(alone) $(GO) mod edit $(foreach m,$(released),-dropreplace=$(firstword $(subst =, ,$m))) "$$mod/go.mod"; fi; \
		cp "$$mod/go.mod" "$$mod/go.sum" $$dir; \
	done

##: other

bench-codec: bench-code ## compare generated codecs with hand-written ones and others
	cd bench && $(GO) run ./cmd/codecbench

bench-compile: ## time the compiler beside others, as whole processes, and the Go compiler on the code of each
	cd bench && $(GO) run ./cmd/compilebench

bench-verbs: ## compare verbs providers with TCP and with hand-written RPC over it
	cd bench && $(GO) run ./cmd/verbsbench

bench-transport: bench-code ## compare RPC over rdmaio with framed TCP, net/rpc and gRPC
	cd bench && $(GO) run ./cmd/transportbench

bench-depths: bench-code ## measure small calls with 1 to 1,024 in flight, and draw docs/img/depths.svg
	cd bench && $(GO) run ./cmd/transportbench -depths ../docs/img/depths.svg

bench-nfs: ## compare the NFS server and client of module nfs with go-nfs and go-nfs-client
	cd bench && $(GO) run ./cmd/nfsbench

bench-continue: ## compare continued messages of version 2 with chunks, and draw the picture of ADR 0052
	cd bench && $(GO) run ./cmd/continuebench -svg ../docs/img/continue.svg

bench-report: ## draw the figures of bench/history.jsonl over commits as docs/img/bench-history.svg
	cd bench && $(GO) run ./cmd/benchreport -svg ../docs/img/bench-history.svg history.jsonl

# The tool that writes bills of materials has its own file of modules: release.mod.
sbom = $(alone) $(GO) build -modfile=release.mod -o bin/ github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod
.PHONY: release
release: ## build archives, Debian packages and their sums in dist (VERSION=v0.1.0; the tag of HEAD): docs/release.md
	@$(sbom)
	@$(GO) run ./tools/release $(if $(VERSION),-version '$(VERSION)') -sbom bin/cyclonedx-gomod -o dist

.PHONY: release-check
release-check: release ## build dist once more, from another folder and with an empty build cache, and compare the sums
	@set -e; room=$$(mktemp -d); trap 'chmod -R u+w "$$room"; rm -rf "$$room"' EXIT; \
	version=$$(sed -n '1s/.*  rpcrdma_\(.*\)_[a-z]*_[a-z0-9]*\.tar\.gz$$/v\1/p' dist/SHA256SUMS); \
	mkdir "$$room/tree"; git archive HEAD | tar -xf - -C "$$room/tree"; \
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) GOCACHE="$$room/cache" $(GO) run ./tools/release -C "$$room/tree" -version "$$version" -sbom bin/cyclonedx-gomod -o "$$room/dist" >/dev/null; \
	diff dist/SHA256SUMS "$$room/dist/SHA256SUMS"; echo "release-check: both builds of $$version have the same bytes"

clean: ## remove built programs
	rm -rf bin dist
