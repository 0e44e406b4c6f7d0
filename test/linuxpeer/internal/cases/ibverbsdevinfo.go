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
	Type      string
	Device    string
	Firmware  string
	Transport string
	Board     string
	NodeGUID  string `json:"node_guid"`
	Limits    map[string]json.Number
	Reads     json.Number
	Ports     []devicePort
}

// devicePort is a port of a device.
type devicePort struct {
	Port      int
	State     string
	Physical  string
	Rate      string // such as "2.5 Gb/sec (1X SDR)"
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

// comparison has the number of fields that were compared, and those that differ.
type comparison struct {
	fields int
	diff   []string
}

// field compares a field of a device in our output and in theirs.
func (c *comparison) field(device, name, ours, theirs string) {
	c.fields++
	if ours != theirs {
		c.diff = append(c.diff, fmt.Sprintf("%s of %s: %q, expected %q, as ibv_devinfo says", name, device, ours, theirs))
	}
}

// compareDevices compares the fields that both programs print.
func compareDevices(ours []deviceLine, theirs map[string]map[string]string) (fields int, diff []string) {
	var c comparison
	for _, d := range ours {
		info := theirs[d.Device]
		same := func(name, value string) { c.field(d.Device, name, value, info[name]) }
		same("fw_ver", cmp.Or(d.Firmware, "0.0.0")) // a device in software does not have firmware
		same("node_guid", d.NodeGUID)
		c.field(d.Device, "transport", d.Transport, firstWord(info["transport"]))
		same("board_id", d.Board)
		same("phys_port_cnt", strconv.Itoa(len(d.Ports)))
		for _, name := range []string{"max_qp", "max_qp_wr", "max_sge", "max_cq", "max_cqe", "max_mr", "max_pd", "max_mw"} {
			same(name, d.Limits[name].String())
		}
		same("max_sge_rd", d.Limits["max_read_sge"].String())
		same("max_mr_size", hexSize(d.Limits["max_mr_size_bytes"]))
		same("max_qp_rd_atom", d.Reads.String())
		for i := range d.Ports {
			c.port(&d, &d.Ports[i], info)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		if !slices.ContainsFunc(ours, func(d deviceLine) bool { return d.Device == name }) {
			c.diff = append(c.diff, "no device "+name)
		}
	}
	return c.fields, c.diff
}

// port compares a port of a device.
func (c *comparison) port(d *deviceLine, p *devicePort, info map[string]string) {
	at := strconv.Itoa(p.Port) + "."
	same := func(name, value string) { c.field(d.Device, at+name, value, info[at+name]) }
	c.field(d.Device, at+"state", "PORT_"+p.State, firstWord(info[at+"state"]))
	if physical := firstWord(info[at+"phys_state"]); physical != "" { // from rdma-core 27 on
		c.field(d.Device, at+"phys_state", strings.ToUpper(p.Physical), strings.ReplaceAll(physical, "_", ""))
	}
	_, width, _ := strings.Cut(p.Rate, "(")
	c.field(d.Device, at+"active_width", firstWord(width), firstWord(info[at+"active_width"]))
	same("link_layer", p.Link)
	same("max_mtu", mtu(p.MaxMTU))
	same("active_mtu", mtu(p.ActiveMTU))
	// The provider may allow shorter messages than the device, and no longer ones.
	message, most := hexSize(d.Limits["max_message_size_bytes"]), info[at+"max_msg_sz"]
	if len(message) < len(most) || len(message) == len(most) && message < most {
		most = message
	}
	c.field(d.Device, at+"max_msg_sz", message, most)
	gids := map[string]string{}
	for _, g := range p.GIDs {
		gids[fmt.Sprintf("%sGID[%d]", at, g.Index)] = gid(g.GID) + ", " + g.Type
	}
	for _, name := range slices.Sorted(maps.Keys(info)) {
		if strings.HasPrefix(name, at+"GID[") {
			c.field(d.Device, name, gids[name], info[name])
		}
	}
}

// firstWord returns a text up to its first space: ibv_devinfo prints a number after a name.
func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
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
