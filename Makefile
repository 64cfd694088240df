# make help lists the targets.

BIN         := bin/crd-server
MODULES     := $(patsubst %/,%,$(dir $(shell find . -name go.mod -not -path "./build/*")))
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# make build VERSION=v0.1.0 names a release; otherwise Go takes the version from git.
VERSION     :=
LDFLAGS     := $(if $(VERSION),-ldflags "-X github.com/crd-server/crd-server/internal/server.buildVersion=$(VERSION)")

# The race detector needs cgo and a C compiler.
CC_FOUND    := $(shell [ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$$(go env CC)" 2>/dev/null)
RACE        := $(if $(CC_FOUND),-race)

# Tests are built without the profile: with it every package is compiled once more.
NO_PROFILE  := -pgo=off

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/crd-server
	CGO_ENABLED=0 go build $(LDFLAGS) -o $(BIN) ./cmd/crd-server

.PHONY: run
run: build ## build and serve (data in crd-server.data, port 6443)
	$(BIN)

.PHONY: test
test: test-unit test-e2e ## run all tests but conformance

.PHONY: test-unit
test-unit: ## run the tests beside the code
	@$(if $(RACE),:,echo "make test: no cgo or no C compiler: running without the race detector")
	go test -timeout 15m $(NO_PROFILE) $(RACE) ./...

.PHONY: test-e2e
test-e2e: ## use the binary as users do: whole responses, kubectl, informers, controllers, an aggregator, a short look at faults
	go build $(NO_PROFILE) $(RACE) -o build/crd-server ./cmd/crd-server
	cd test/transcripts && CRD_SERVER=$(CURDIR)/build/crd-server go test -timeout 15m ./...
	cd test/e2e && CRD_SERVER=$(CURDIR)/build/crd-server go test -timeout 15m ./...
	cd test/fault && CRD_SERVER=$(CURDIR)/build/crd-server go test -timeout 15m -parallel 4 ./...
	cd test/aggregator && CRD_SERVER=$(CURDIR)/build/crd-server go test -timeout 15m ./...

.PHONY: differential
differential: build ## play the transcripts and random steps on upstream's server as well, and print the differences; SEED=n repeats a run
	cd test/transcripts && go test . -run Differential -upstream -v -timeout 1h -seed $(SEED)

.PHONY: conformance
conformance: build ## run upstream's integration suite against the binary
	cd test/conformance && go run .

SEED     := 0
SCENARIO :=

.PHONY: fault
fault: build ## break things under load, in full (an hour), or one SCENARIO=TestKill; SEED=n repeats a run; the report is build/fault/report.md
	cd test/fault && CRD_SERVER=$(CURDIR)/$(BIN) go test -v -timeout 90m -run '$(SCENARIO)' . -full -seed $(SEED)

FUZZTIME := 1m
# The inputs that fuzzing has found worth keeping, and where they are while it goes on and finds more.
CORPUS   := test/fuzzing/corpus.tar.gz
FUZZED   := build/fuzz

$(FUZZED): $(CORPUS)
	mkdir -p $@
	tar -xzf $< -C $@
	touch $@

.PHONY: fuzz
fuzz: $(FUZZED) ## run every fuzz target for FUZZTIME, one after the other
	@set -e; for package in $$(grep -rl '^func Fuzz' --include='*_test.go' internal | xargs -n1 dirname | sort -u); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $$package/*_test.go); do \
			echo "fuzz $$package $$target"; \
			go test $(NO_PROFILE) ./$$package -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -test.fuzzcachedir "$(CURDIR)/$(FUZZED)/$$package"; \
		done; \
	done

.PHONY: fuzz-keep
fuzz-keep: $(FUZZED) ## keep the inputs that make fuzz has found, up to 64 KiB each, in test/fuzzing
	cd $(FUZZED) && find internal -type f -size -65537c | LC_ALL=C sort | \
		tar -cf - --no-recursion --owner=0 --group=0 --numeric-owner --mode=644 --mtime=@0 -T - | gzip -9n > $(CURDIR)/$(CORPUS)

BENCH :=
CRDS  :=

.PHONY: bench
bench: ## measure against upstream's server in one run; BENCH=get,list for parts, CRDS=dir for your CRDs
	cd bench && go run . -parts "$(BENCH)" -crds "$(if $(CRDS),$(abspath $(CRDS)))"

.PHONY: profile
profile: ## renew the profile that the compiler optimises for, cmd/crd-server/default.pgo (five minutes; the machine should be calm)
	rm -rf build/profiles
	cd bench && go run . -alone -parts start,create,list,get,write,watch,crds -profiles ../build/profiles -output ../build/profiles
	cd bench && go run ./mergeprofiles ../build/profiles/*.cpu.pprof > ../cmd/crd-server/default.pgo

.PHONY: lint
lint: ## check format, go.mod files, go vet and staticcheck in every module
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "gofmt these:"; echo "$$unformatted"; exit 1; fi
	@set -e; for module in $(MODULES); do \
		echo "lint $$module"; \
		(cd $$module && go mod tidy -diff && go vet ./... && go run $(STATICCHECK) ./...); \
	done

.PHONY: clean
clean: ## remove what was built
	rm -rf bin build
