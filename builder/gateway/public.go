package gateway

import "net/netip"

// Public reports whether an address is one of the public internet's, by the
// registries of special addresses of IANA. Of IPv6 only what is given out as
// public is; what carries an address of IPv4 in it is not.
func Public(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	if a = a.Unmap(); a.Is6() && !global().Contains(a) {
		return false
	}
	for _, p := range special() {
		if p.Contains(a) {
			return false
		}
	}
	return a.IsValid()
}

// global is what IPv6 gives out as public.
func global() netip.Prefix { return netip.MustParsePrefix("2000::/3") }

func special() []netip.Prefix {
	var all []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"168.63.129.16/32", // a cloud's, for the machines in it
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	} {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}
