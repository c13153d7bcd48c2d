# make help prints what there is. Nothing here needs more than Go, git and make,
# except where a target says so.

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
PROGRAMS := mesh mesh-controller mesh-builder mesh-host
LINT     := $(GO) tool -modfile=tools/go.mod golangci-lint
FUZZ     ?= 20s
BENCH    ?= .
SEEDS    ?= 3000
FIRST    ?= 1
ERRORS   ?= 1

# The race detector needs a C compiler; where there is none, the tests run
# without it. It does not watch the inside of the database that was translated
# from C, which was half of what it cost. No package that instantiates generic
# code can be left out: the linker may take that one's for all.
UNWATCHED := '-gcflags=modernc.org/...=-d=checkptr=0' '-gcflags=modernc.org/sqlite/lib=-race=false -d=checkptr=0'
RACE := $(if $(shell command -v $${CC:-cc} 2>/dev/null),-race $(UNWATCHED))

# Under it each program waits at its end for threads that still race: a second,
# unless told.
export GORACE ?= atexit_sleep_ms=10

# A compiler and a linker end before what they leave is in anybody's way: to collect
# it four times as rarely saves a tenth of their time. What is tested is as it will be.
SPACIOUS := '-toolexec=env GOGC=400'

# Everything is compiled in one way, so that what one target has compiled another
# finds: without C, which the race detector alone needs, and without paths. What vet
# would find, make lint finds.
export CGO_ENABLED ?= 0
export GOFLAGS := $(strip $(filter-out -trimpath -vet=off,$(GOFLAGS)) -trimpath -vet=off $(if $(findstring toolexec,$(GOFLAGS)),,$(SPACIOUS)))

# What is changed and what is new, to compare before and after.
STATE := git status --porcelain 2>/dev/null; git diff 2>/dev/null | cksum

.DEFAULT_GOAL := help
.PHONY: help build deb demo test lint check sweep bench fuzz power golden docs clean sim bugs soak

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# A program that is killed, cut off or wrong when it is told to is compiled once,
# for the linters and for all that do so. These are the rooms of which some files
# are for the others.
TAGS     := meshcrash,power,meshbugs
UNTAGGED := ./internal/clock ./internal/effect ./internal/planted

build: ## the four programs, static, in bin/
	CGO_ENABLED=0 $(GO) build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ $(PROGRAMS:%=./cmd/%)

# As Debian writes it: v1.4.2-3-gabc becomes 1.4.2+3.gabc, and a bare commit 0+gabc.
DEB_VERSION := $(shell echo '$(VERSION)' | sed -e 's/^v\([0-9]\)/\1/' -e '/^[0-9][0-9]*[.]/!s/^/0+g/' -e 's/-/+/' -e 's/-/./g')

deb: ## the Debian package of the host, in bin/: the same bytes for the same commit and version (VERSION=1.4.2)
	CGO_ENABLED=0 $(GO) build -buildvcs=false -ldflags '-s -w -X main.version=$(DEB_VERSION)' -o bin/deb/ ./cmd/mesh-host
	$(GO) run ./internal/release -program bin/deb/mesh-host -version '$(DEB_VERSION)' -platform "$$($(GO) env GOOS)/$$($(GO) env GOARCH)" -to bin

demo: build ## a commit becomes a running thing on three machines (ONCE=1: and then it stops)
	$(GO) run ./internal/demo $(if $(ONCE),-once)

test: ## every test, under the race detector where there is a C compiler
	$(if $(RACE),CGO_ENABLED=1 )$(GO) test -timeout 30m $(RACE) ./...

lint: ## the linters of tools/go.mod (the first time takes minutes to compile)
	$(LINT) config verify
	$(LINT) run ./...
	$(LINT) run --build-tags none $(UNTAGGED)

check: ## all that every change passes: lint, test, build, sweep, power and sim, and the tree is afterwards as it was
	@was=$$($(STATE)); \
	$(MAKE) --no-print-directory lint && $(MAKE) --no-print-directory test && $(MAKE) --no-print-directory build && \
	$(MAKE) --no-print-directory sweep power TESTED=1 && $(MAKE) --no-print-directory sim && \
	$(GO) mod verify && \
	if [ "$$was" != "$$($(STATE))" ]; then echo "make check: the checks have changed the tree" >&2; git status --short; exit 1; fi

# A disk that stands still for seconds costs builders their leases. What is only
# killed needs none: where there is room, it is in memory.
IN_MEMORY := $(shell [ "$$(df -k --output=avail /dev/shm 2>/dev/null | tail -1)" -ge 8388608 ] 2>/dev/null && echo TMPDIR=/dev/shm)

