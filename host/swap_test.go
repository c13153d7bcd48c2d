package host

import (
	"testing"

	"noxmesh/declaration"
	"noxmesh/report"
)

// A swap that would take something else away is refused, and nothing has been touched.
func TestASwapThatWouldTakeSomethingAwayIsRefused(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	site := func(page string) func(*packer) []declaration.Resource {
		return func(p *packer) []declaration.Resource {
			return list(p.swapped("site", "/site", map[string]string{"page": page, "in/x": "x", "same": "same"}))
		}
	}
	const all = `find site -printf '%p %y %m %l %i ' \( -type d -printf '\n' -o -printf '%s %C@\n' \) | sort; find . -name '.mesh-new*'`
	d.apply(site("one"))
	for _, c := range []obstacle{
		{"a mount", "mount -t tmpfs none site/in", nil, `site failed (swap "/site": something is mounted at "/site/in"; umount /site/in, or declare another path)`, "umount site/in"},
		{"a mount of a folder of the same disk", "mkdir other; mount --bind other site/in", nil, `site failed (swap "/site": something is mounted at "/site/in"; umount /site/in, or declare another path)`, "umount site/in; rmdir other"},
		{"a mount of a file", "touch other; mount --bind other site/page", nil, `site failed (swap "/site": something is mounted at "/site/page"; umount /site/page, or declare another path)`, "umount site/page; rm other"},
		{"the folder is a mount", "mount --bind site site", nil, `site failed (swap "/site": something is mounted at "/site"; umount /site, or declare another path)`, "umount site"},
		{"an immutable file that is the same", "chattr +i site/same", nil, `site failed (swap "/site": "/site/same" is immutable; chattr -i /site/same undoes that)`, "chattr -i site/same"},
		{"an append-only folder", "chattr +a site/in", nil, `site failed (swap "/site": "/site/in" is append-only; chattr -a /site/in undoes that)`, "chattr -a site/in"},
		{"somebody's file", "echo up >site/in/upload", nil, `site failed (swap "/site": "/site" holds in/upload, which the host did not make, and a swap would take it away; move it away, or declare the archive without "swap")`, "rm site/in/upload"},
		{"somebody's FIFO", "mkfifo site/fifo", nil, `site failed (swap "/site": "/site" holds fifo, which the host did not make, and a swap would take it away; move it away, or declare the archive without "swap")`, "rm site/fifo"},
	} {
		d.sh(c.before)
		before := d.sh(all)
		if said := sketch(d.apply(site("two"))); said != c.says+"\n" {
			t.Errorf("%s: it says\n%swant\n%s", c.name, said, c.says)
		}
		if after := d.sh(all); after != before {
			t.Errorf("%s: before\n%s\nand after\n%s", c.name, before, after)
		}
		d.sh(c.after)
	}
	if r := d.apply(site("two"), "MESH_FAIL=resource.swap.link#1:EMLINK"); r.Outcome != report.OutcomeApplied || d.sh("cat site/page site/same") != "twosame" {
		t.Errorf("a file that can have no other name was not written: %s", sketch(r))
	}
}

// What is of a lower layer cannot be renamed: it is said, and the old folder stays.
func TestASwapOnAnOverlay(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	d.sh("mkdir lower upper work merged")
	site := func(page string) func(*packer) []declaration.Resource {
		return func(p *packer) []declaration.Resource {
			return list(p.swapped("site", "/site", map[string]string{"page": page, "in/x": "x"}))
		}
	}
	lower, merged := *d, *d
	lower.root, merged.root = d.root+"/lower", d.root+"/merged"
	lower.apply(site("one"))
	d.sh("mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none merged")
	merged.generation = lower.generation
	says := "site failed (replace \"/site\": it is partly of a lower layer of an overlay, which cannot be renamed; declare it without \"swap\")\n"
	if said := sketch(merged.apply(site("two"))); said != says {
		t.Errorf("it says %s", said)
	}
	if got := d.sh("cat merged/site/page; ls -A merged/site; find merged -name '.mesh-new*'"); got != "onein\npage" {
		t.Errorf("there is %s", got)
	}
	merged.apply(func(*packer) []declaration.Resource { return nil })
	// What is made on the overlay itself is its own.
	merged.apply(site("one"))
	if r := merged.apply(site("two")); r.Outcome != report.OutcomeApplied || d.sh("cat merged/site/page") != "two" {
		t.Errorf("%s", sketch(r))
	}
}
