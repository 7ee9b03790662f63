package egress

import (
	"net"
	"net/netip"
)

// kinds of addresses that no host of the public network has. Every address is put
// into the first that contains it. The registries of special-purpose addresses
// (RFC 6890 and IANA's lists) are here, what clouds answer themselves, and forms of
// IPv6 that carry an IPv4 address: what stands in those is not read, they are no
// public host's either way.
var kinds = []struct {
	name     string
	prefixes []netip.Prefix
}{
	{"this machine's", prefixes("0.0.0.0/8", "127.0.0.0/8", "::/127")},
	// 168.63.129.16 and 100.100.100.200 are public or shared addresses that a cloud
	// answers with its machines' configuration.
	{"a cloud's metadata service", prefixes("169.254.169.254/32", "168.63.129.16/32", "100.100.100.200/32", "fd00:ec2::254/128", "fd20:ce::254/128")},
	{"private", prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10")},
	{"link-local", prefixes("169.254.0.0/16", "fe80::/10")},
	{"shared by a provider's customers", prefixes("100.64.0.0/10")},
	{"multicast", prefixes("224.0.0.0/4", "ff00::/8")},
	{"reserved", prefixes(
		"192.0.0.0/24",                                      // protocol assignments
		"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", // documentation
		"192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24", // anycast of protocols
		"192.88.99.0/24", // relays of 6to4
		"198.18.0.0/15",  // benchmarks
		"240.0.0.0/4",    // and broadcast
		"2001:db8::/32", "3fff::/20",
		"2620:4f:8000::/48",
	)},
	{"an IPv4 address in another form", prefixes(
		"::ffff:0:0/96", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32",
	)},
	{"reserved", prefixes("2001::/23")}, // what Teredo leaves of the protocols' block
}

// global is what IPv6 has given to hosts. All else is nobody's yet, or special.
var global = netip.MustParsePrefix("2000::/3")

func prefixes(text ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(text))
	for i, t := range text {
		list[i] = netip.MustParsePrefix(t)
	}
	return list
}

// isOwn reports whether an address, public as it may be, is one of this machine's: what
// listens there may trust whoever is on the machine.
func isOwn(a netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, one := range own {
		if prefix, err := netip.ParsePrefix(one.String()); err == nil && prefix.Addr().Unmap() == a.Unmap() {
			return true
		}
	}
	return false
}

// special says what an address is that no public host has, or nothing.
func special(a netip.Addr) string {
	a = a.WithZone("")
	for _, kind := range kinds {
		for _, prefix := range kind.prefixes {
			if prefix.Contains(a) {
				return kind.name
			}
		}
	}
	if a.Is4() || global.Contains(a) {
		return ""
	}
	return "reserved"
}
