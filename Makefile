# rankbench. `make help` lists what there is.

GO             ?= go
GOLANGCI_LINT  ?= $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME       ?= 20s
TESTFLAGS      ?=

.DEFAULT_GOAL := help
.PHONY: help demo test scenarios agreement browser prometheus build lint bench bench-10m fuzz tidy clean redis python chromium prometheus-server

help: ## show this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: redis ## a local ElastiCache, a ranking of 1,000,000 members, the four operations for a minute, a failover in its middle
	$(GO) run ./cmd/rankbench drill scenarios/demo.yaml --local

test: redis python ## everything, with the race detector, against real servers
	$(GO) test -race -p 3 -timeout 15m $(TESTFLAGS) ./... # most of it waits: three packages on two processors

scenarios: redis ## every scenario at reduced size, with its steps (some minutes)
	$(GO) test -timeout 15m -tags scenarios -run TestScenarios -parallel 4 $(TESTFLAGS) ./cmd/rankbench

agreement: redis ## ten drills, their outages held against those that an independent client sees, to 100 ms
	$(GO) test -v -timeout 15m -run TestAgreement -count 10 -parallel 1 $(TESTFLAGS) ./cmd/rankbench -tolerance 100ms

browser: redis chromium ## the HTML page of a run in headless Chromium (pictures of it to RANKBENCH_SCREENSHOTS)
	$(GO) test -timeout 10m -tags browser $(TESTFLAGS) ./internal/page

prometheus: redis prometheus-server ## a drill under a real Prometheus: configuration, rules, alerts, every query of the Grafana dashboard (a minute)
	$(GO) test -timeout 10m -tags prometheus -run 'Prom|EveryAlert' $(TESTFLAGS) ./cmd/rankbench

build: ## the binary, as bin/rankbench
	$(GO) build -o bin/rankbench ./cmd/rankbench

lint: ## go vet and golangci-lint
	$(GO) vet ./...
	$(GOLANGCI_LINT) run ./...

bench: redis ## what rankbench costs on top of go-redis (a few minutes)
	$(GO) test -run '^$$' -bench . -benchtime 2s -count 1 ./internal/run/

bench-10m: redis build ## 10,000,000 members: fill, the four operations, Find at both spreads (about 15 minutes)
	.ci/bench-10m

fuzz: ## every fuzz target for FUZZTIME (20s)
	@for t in $$(grep -rlE '^func Fuzz' --include='*_test.go' internal | xargs -n1 dirname | sort -u); do \
		for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$t/*_test.go | awk '{print $$2}'); do \
			echo "$$t $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) ./$$t || exit 1; \
		done; \
	done

tidy: ## go mod tidy and gofmt
	$(GO) mod tidy
	gofmt -l -w cmd internal

clean: ## remove what building and running left here
	rm -rf bin results coverage.out

redis python chromium:
	@.ci/install $@

prometheus-server:
	@.ci/install prometheus
