package rdmadev

import (
	"fmt"
	"net"
	"slices"
)

// find returns a device's port, if both exist.
func (t Tree) find(device string, port int) (*Device, *Port) {
	devices, _ := t.Devices() // without a list, nothing is known of the port
	for i := range devices {
		if d := &devices[i]; d.Name == device {
			for j := range d.Ports {
				if d.Ports[j].Number == port {
					return d, &d.Ports[j]
				}
			}
		}
	}
	return nil, nil
}

// OtherDevice explains that another device than the open one reaches an address.
func (t Tree) OtherDevice(addr, reached, open string) *Problem {
	return problem(OtherDevice, nil, "the device "+reached+", or an address in the network of "+open,
		"%s is reached by device %s, and the open one is %s", addr, reached, open)
}

// NoConnections explains that a device has no reliable connections.
func (t Tree) NoConnections(device string, cause error) *Problem {
	driver := ""
	devices, _ := t.Devices() // the driver is only mentioned
	for _, d := range devices {
		if d.Name == device {
			driver = " (driver " + d.Driver + ")"
		}
	}
	return problem(NoConnections, cause, "the provider rdmatcp or iwarp, over the same network",
		"device %s%s has no reliable connections, which RPC-over-RDMA needs (RFC 8166 §2.2.2)", device, driver)
}

// Port explains why a port cannot carry data, or returns nil.
func (t Tree) Port(device string, port int) *Problem {
	d, p := t.find(device, port)
	if p == nil {
		return nil
	}
	return portProblem(d, p, nil)
}

func portProblem(d *Device, p *Port, cause error) *Problem {
	dev := p.NetDev()
	if dev == "" {
		dev = "NETDEV"
	}
	switch {
	case p.Active() && d.RoCE(p) && !slices.ContainsFunc(p.GIDs, func(g GID) bool { return g.Type == "RoCE v2" && !g.Value.IsLinkLocalUnicast() }):
		return problem(NoGID, cause, "ip addr add ADDRESS/PREFIX dev "+dev,
			"port %d of %s has no GID of an IP address for RoCE v2: its network device has no address", p.Number, d.Name)
	case p.Active():
		return nil
	case p.Link == "InfiniBand" && p.State == "INIT":
		return problem(PortDown, cause, "start a subnet manager on one node of the fabric: apt install opensm",
			"port %d of %s is in state INIT: no subnet manager has configured it", p.Number, d.Name)
	}
	state := "state " + p.State
	if p.Physical != "" {
		state += ", link " + p.Physical
	}
	try := "ip link set " + dev + " up, then check the cable"
	if p.Link == "InfiniBand" {
		try = "check the cable and the switch: ibstat " + d.Name
	}
	return problem(PortDown, cause, try, "port %d of %s is in %s", p.Number, d.Name, state)
}

// Address explains why an address was not reached. stage is the failed step: "address", "route" or
// "connection". device and port are those of the way to it, "" and 0 if not known.
func (t Tree) Address(stage, addr, device string, port int, cause error) *Problem {
	host := addr
	if h, _, err := net.SplitHostPort(addr); err == nil {
		host = h
	}
	if port == 0 {
		port = 1
	}
	if d, p := t.find(device, port); p != nil {
		if found := portProblem(d, p, cause); found != nil {
			found.Text = fmt.Sprintf("%s of %s: %s", stage, addr, found.Text)
			return found
		}
	}
	if device == "" {
		return problem(NoRoute, cause, "ip route get "+host+": the route must go through a network device with RDMA, which rpcrdma devices lists",
			"%s of %s: no RDMA device reaches it", stage, addr)
	}
	try := "ping " + host + ", and ip route get " + host + ": the route must go through the network device of " + device
	if _, p := t.find(device, port); p != nil && p.Link == "InfiniBand" {
		// A switch or a port drops packets of another partition, without an answer.
		try += fmt.Sprintf("; rpcrdma devices at both ends: they need a partition key (P_Key) in common, with the full membership of one end at least (0x8000 and above), and %s has %#x",
			device, p.PKeys)
	}
	return problem(NoRoute, cause, try, "%s of %s: device %s does not reach it", stage, addr, device)
}

// rejectReasons are the reasons with which InfiniBand's connection manager rejects a request.
var rejectReasons = [...]string{
	1: "no queue pair available", 2: "no end-to-end context available", 3: "no resources available", 4: "timeout",
	5: "unsupported request", 6: "invalid communication ID", 7: "invalid communication instance", 8: "no service at the port",
	9: "invalid transport type", 10: "stale connection", 11: "reliable datagram channel does not exist", 12: "GID rejected",
	13: "LID rejected", 14: "service level rejected", 15: "traffic class rejected", 16: "hop limit rejected", 17: "packet rate rejected",
	18: "alternate GID rejected", 19: "alternate LID rejected", 20: "alternate service level rejected", 21: "alternate traffic class rejected",
	22: "alternate hop limit rejected", 23: "alternate packet rate rejected", 24: "port and connection manager redirected", 25: "port redirected",
	26: "path MTU rejected", 27: "too few responder resources", 28: "rejected by the program", 29: "RNR retry count rejected",
	30: "duplicate communication ID", 31: "unsupported class version", 32: "flow label rejected", 33: "alternate flow label rejected",
}

// RejectReason returns the reason of a rejection over InfiniBand or RoCE in words.
func RejectReason(reason int) string {
	if reason > 0 && reason < len(rejectReasons) {
		return rejectReasons[reason]
	}
	return fmt.Sprintf("reason %d", reason)
}

// Rejected explains a rejection that the connection manager of the peer sent, not its program.
func (t Tree) Rejected(addr, device string, reason int) *Problem {
	try := "the log of the server, and rpcrdma devices at both ends"
	switch reason {
	case 8:
		try = "start the service at " + addr
	case 12, 18:
		try = "rpcrdma devices at both ends: the GID must be in the peer's table, with the same type of RoCE"
	case 26:
		try = "the same MTU at both ends: ip link show, and ibv_devinfo -d " + device + " for active_mtu"
	case 3, 27:
		try = "fewer connections, or smaller limits of the server"
	}
	return problem(Refused, nil, try, "%s rejected the connection: %s (reason %d of InfiniBand's connection manager)", addr, RejectReason(reason), reason)
}

// RetriesExceeded explains that a peer no longer acknowledges, while the connection exists.
func (t Tree) RetriesExceeded(addr, device string, port int) *Problem {
	if d, p := t.find(device, port); p != nil {
		if found := portProblem(d, p, nil); found != nil {
			return found
		}
	}
	return problem(NoAnswer, nil, "ping -M do -s 4000 of the peer's address: the path must carry the MTU of both ends, "+
		"and a RoCE network must not drop packets (flow control or ECN on every switch)",
		"the peer %s does not acknowledge what %s sends", addr, device)
}
