# What developers and CI run. `make check` is all of it.
STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
PLATFORMS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
PKGS = ./asm ./linalg/... ./kernelmv ./internal/evidence/... ./bbgp
COUNT ?= 10
FUZZTIME ?= 20s

.PHONY: check fmt vet static rules test cover race test-purego emulated test-avx512 test-arm64 audit generate bench paper \
	release vuln fuzz mpi mpitest

check: fmt vet static rules test race mpitest emulated

fmt:
	@bad=$$(gofmt -l .); if [ -n "$$bad" ]; then echo "not gofmt-clean: $$bad"; exit 1; fi

vet:
	GOARCH=amd64 go vet ./...
	GOARCH=arm64 go vet ./...
	go vet -tags purego ./...
	go vet -tags mpi ./internal/comm ./cmd/bbgp

static:
	$(STATICCHECK) ./...

rules:
	go test ./internal/lint

test:
	go test ./...

# How much of each package all tests run, in a clone without the data of the experiments.
cover:
	mkdir -p bin
	BBGP_DATA=/nonexistent go test -timeout 30m -coverpkg=./... -coverprofile=bin/cover.out ./...
	go run ./bench/cover bin/cover.out

# The race detector needs cgo and a C compiler. It sees what the plain Go routines do, and not
# what others do, which are fast enough for whole fits.
race: test-purego
	CGO_ENABLED=1 go test -race -short -run 'Thread|SaveLoad|SharedModels' ./bbgp

test-purego:
	CGO_ENABLED=1 go test -race -short -tags purego ./asm ./internal/comm ./cmd/bbgp/internal/...
	CGO_ENABLED=1 go test -race -short -tags purego -run 'Thread|SmallEval|MultiCG|Tasks|ProductsOverRanks|GradientsOverRanks' \
		./linalg/... ./kernelmv ./internal/evidence/...

# Every routine under emulation, on CPUs that this machine need not be. An emulator keeps about one
# core busy, so both run at once.
emulated:
	$(MAKE) -j2 --output-sync=target test-avx512 test-arm64

test-avx512:
	.ci/isa/test-avx512

test-arm64:
	.ci/isa/test-arm64

# Bounds, deviations and draws against twice the precision, on random tables: under two CPU minutes.
audit:
	go run ./bench/audit -short
	go run ./bench/audit -audit evidence -seed 43 -case 4 -least 1500 -most 4000
	go run ./bench/audit -audit evidence -seed 1410 -case 150 -least 20 -most 300

# Every fuzz target for FUZZTIME on one worker; what it finds is kept in testdata/fuzz of its
# package. A target that seems to stand still minimises, hence the 10x.
fuzz:
	@for f in $$(grep -rlE '^func Fuzz' --include='*_test.go' .); do \
	  for t in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\).*/\1/p' $$f); do \
	    echo "$$t"; go test -run '^$$' -fuzz "^$$t\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x -parallel 1 \
	      ./$$(dirname $$f) || exit 1; \
	  done; \
	done

generate:
	go generate ./...

bench:
	go test -run '^$$' -bench . -count $(COUNT) $(PKGS)

# The program for several machines; cross-compiles without a C compiler.
mpi:
	CGO_ENABLED=0 go build -trimpath -tags mpi -ldflags '-X main.version=$(VERSION)' -o bin/bbgp-mpi ./cmd/bbgp

# Ranks over MPI on this machine; skipped without mpirun, unless BBGP_REQUIRE_MPI=1.
mpitest:
	.ci/mpi

# The paper's experiments and docs/RESULTS.md; goes on where it was interrupted.
# QUICK=1: one split of 2000 rows with checks; ARGS: see bench/paper/doc.go.
paper:
	go build -ldflags '-X main.revision=$(VERSION)' -o bin/paper ./bench/paper
	bin/paper $(if $(QUICK),-quick) $(ARGS)

# Static binaries with their version, checksums and a list of their modules, by a Go without
# holes that are known (make vuln) where it can be had: a build takes any.
release: export GOTOOLCHAIN = $(shell GOTOOLCHAIN=go1.26.10 go version >/dev/null 2>&1 && echo go1.26.10 || go env GOTOOLCHAIN)
release:
	rm -rf dist && mkdir -p dist
	for p in $(PLATFORMS); do \
	  os=$${p%/*}; arch=$${p#*/}; ext=; [ $$os = windows ] && ext=.exe; \
	  CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' \
	    -o dist/bbgp-$(VERSION)-$$os-$$arch$$ext ./cmd/bbgp || exit 1; \
	done
	for arch in amd64 arm64; do \
	  CGO_ENABLED=0 GOOS=linux GOARCH=$$arch go build -trimpath -tags mpi -ldflags '-s -w -X main.version=$(VERSION)' \
	    -o dist/bbgp-mpi-$(VERSION)-linux-$$arch ./cmd/bbgp || exit 1; \
	done
	go run ./bench/sbom dist/bbgp-* > dist/bbgp-$(VERSION).cdx.json
	cd dist && sha256sum * > SHA256SUMS

# Known vulnerabilities of what is linked, by the database as module proxies have it, and the
# list of it that a test holds go.mod to.
vuln:
	go run ./bench/vulndb bin/vulndb bench/vulndb/least.txt
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 -db file://$(abspath bin/vulndb) ./cmd/bbgp
