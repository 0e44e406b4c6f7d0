package rpcbind

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// is reports whether m registers this version of the program. An empty netID matches any network.
func (m *Mapping) is(prog, vers uint32, netID string) bool {
	return m.Prog == prog && m.Vers == vers && (netID == "" || string(m.NetID) == netID)
}

// clone returns a copy of m that shares no memory with it, so it can outlive the request.
func (m *Mapping) clone() Mapping {
	c := *m
	c.NetID, c.Addr, c.Owner = bytes.Clone(m.NetID), bytes.Clone(m.Addr), bytes.Clone(m.Owner)
	return c
}

// add adds a registration of an owner. It reports false if its address or the owner's name is not
// usable, the service is registered on the network already, or the table is full (RFC 1833 §2.2.1,
// SET).
func (s *Server) add(m *Mapping, owner string) bool {
	if _, err := m.AddrPort(); err != nil || len(owner) > MaxString {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.table) >= s.most || slices.ContainsFunc(s.table, func(o Mapping) bool { return o.is(m.Prog, m.Vers, string(m.NetID)) }) {
		return false
	}
	c := m.clone()
	c.Owner = String(owner)
	s.table = append(s.table, c)
	return true
}

// remove removes a service's registrations on the given networks, or on all networks if none is
// given. It reports false, and removes nothing, if no registration matches or if one has another
// owner. The superuser may remove all (RFC 1833 §2.2.1, UNSET).
func (s *Server) remove(prog, vers uint32, owner string, netIDs ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := func(m Mapping) bool {
		return m.is(prog, vers, "") && (len(netIDs) == 0 || slices.Contains(netIDs, string(m.NetID)))
	}
	foreign := func(m Mapping) bool { return gone(m) && owner != Superuser && string(m.Owner) != owner }
	if !slices.ContainsFunc(s.table, gone) || slices.ContainsFunc(s.table, foreign) {
		return false
	}
	s.table = slices.DeleteFunc(s.table, gone)
	return true
}

// all returns the registrations, in the order in which they were made. Their strings are read only.
func (s *Server) all() Mappings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.table)
}

// find returns the registration of a program's version on a network. If the version is not
// registered and any is set, it returns the highest version that is (RFC 1833 §2.2.2: GETVERSADDR
// alone is bound to the version).
func (s *Server) find(prog, vers uint32, netID string, any bool) (found Mapping, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.table {
		switch m := &s.table[i]; {
		case m.is(prog, vers, netID):
			return *m, true
		case any && m.is(prog, m.Vers, netID) && (!ok || m.Vers > found.Vers):
			found, ok = *m, true
		}
	}
	return found, ok
}

// merge returns the universal address of a registration as a client can use it that reached the
// server at an address of this host: that address for 0.0.0.0 and ::. It returns an empty one if
// the client came over the other address family.
func merge(m *Mapping, here netip.Addr) String {
	at, err := m.AddrPort()
	switch {
	case err != nil || !at.Addr().IsUnspecified():
		return m.Addr
	case !here.IsValid() || here.Is4() != at.Addr().Is4():
		return nil
	}
	return String(oncrpc.UniversalAddr(netip.AddrPortFrom(here, at.Port())))
}
