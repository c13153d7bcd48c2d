package git

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"noxmesh/internal/disk"
	"noxmesh/internal/fault"
	"noxmesh/internal/manners"
)

// Config is what a Git is made of. Only Home must be given.
type Config struct {
	Binary  string        // git; found in PATH where empty
	Home    string        // a folder that no other Git has; it is the HOME of every call
	Allow   Allow         // beyond https and ssh
	SSH     SSH           // how to speak ssh
	CAFile  string        // certificates to trust for https instead of the machine's
	Limit   time.Duration // for one call; five minutes where zero
	MaxSize int64         // bytes of one file that git writes, and of one checkout; 2 GiB where zero
}

// SSH is how to speak ssh. A host whose key is not in KnownHosts is refused:
// whoever answers in a forge's place would choose what runs on every node.
type SSH struct {
	Binary     string // ssh where empty
	KnownHosts string // a file; known_hosts in Home where empty
	Key        string // a private key's file; none where empty
}

// Git calls the real git, and asks forges over http itself where a ref stands.
type Git struct {
	cfg      Config
	tmp      string
	web      *web // nil where git is asked for everything
	manners  *manners.Manners
	together together
	atOnce   atOnce
}

// New is a Git with this configuration. What an earlier one left half done in
// its home is removed.
func New(cfg Config) (*Git, error) {
	home, err := filepath.Abs(cfg.Home)
	if err != nil || cfg.Home == "" {
		return nil, fault.New(fault.Invalid, "git has no home folder")
	}
	cfg.Home = home
	if cfg.Binary == "" {
		if cfg.Binary, err = exec.LookPath("git"); err != nil {
			return nil, fault.Wrap(fault.Unavailable, err, "finding git").With("install git: apt-get install git")
		}
	}
	cfg.Limit = cmp.Or(cfg.Limit, 5*time.Minute)
	cfg.MaxSize = cmp.Or(cfg.MaxSize, 2<<30)
	cfg.SSH.KnownHosts = cmp.Or(cfg.SSH.KnownHosts, filepath.Join(home, "known_hosts"))
	cfg.SSH.Binary = cmp.Or(cfg.SSH.Binary, "ssh")
	for _, file := range []string{cfg.SSH.KnownHosts, cfg.SSH.Key} {
		if strings.ContainsAny(file, "\"\\$%\n\r\x00") { // ssh substitutes in what it is told
			return nil, fault.New(fault.Invalid, "ssh cannot be told of a file called %q", file)
		}
	}
	g := &Git{cfg: cfg, tmp: filepath.Join(home, "tmp"), manners: manners.New(perHost), together: together{under: map[string]*answer{}}, atOnce: atOnce{until: map[string]time.Time{}}}
	g.web = newWeb(cfg, func(host string, alone time.Duration, now time.Time) { g.manners.Hold(host, alone, now) })
	return g, g.prepare()
}

func (g *Git) prepare() error {
	// A git that a killed process has left may still write there. What stays
	// because of that is in nobody's way, and goes at the next start.
	if err := os.RemoveAll(g.tmp); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
		return fault.Wrap(fault.Unavailable, disk.Say(err, ""), "clearing %q", g.tmp)
	}
	if err := os.MkdirAll(g.tmp, 0o700); err != nil {
		return fault.Wrap(fault.Unavailable, disk.Say(err, ""), "making %q", g.tmp)
	}
	if err := os.WriteFile(g.configFile(), []byte(g.config()), 0o600); err != nil {
		return fault.Wrap(fault.Unavailable, disk.Say(err, ""), "writing git's configuration to %q", g.configFile())
	}
	return nil
}

func (g *Git) configFile() string { return filepath.Join(g.cfg.Home, "gitconfig") }

// config is the whole configuration file that any git of ours reads. A git that
// reads a local repository for us starts another, which reads no -c: what that
// one must know is here. A folder that the operator names may be another user's.
func (g *Git) config() string {
	var b strings.Builder
	b.WriteString("[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n[uploadpack]\n\tallowFilter = true\n")
	if len(g.cfg.Allow.Folders) > 0 {
		b.WriteString("[safe]\n\tdirectory = *\n")
	}
	return b.String()
}

// environment is all that git sees of ours.
func (g *Git) environment(protocol string) []string {
	return []string{
		"PATH=" + filepath.Dir(g.cfg.Binary) + ":/usr/bin:/bin",
		"HOME=" + g.cfg.Home,
		"LANG=C", "LC_ALL=C", "TZ=UTC",
		"TMPDIR=" + g.tmp,
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + g.configFile(),
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=/bin/false",
		"SSH_ASKPASS=/bin/false",
		"GIT_ALLOW_PROTOCOL=" + protocol,
		"GIT_PROTOCOL_FROM_USER=0",
		"GIT_LFS_SKIP_SMUDGE=1",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_SSH_VARIANT=ssh",
		"GIT_SSH_COMMAND=" + g.sshCommand(),
	}
}

// settings is in every call, before the command: nothing that is read later overrides it.
func (g *Git) settings(protocol string) []string {
	redirects := "false"
	if protocol == "https" {
		redirects = "initial" // a renamed repository; GIT_ALLOW_PROTOCOL keeps it on https
	}
	set := []string{
		"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.symlinks=true", "core.autocrlf=false",
		"core.protectHFS=true", "core.protectNTFS=true", "core.attributesFile=/dev/null", "core.excludesFile=/dev/null",
		"core.askPass=/bin/false", "core.pager=cat", "core.editor=/bin/false",
		"transfer.fsckObjects=true", "transfer.bundleURI=false", "transfer.credentialsInUrl=die",
		"fsck.zeroPaddedFilemode=ignore", "fsck.badTimezone=ignore", "fsck.missingSpaceBeforeDate=ignore",
		"fetch.fsck.zeroPaddedFilemode=ignore", "fetch.fsck.badTimezone=ignore", "fetch.fsck.missingSpaceBeforeDate=ignore",
		"fetch.unpackLimit=1", "fetch.recurseSubmodules=false", "fetch.writeCommitGraph=false",
		"submodule.recurse=false", "safe.bareRepository=explicit", "credential.helper=", "gc.auto=0", "maintenance.auto=false",
		"advice.detachedHead=false", "http.followRedirects=" + redirects, "http.lowSpeedLimit=1000", "http.lowSpeedTime=30",
	}
	if g.cfg.CAFile != "" {
		set = append(set, "http.sslCAInfo="+g.cfg.CAFile)
	}
	args := []string{"--no-pager", "--no-replace-objects"}
	for _, s := range set {
		args = append(args, "-c", s)
	}
	return args
}

// sshCommand is read by a shell: every part of it is quoted. A file is quoted
// once more for ssh.
func (g *Git) sshCommand() string {
	s := g.cfg.SSH
	key := "none"
	if s.Key != "" {
		key = `"` + s.Key + `"`
	}
	args := []string{
		s.Binary, "-F", "/dev/null", "-a", "-x", "-T",
		"-oBatchMode=yes", "-oStrictHostKeyChecking=yes", "-oUpdateHostKeys=no",
		"-oUserKnownHostsFile=" + `"` + s.KnownHosts + `"`, "-oGlobalKnownHostsFile=/dev/null",
		"-oIdentityAgent=none", "-oIdentitiesOnly=yes", "-oIdentityFile=" + key,
		"-oPermitLocalCommand=no", "-oProxyCommand=none", "-oClearAllForwardings=yes", "-oControlPath=none",
		"-oConnectTimeout=15", "-oServerAliveInterval=15", "-oServerAliveCountMax=3",
	}
	for i, a := range args {
		args[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(args, " ")
}
