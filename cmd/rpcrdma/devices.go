package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
)

// devicesCmd is the command "devices".
type devicesCmd struct {
	JSON bool `name:"json"`
}

// libraryView has the devices of rdma-core by name.
type libraryView struct {
	devices map[string]libraryDevice
}

// libraryDevice is a device of rdma-core.
type libraryDevice struct {
	limits []limit // in the order in which they are printed
	ports  map[int]libraryPort

	reads            int  // that a connection may have outstanding, and of the peer serve
	windows          bool // memory windows of type 2, bound by a request
	remoteInvalidate bool
	guessableKeys    bool
	noConnections    bool // the device has no reliable connections
}

// limit is a limit of a device.
type limit struct {
	name  string // a field of the JSON object
	text  string // "queue pairs"
	value uint64
}

// libraryPort has the MTUs of a port in bytes.
type libraryPort struct{ activeMTU, maxMTU int }

// run lists the devices of this machine.
func (c *devicesCmd) run(env environment) error {
	view, missing := libraryDevices()
	return listDevices(env, rdmadev.System(), view, missing)
}

// listDevices prints the devices of /sys, with the library's facts on each, and the problems. view
// is nil if the library was not asked, or could not be; missing is the reason why it could not.
func listDevices(env environment, tree rdmadev.Tree, view *libraryView, missing *rdmadev.Problem) error {
	devices, err := tree.Devices()
	if err != nil {
		return &failure{code: exitFailed, stage: "/sys/class/infiniband", err: err}
	}
	var seen []string
	if view != nil {
		seen = []string{}
		for name := range view.devices {
			seen = append(seen, name)
		}
	}
	problems := tree.Missing(seen)
	if missing != nil {
		problems = append([]*rdmadev.Problem{missing}, problems...)
	}
	for i := range devices {
		for j := range devices[i].Ports {
			if p := tree.Port(devices[i].Name, devices[i].Ports[j].Number); p != nil {
				problems = append(problems, p)
			}
		}
	}
	for i := range devices {
		var l *libraryDevice
		if view != nil {
			if found, ok := view.devices[devices[i].Name]; ok {
				l = &found
			}
		}
		if env.json {
			deviceJSON(env, &devices[i], l)
		} else {
			printDevice(env.stdout, &devices[i], l)
		}
	}
	printMemory(env, tree)
	if view == nil && !withIBVerbs && !env.json {
		fmt.Fprintln(env.stdout, "The kernel reports no more. make build-ibverbs builds a bin/rpcrdma that also shows limits, and what the provider ibverbs can do")
	}
	for _, p := range problems {
		printProblem(env, p)
	}
	if len(problems) > 0 {
		return &failure{code: exitInput, err: errReported}
	}
	return nil
}

func printProblem(env environment, p *rdmadev.Problem) {
	short := *p
	short.Try = ""
	if env.json {
		printJSON(env, "problem", map[string]any{"cause": string(p.Cause), "message": short.Error(), "help": p.Try})
		return
	}
	fmt.Fprintf(env.stdout, "missing: %s\n  try: %s\n", short.Error(), p.Try)
}

// printMemory prints how much memory may be registered.
func printMemory(env environment, tree rdmadev.Tree) {
	most, used, ok := tree.LockedMemory()
	switch {
	case !ok:
	case env.json:
		fields := map[string]any{"used_bytes": used}
		if most != rdmadev.Unlimited {
			fields["limit_bytes"] = most
		}
		printJSON(env, "locked_memory", fields)
	case most == rdmadev.Unlimited:
		fmt.Fprintln(env.stdout, "locked memory (RLIMIT_MEMLOCK): unlimited")
	default:
		fmt.Fprintf(env.stdout, "locked memory (RLIMIT_MEMLOCK): %d KiB for each process of this shell; docs/ibverbs.md says how many connections fit\n", most>>10)
	}
}

// printDevice prints a device as a paragraph.
func printDevice(w io.Writer, d *rdmadev.Device, l *libraryDevice) {
	parts := []string{"driver " + cmp.Or(plainText(d.Driver), "unknown")}
	for _, part := range []struct{ name, value string }{{"firmware ", d.Firmware}, {"PCI ", d.Bus}, {"board ", d.Board}, {"node GUID ", d.NodeGUID}} {
		if part.value != "" {
			parts = append(parts, part.name+plainText(part.value))
		}
	}
	protocol := d.Transport
	if len(d.Ports) > 0 {
		protocol = d.Protocol(&d.Ports[0])
	}
	fmt.Fprintf(w, "%s: %s, %s\n", plainText(d.Name), cmp.Or(plainText(protocol), "unknown protocol"), strings.Join(parts, ", "))
	for i := range d.Ports {
		printPort(w, d, &d.Ports[i], l)
	}
	if l != nil {
		fmt.Fprintf(w, "  limits: %s\n  provider ibverbs: %s\n", strings.Join(l.limitTexts(), ", "), strings.Join(l.abilities(), "; "))
	}
}

