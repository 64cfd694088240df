# make help lists the targets.

BIN         := bin/crd-server
# The server that tests start. It is compiled in the same way as the tests, which make build is not.
SERVER      := build/crd-server
MODULES     := . test examples bench generate
# The dependencies of these take minutes to compile, so make lint only checks their format and go.mod files.
LARGE       := test/helm test/kubernetes/module test/clusterapi/manager test/controllers
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# Go takes the version from git. Sources without git are those of the release that the file VERSION names.
VERSION     := $(if $(wildcard .git),,$(shell cat VERSION 2>/dev/null))
LDFLAGS     := -s -w $(if $(VERSION),-X github.com/crd-server/crd-server/internal/server.buildVersion=$(VERSION))

# The platforms of make release; all if empty.
PLATFORMS   :=

# make test TAGS=library tests managed fields, validation and JSON by the libraries alone.
TAGS        :=
TAGGED      := $(if $(TAGS),-tags $(TAGS))

# Each build mode compiles Kubernetes and etcd once more: the profile, cgo, the race detector and -trimpath are modes.
# Tests and lint share one mode, without all of these.
export CGO_ENABLED := 0
PLAIN       := -pgo=off $(TAGGED)
# go vet is part of make lint.
GOTEST      := go test -vet=off -timeout 10m

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/crd-server as it is released: stripped, with the profile
	go build -trimpath $(TAGGED) -ldflags "$(LDFLAGS)" -o $(BIN) ./cmd/crd-server

.PHONY: release
release: ## build the archives of a release for all platforms in build/release; PLATFORMS=linux/amd64 for one
	PLATFORMS="$(PLATFORMS)" .ci/release

.PHONY: run
run: build ## build and serve (data in crd-server.data, port 6443)
	$(BIN)

.PHONY: test
test: test-unit test-e2e ## run all tests but conformance

.PHONY: test-unit
test-unit: ## run the tests beside the code, and the examples
	$(GOTEST) $(PLAIN) ./...
	cd examples && $(GOTEST) $(PLAIN) ./...

.PHONY: servers
servers: ## run 200 servers in one process, a test each, and print what each costs
	$(GOTEST) $(PLAIN) -count 1 -v -run 'TestParallel$$' ./crdservertest -servers 200 | grep -e '---.* TestParallel ' -e 'servers in use'

# Go does not know that results depend on the server, so -count 1 keeps it from showing old ones.
.PHONY: test-e2e
test-e2e: server ## run the tests that start the server: transcripts, kubectl, informers, an aggregator, faults in short form
	cd test && CRD_SERVER=$(CURDIR)/$(SERVER) $(GOTEST) -count 1 -p 2 -parallel 4 ./...

# helm's modules are many, and take minutes to compile the first time.
.PHONY: test-helm
test-helm: server ## run helm 3 and helm 4 against the server
	cd test/helm && go vet ./... && CRD_SERVER=$(CURDIR)/$(SERVER) $(GOTEST) -count 1 ./...

# Cluster API's manager takes minutes to compile the first time.
.PHONY: test-clusterapi
test-clusterapi: server ## rotate the certificates of Cluster API's webhooks while clients write
	cd test && CRD_SERVER=$(CURDIR)/$(SERVER) $(GOTEST) -count 1 -timeout 30m -v ./clusterapi -cluster-api

# The programs of Kubernetes, cert-manager, kwok and helm take many minutes to compile the first time.
.PHONY: test-controllers
test-controllers: server ## run cert-manager, and a control plane without nodes, by the commands of their pages
	cd test && CRD_SERVER=$(CURDIR)/$(SERVER) $(GOTEST) -count 1 -timeout 90m -v ./docs -run 'TestPages$$' -controllers

# It compiles the server once more, because it does so at another path.
.PHONY: test-install
test-install: ## go install the module, as it is here, from a proxy, with the profile
	cd test && go test -vet=off -count 1 -timeout 30m -v ./release -run TestInstall -install

.PHONY: test-library
test-library: ## run all tests, conformance too, with the implementations that only call the libraries
	$(MAKE) test conformance TAGS=library

.PHONY: test-race
test-race: ## run all tests with the race detector; it needs a C compiler
	CGO_ENABLED=1 go test -race -vet=off -timeout 30m $(PLAIN) ./...
	CGO_ENABLED=1 go build -race $(PLAIN) -o $(SERVER) ./cmd/crd-server
	cd test && CRD_SERVER=$(CURDIR)/$(SERVER) go test -vet=off -count 1 -timeout 30m -p 2 -parallel 4 ./...

# server builds the server that tests start.
.PHONY: server
server:
	go build $(PLAIN) -ldflags -w -o $(SERVER) ./cmd/crd-server

.PHONY: conformance
conformance: server ## run upstream's integration suite against the server
	cd test/conformance && go run . -server $(CURDIR)/$(SERVER)

# SUITE=kro runs the packages whose names match; ONLY=crd-server compares with the last run against kube-apiserver.
SUITE :=
ONLY  :=

.PHONY: suites
suites: server ## run envtest suites of other projects against kube-apiserver and the server; the report is build/suites/report.md
	cd test && CRD_SERVER=$(CURDIR)/$(SERVER) go run ./suites -suite '$(SUITE)' -server '$(ONLY)'

