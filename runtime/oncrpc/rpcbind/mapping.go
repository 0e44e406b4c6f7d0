package rpcbind

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// AddrPort parses the universal address of a registration. The error is ErrAddress if it has not
// exactly the form of its netid, if the netid is not one of those in package oncrpc ("local" has a
// path of the file system as its address), or if the port is 0.
func (m *Mapping) AddrPort() (netip.AddrPort, error) {
	at, err := oncrpc.ParseUniversalAddr(string(m.NetID), string(m.Addr)) // R317
	if err == nil && at.Port() == 0 {
		err = fmt.Errorf("%.80q has port 0, where nothing can be reached", m.Addr)
	}
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%w: program %d version %d: %w", ErrAddress, m.Prog, m.Vers, err)
	}
	return at, nil
}

// mapping returns a registration of version 2 as one of version 4: at all IPv4 addresses of the
// server. The netid of a protocol other than TCP and UDP is its number.
func (p *PortMapping) mapping() Mapping {
	netID := strconv.FormatUint(uint64(p.Prot), 10)
	switch p.Prot {
	case ProtoTCP:
		netID = oncrpc.NetIDTCP
	case ProtoUDP:
		netID = oncrpc.NetIDUDP
	}
	// The field has 32 bits. A port beyond 16 becomes an address that AddrPort refuses.
	return Mapping{Prog: p.Prog, Vers: p.Vers, NetID: String(netID), Addr: fmt.Appendf(nil, "0.0.0.0.%d.%d", p.Port>>8, p.Port&0xff)}
}

// protoOf returns the protocol of version 2 for a netid, if there is one.
func protoOf(netID string) (proto uint32, ok bool) {
	switch netID {
	case oncrpc.NetIDTCP:
		return ProtoTCP, true
	case oncrpc.NetIDUDP:
		return ProtoUDP, true
	}
	return 0, false
}