# The programs of the line mostly wait: of one another, of builds, of a minute to
# try again. Those of the rooms are few. What make test has run is not run again
# where TESTED says so.
sweep: ## kill each program before and after each of its effects, and let each effect fail (POINT=text of some; ERRORS=3 with each of the errors); one change among 200 modules of real code
	$(IN_MEMORY) $(GO) test -tags $(TAGS) -count=1 -timeout 2h ./internal/line -run '^(TestEveryEffectMayBeTheLast|TestEveryEffectMayFail|TestOnlyABuilderUnpacksAWholeArchive|TestTwoBuildersAnswerOneRequest)$$' -point '$(POINT)' -errors $(ERRORS)
	$(GO) test -tags $(TAGS) -count=1 -timeout 1h ./internal/db ./internal/oci/registry ./builder ./builder/depot ./cli/story -run '^(TestEveryEffect|TestAMove|TestAMatter|TestAnEffect|TestABuilderIsKilled)'
	$(if $(TESTED),,$(GO) test -count=1 ./host -run '^(TestKilledAnywhere|TestFullDisk)$$')
	$(if $(POINT),,$(GO) test -tags $(TAGS) -count=1 -timeout 2h ./internal/line -run '^TestOneChangeAmongTwoHundredModules$$')

bench: ## the benchmarks (BENCH=pattern)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

fuzz: ## every fuzz target, for FUZZ of CPU time each (FUZZ=10m for the long run; ONLY=pattern)
	$(GO) run ./internal/fuzz -cpu $(FUZZ) -only '$(ONLY)'

# The rooms that keep something on a disk, and the clock; first the line, which waits
# most. They mount in a tree of their own, and what is unmounted there is gone from every copy
# of it as well that a machine or a sandbox was started with: it would hold the disk.
POWERED := ./internal/line ./internal/clock ./internal/power ./internal/db ./internal/oci/registry ./host/... ./builder ./controller

power: ## cut the power at each effect of each writer, fill its disks, and set clocks wrong (root, loop devices; minutes)
	@own() { "$$@"; }; code=$$(mktemp); if [ "$$(id -u)" = 0 ]; then \
		own() { unshare -m --propagation private sh -c 'mount --make-rshared / && exec "$$@"' sh "$$@"; }; \
	fi; \
	{ own $(GO) test -tags $(TAGS) -v -count=1 -parallel 8 -run '^Test(PowerIsCut|DiskOf|ACutLoses|ADiskIsFullAndShut|AnImageIsTheDisk|NoClock|Clock|Shift|ASecretThatGotOut)' $(POWERED); echo $$? >$$code; } | \
	grep -vE '^ *(=== |--- PASS)'; code=$$(cat $$code; rm $$code); exit $$code

sim: ## the simulation: SEEDS=3000 seeds from FIRST=1, and every planted bug is found
	@mkdir -p bin
	$(GO) test -tags meshbugs -c -o bin/sim.test ./internal/sim
	@cd internal/sim && $(if $(IN_MEMORY),export $(IN_MEMORY) && )half=$$(( ($(SEEDS) + 1) / 2 )); \
	../../bin/sim.test -test.timeout 1h -test.run 'TestSim$$' -first $(FIRST) -seeds $$half & one=$$!; \
	../../bin/sim.test -test.timeout 1h -test.run 'TestSim$$' -first $$(( $(FIRST) + half )) -seeds $$half & two=$$!; \
	trap 'kill $$one $$two; exit 130' INT TERM; \
	../../bin/sim.test -test.timeout 2h -test.run TestBugs -test.v; bugs=$$?; \
	wait $$one; first=$$?; wait $$two; second=$$?; \
	test $$first$$second$$bugs = 000

bugs: ## every planted bug is found by the simulation, or this is red (BUG=name for one)
	@mkdir -p bin
	$(GO) test -tags meshbugs -c -o bin/sim.test ./internal/sim
	cd internal/sim && ../../bin/sim.test -test.timeout 2h -test.run TestBugs -test.v -bug '$(BUG)'

soak: ## new seeds until it is stopped, or for FOR=1h
	@mkdir -p bin
	$(GO) test -c -o bin/sim.test ./internal/sim
	cd internal/sim && ../../bin/sim.test -test.timeout 0 -test.run 'TestSim$$' -test.v -first $$(date +%s) -seeds 0 -for $(or $(FOR),8760h)

golden: ## write the golden files, and what the command stories expect, anew
	@for folder in $$(git grep -lE 'flag.Bool\("update"' -- '*_test.go' | xargs -n1 dirname | sort -u); do \
		$(GO) test "./$$folder" -update || exit 1; \
	done
	git diff --stat

docs: ## write what is generated in docs/ anew, from the commands, the table of calls and the keys of module.json
	$(GO) test ./cli ./api -run '^Test(Reference|ModulePage)$$' -update

clean: ## remove bin/
	rm -rf bin
