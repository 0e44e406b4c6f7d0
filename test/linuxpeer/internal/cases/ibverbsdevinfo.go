package cases

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// verbsDevicesPage compares rpcrdma devices with ibv_devinfo -v, field by field.
func verbsDevicesPage(t *T) {
	theirs := readDevinfo(t.Run("ibv_devinfo", "-v"))
	ours, err := readDevices(t.Run("rpcrdma", "devices", "-json"))
	t.Must(err)
	fields, diff := compareDevices(ours, theirs)
	for _, d := range diff {
		t.Errorf("rpcrdma devices: found %s", d)
	}
	if len(ours) != len(verbsDevices()) {
		t.Errorf("rpcrdma devices has %d devices, expected %d", len(ours), len(verbsDevices()))
	}
	t.Report(Finding{What: "rpcrdma devices and ibv_devinfo -v, field by field", Saw: "the same"})
	t.Say("%d devices, %d fields as in ibv_devinfo -v", len(ours), fields)
}

// readDevinfo returns the fields that ibv_devinfo prints, by device. A field of a port has the
// port's number and a point in front, as in "1.state".
func readDevinfo(out string) map[string]map[string]string {
	devices := map[string]map[string]string{}
	var fields map[string]string
	port := ""
	for line := range strings.Lines(out) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":\t")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch {
		case name == "hca_id":
			fields, port = map[string]string{}, ""
			devices[value] = fields
		case fields == nil:
		case name == "port":
			port = value + "."
		default:
			fields[port+strings.ReplaceAll(name, " ", "")] = value
		}
	}
	return devices
}

// deviceLine is a line of rpcrdma devices -json.
type deviceLine struct {
	Type     string
	Device   string
	Firmware string
	NodeGUID string `json:"node_guid"`
	Limits   map[string]json.Number
	Reads    json.Number
	Ports    []devicePort
}

// devicePort is a port of a device.
type devicePort struct {
	Port      int
	State     string
	Link      string `json:"link_layer"`
	ActiveMTU int    `json:"active_mtu_bytes"`
	MaxMTU    int    `json:"max_mtu_bytes"`
	GIDs      []struct {
		Index int
		GID   string
		Type  string `json:"gid_type"`
	}
}

// readDevices returns the devices that rpcrdma devices -json prints.
func readDevices(out string) ([]deviceLine, error) {
	var list []deviceLine
	for line := range strings.Lines(out) {
		var d deviceLine
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		if d.Type == "device" {
			list = append(list, d)
		}
	}
	return list, nil
}

// compareDevices returns the number of fields that it compared, and those that differ.
func compareDevices(ours []deviceLine, theirs map[string]map[string]string) (fields int, diff []string) {
	for _, d := range ours {
		info := theirs[d.Device]
		want := func(field, value string) {
			fields++
			if info[field] != value {
				diff = append(diff, fmt.Sprintf("%s of %s: %q, expected %q, as ibv_devinfo says", field, d.Device, value, info[field]))
			}
		}
		want("fw_ver", cmp.Or(d.Firmware, "0.0.0")) // a device in software does not have firmware
		want("node_guid", d.NodeGUID)
		for _, name := range []string{"max_qp", "max_qp_wr", "max_sge", "max_cq", "max_cqe", "max_mr", "max_pd", "max_mw"} {
			want(name, d.Limits[name].String())
		}
		want("max_mr_size", hexSize(d.Limits["max_mr_size_bytes"]))
		want("max_qp_rd_atom", d.Reads.String())
		for _, p := range d.Ports {
			port := strconv.Itoa(p.Port) + "."
			state, _, _ := strings.Cut(info[port+"state"], " ")
			want(port+"state", strings.Replace(info[port+"state"], state, "PORT_"+p.State, 1))
			want(port+"link_layer", p.Link)
			want(port+"max_mtu", mtu(p.MaxMTU))
			want(port+"active_mtu", mtu(p.ActiveMTU))
			for _, g := range p.GIDs {
				if field := fmt.Sprintf("%sGID[%d]", port, g.Index); info[field] != "" {
					want(field, gid(g.GID)+", "+g.Type)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		if !slices.ContainsFunc(ours, func(d deviceLine) bool { return d.Device == name }) {
			diff = append(diff, "no device "+name)
		}
	}
	return fields, diff
}

// hexSize returns a number as ibv_devinfo prints sizes.
func hexSize(n json.Number) string {
	v, err := strconv.ParseUint(n.String(), 10, 64)
	if err != nil {
		return n.String()
	}
	return fmt.Sprintf("%#x", v)
}

// mtu returns a number of bytes as ibv_devinfo prints an MTU.
func mtu(bytes int) string {
	for code := 1; code <= 5; code++ {
		if 128<<code == bytes {
			return fmt.Sprintf("%d (%d)", bytes, code)
		}
	}
	return strconv.Itoa(bytes)
}

// gid returns a GID as ibv_devinfo prints it: the address of IPv4 in one of IPv6.
func gid(text string) string {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return text
	}
	return netip.AddrFrom16(a.As16()).String()
}