# PACKAGES='^auth$$' and RUN=TestRBAC choose packages and tests. FLAGS='-server kube-apiserver -update' renews what
# kube-apiserver does, and FLAGS=-update the table in docs/conformance.md; FLAGS=-reuse does not compile again.
PACKAGES :=
RUN      :=
FLAGS    :=

.PHONY: kubernetes-tests
kubernetes-tests: server ## run integration tests of Kubernetes against the server; it takes an hour, or minutes for PACKAGES='^quota$$'
	cd test && CRD_SERVER=$(CURDIR)/$(SERVER) go run ./kubernetes -packages '$(PACKAGES)' -run '$(RUN)' $(FLAGS)

# SEED=n repeats a run of differential, fault or soak; SCENARIO=TestKill runs one scenario of fault.
SEED     := 0
SCENARIO :=
FAULT    := cd test/fault && CRD_SERVER=$(CURDIR)/$(SERVER) go test -v -vet=off -timeout 3h . -full -seed $(SEED)

.PHONY: differential
differential: server ## play the transcripts, random steps and roles on upstream's server too, and print the differences
	cd test && CRD_SERVER=$(CURDIR)/$(SERVER) go test -p 1 ./transcripts ./rbac -run Differential -upstream -v -timeout 1h \
		-seed $(SEED)
	cd test && CRD_SERVER=$(CURDIR)/$(SERVER) go test -p 1 ./discovery ./envtest -run Differential -upstream -v

.PHONY: bench-envtest
bench-envtest: server ## measure envtest with the server, and with kube-apiserver and etcd: start, stop and memory
	cd test && CRD_SERVER=$(CURDIR)/$(SERVER) go test ./envtest -run '^$$' -bench . -benchtime 10x
	cd test && CRD_SERVER=$(CURDIR)/$(SERVER) go test ./envtest -run '^$$' -bench . -benchtime 10x -upstream

.PHONY: fault
fault: server ## break things under load, in full (half an hour); the report is build/fault/report.md
	$(FAULT) -run '$(SCENARIO)' -skip TestSoak

.PHONY: fault-keep
fault-keep: server ## search for inputs that are expensive for their size; keep the worst ten in test/fault/testdata
	$(FAULT) -run TestHostile/search -keep

.PHONY: soak
soak: server ## load the server for half an hour and compare what it holds
	$(FAULT) -run TestSoak

# The Go packages of the built-in kinds, and the folder of the list and of the archive that is made of it.
SCHEMAS      := internal/builtin/schemas
TYPEPACKAGES  = $(shell sed -n 's/^\([^\#][^ ]*\) .*/\1/p' $(SCHEMAS)/types.txt | sort -u)

.PHONY: generate
generate: ## renew the OpenAPI definitions of built-in kinds, internal/builtin/schemas/definitions.zip
	cd generate && go tool openapi-gen --output-dir definitions --output-file zz_generated.openapi.go \
		--output-pkg github.com/crd-server/crd-server/generate/definitions \
		--go-header-file /dev/null --report-filename /dev/null $(TYPEPACKAGES)
	cd generate && go run -tags generated . ../$(SCHEMAS)

FUZZTIME := 1m
# The inputs that fuzzing has found worth keeping, by target, and the folder that holds them while it adds more.
# Names of targets are unique, so that a target may move to another package.
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
			go test $(PLAIN) ./$$package -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -test.fuzzcachedir "$(CURDIR)/$(FUZZED)"; \
		done; \
	done

.PHONY: fuzz-keep
fuzz-keep: $(FUZZED) ## keep the inputs that make fuzz has found, up to 64 KiB each, in test/fuzzing
	cd $(FUZZED) && find Fuzz* -type f -size -65537c | LC_ALL=C sort | \
		tar -cf - --no-recursion --owner=0 --group=0 --numeric-owner --mode=644 --mtime=@0 -T - | gzip -9n > $(CURDIR)/$(CORPUS)

BENCH :=
CRDS  :=

.PHONY: bench
bench: ## measure against upstream's server in one run; BENCH=get,list for parts, CRDS=dir for your CRDs
	cd bench && go run . -parts "$(BENCH)" -crds "$(if $(CRDS),$(abspath $(CRDS)))"

.PHONY: profile
profile: ## renew the profile that the compiler optimises for, cmd/crd-server/default.pgo (five minutes, on a calm machine)
	rm -rf build/profiles
	cd bench && go run . -alone -parts start,create,list,get,write,watch,crds -profiles ../build/profiles -output ../build/profiles
	cd bench && go run ./mergeprofiles ../build/profiles/*.cpu.pprof > ../cmd/crd-server/default.pgo

.PHONY: lint
lint: export GOFLAGS := $(GOFLAGS) -pgo=off
lint: ## check format and go.mod files in every module, and go vet and staticcheck in all but the largest
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "gofmt these:"; echo "$$unformatted"; exit 1; fi
	@set -e; for module in $(MODULES); do \
		echo "lint $$module"; \
		(cd $$module && go mod tidy -diff && go vet ./... && go run $(STATICCHECK) ./...); \
	done
	@set -e; for module in $(LARGE); do echo "lint $$module"; (cd $$module && go mod tidy -diff); done

.PHONY: clean
clean: ## remove what was built
	rm -rf bin build