// plainText returns a text of the kernel for a terminal: a device's firmware can have any bytes.
func plainText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

func printPort(w io.Writer, d *rdmadev.Device, p *rdmadev.Port, l *libraryDevice) {
	fmt.Fprintf(w, "  port %d: %s", p.Number, cmp.Or(plainText(p.State), "unknown state"))
	if p.Physical != "" {
		fmt.Fprintf(w, " (%s)", plainText(p.Physical))
	}
	for _, part := range []string{p.Link, p.Rate} {
		if part != "" {
			fmt.Fprintf(w, ", %s", plainText(part))
		}
	}
	if p.Link == "InfiniBand" && p.LID != "" {
		fmt.Fprintf(w, ", LID %s", plainText(p.LID))
	}
	if l != nil {
		if m, ok := l.ports[p.Number]; ok && m.activeMTU > 0 {
			fmt.Fprintf(w, ", MTU %d of %d", m.activeMTU, m.maxMTU)
		}
	}
	fmt.Fprintln(w)
	if keys := partitions(p); len(keys) > 0 && (p.Link == "InfiniBand" || len(keys) > 1) {
		fmt.Fprintf(w, "    P_Keys %s\n", strings.Join(keys, ", "))
	}
	for _, g := range p.GIDs {
		if d.Transport == "iWARP" { // the kernel prints a type of RoCE
			g.Type = ""
		}
		fmt.Fprintf(w, "    GID %-3d %-25s %s\n", g.Index, g.Value.Unmap(), plainText(strings.TrimSpace(g.Type+"  "+g.NetDev)))
	}
}

// partitions returns the partition keys of a port.
func partitions(p *rdmadev.Port) []string {
	keys := []string{}
	for _, k := range p.PKeys {
		if k != 0 {
			keys = append(keys, fmt.Sprintf("%#04x", k))
		}
	}
	return keys
}

// limitTexts returns the limits in words.
func (l *libraryDevice) limitTexts() []string {
	var texts []string
	for _, m := range l.limits {
		if m.value == math.MaxUint64 {
			texts = append(texts, "any number of "+m.text)
			continue
		}
		texts = append(texts, fmt.Sprintf("%d %s", m.value, m.text))
	}
	return texts
}

// abilities says in words what the provider can do with the device.
func (l *libraryDevice) abilities() []string {
	if l.noConnections {
		return []string{"no reliable connections: use rdmatcp or iwarp"}
	}
	list := []string{fmt.Sprintf("%d Reads at a time", l.reads)}
	if l.windows {
		list = append(list, "remote memory by memory windows, without system calls")
	} else {
		list = append(list, "remote memory by registration, two system calls a chunk")
	}
	list = append(list, "remote invalidation: "+yesNo(l.remoteInvalidate))
	if l.guessableKeys {
		list = append(list, "keys that a peer can guess, which work on its own connection only")
	}
	return list
}

// deviceJSON prints a device as an object.
func deviceJSON(env environment, d *rdmadev.Device, l *libraryDevice) {
	ports := []map[string]any{}
	for i := range d.Ports {
		p := &d.Ports[i]
		gids := []map[string]any{}
		for _, g := range p.GIDs {
			gids = append(gids, map[string]any{"index": g.Index, "gid": g.Value.Unmap().String(), "gid_type": g.Type, "netdev": g.NetDev})
		}
		port := map[string]any{
			"port": p.Number, "state": p.State, "physical": p.Physical, "link_layer": p.Link, "rate": p.Rate, "protocol": d.Protocol(p), "gids": gids, "pkeys": partitions(p),
		}
		if l != nil {
			if m, ok := l.ports[p.Number]; ok {
				port["active_mtu_bytes"], port["max_mtu_bytes"] = m.activeMTU, m.maxMTU
			}
		}
		ports = append(ports, port)
	}
	fields := map[string]any{
		"device": d.Name, "driver": d.Driver, "transport": d.Transport, "firmware": d.Firmware, "bus": d.Bus, "board": d.Board, "node_guid": d.NodeGUID, "ports": ports,
	}
	if l != nil {
		limits := map[string]any{}
		for _, m := range l.limits {
			limits[m.name] = m.value
		}
		fields["limits"] = limits
		fields["reads"], fields["windows"], fields["remote_invalidate"] = l.reads, l.windows, l.remoteInvalidate
		fields["guessable_keys"], fields["connections"] = l.guessableKeys, !l.noConnections
	}
	printJSON(env, "device", fields)
}
