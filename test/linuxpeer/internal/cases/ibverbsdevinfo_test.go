package cases

import (
	"strings"
	"testing"
)

const devinfoText = `hca_id:	rxe0
	transport:			InfiniBand (0)
	fw_ver:				0.0.0
	node_guid:			847b:7aff:fe72:c04c
	phys_port_cnt:			1
	board_id:			MT_1
	max_mr_size:			0xffffffffffffffff
	max_qp:				1048560
	max_qp_wr:			1048576
	device_cap_flags:		0x01223c76
					MEM_WINDOW
	max_sge:			32
	max_sge_rd:			30
	max_cq:				1048576
	max_cqe:			32767
	max_mr:				524287
	max_pd:				1048576
	max_qp_rd_atom:			128
	max_mw:				524287
	general_odp_caps:
	rc_odp_caps:
					NO SUPPORT
		port:	1
			state:			PORT_ACTIVE (4)
			max_mtu:		4096 (5)
			active_mtu:		1024 (3)
			link_layer:		Ethernet
			max_msg_sz:		0x800000
			active_width:		1X (1)
			active_speed:		2.5 Gbps (1)
			phys_state:		LINK_UP (5)
			GID[  0]:		fe80::847b:7aff:fe72:c04c, RoCE v2
			GID[  1]:		::ffff:192.168.77.1, RoCE v2

`

const devicesText = `{"type":"device","device":"rxe0","transport":"InfiniBand","board":"MT_1","firmware":"","node_guid":"847b:7aff:fe72:c04c","reads":128,"limits":{"max_qp":1048560,"max_qp_wr":1048576,"max_sge":32,"max_read_sge":30,"max_message_size_bytes":8388608,"max_cq":1048576,"max_cqe":32767,"max_mr":524287,"max_mr_size_bytes":18446744073709551615,"max_pd":1048576,"max_mw":524287},"ports":[{"port":1,"state":"ACTIVE","physical":"LinkUp","rate":"2.5 Gb/sec (1X SDR)","link_layer":"Ethernet","active_mtu_bytes":1024,"max_mtu_bytes":4096,"gids":[{"index":0,"gid":"fe80::847b:7aff:fe72:c04c","gid_type":"RoCE v2"},{"index":1,"gid":"192.168.77.1","gid_type":"RoCE v2"}]}]}
{"type":"locked_memory","used_bytes":0}
`

// Each field that differs from ibv_devinfo's is found, and a device that one of the two lacks.
func TestEachFieldOfDevicesIsComparedWithDevinfo(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"", "", ""},
		{`"firmware":""`, `"firmware":"1.2"`, "fw_ver"},
		{"c04c\",\"reads", "c04d\",\"reads", "node_guid"},
		{`"transport":"InfiniBand"`, `"transport":"iWARP"`, "transport of rxe0"},
		{"MT_1", "MT_2", "board_id"},
		{`"max_read_sge":30`, `"max_read_sge":32`, "max_sge_rd"},
		{"8388608", "8388609", "1.max_msg_sz"},
		{"8388608", "4096", ""}, // the provider's limit
		{"LinkUp", "Polling", "1.phys_state"},
		{"(1X", "(4X", "1.active_width"},
		{`,{"index":1,"gid":"192.168.77.1","gid_type":"RoCE v2"}`, "", "1.GID[1]"},
		{`"max_qp":1048560`, `"max_qp":7`, "max_qp of rxe0"},
		{`"max_pd":1048576`, `"max_pd":7`, "max_pd"},
		{"18446744073709551615", "4096", "max_mr_size"},
		{`"reads":128`, `"reads":16`, "max_qp_rd_atom"},
		{"ACTIVE", "DOWN", "1.state"},
		{"Ethernet", "InfiniBand", "1.link_layer"},
		{`"active_mtu_bytes":1024`, `"active_mtu_bytes":4096`, "1.active_mtu"},
		{`"max_mtu_bytes":4096`, `"max_mtu_bytes":2048`, "1.max_mtu"},
		{"192.168.77.1", "192.168.77.2", "1.GID[1]"},
		{`"index":1,"gid":"192.168.77.1","gid_type":"RoCE v2"`, `"index":1,"gid":"192.168.77.1","gid_type":"IB/RoCE v1"`, "1.GID[1]"},
		{`"device":"rxe0"`, `"device":"rxe1"`, "no device rxe0"},
	} {
		ours, err := readDevices(strings.Replace(devicesText, tt.from, tt.to, 1))
		if err != nil {
			t.Fatal(err)
		}
		fields, diff := compareDevices(ours, readDevinfo(devinfoText))
		if fields < 16 || (len(diff) == 0) != (tt.want == "") || !strings.Contains(strings.Join(diff, "\n"), tt.want) {
			t.Errorf("%s: %d fields compared, found %q, expected %q", tt.to, fields, diff, tt.want)
		}
	}
}

// A page of selftest has counts, failures and figures.
func TestPageOfSelftestIsRead(t *testing.T) {
	out := `v1 selftest of provider ibverbs=rxe0 at 192.168.77.1:0
Linux 6.1.0, libibverbs.so.1.14.44.0
device rxe0: RoCE, driver rxe, firmware unknown
cases: 79 passed, 2 failed, 12 skipped, in 1m40s
  FAILED connect/ended_context: dial: rejected
  FAILED invalidate/race_with_reads: wrong bytes
latency, 128 bytes, one call at a time: p50 1.214ms, p99 4.5ms, 790 calls/s, 0.1 MB/s
rate, 128 bytes, 32 calls at a time: p50 20ms, p99 40ms, 1500 calls/s, 0.2 MB/s
throughput, 1 MiB, 8 calls at a time: p50 100ms, p99 200ms, 55 calls/s, 57.7 MB/s
`
	p, err := readSelftest(out)
	if err != nil {
		t.Fatal(err)
	}
	if p.passed != 79 || p.failed != 2 || p.skipped != 12 || strings.Join(p.failures, " ") != "connect/ended_context invalidate/race_with_reads" ||
		p.latency.Microseconds() != 1214 || p.rate != 1500 || p.throughput != 57.7e6 {
		t.Errorf("found %+v", p)
	}
	for _, part := range []string{"cases: ", "latency, ", "throughput, "} {
		if _, err := readSelftest(strings.Replace(out, part, "", 1)); err == nil {
			t.Errorf("a page without %q has no error", part)
		}
	}
}

// A column is read from the line for the size.
func TestColumnOfPerftestIsRead(t *testing.T) {
	out := ` #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 128     1000          201.47         5432.1       310.52     	       350.11       	100.0		900.1		 5000.0
`
	if v, err := perftestValue(out, 128, 4); v != 310.52 || err != nil {
		t.Errorf("found %v, %v", v, err)
	}
	for _, tt := range [][2]int{{4096, 4}, {128, 20}} {
		if v, err := perftestValue(out, tt[0], tt[1]); err == nil {
			t.Errorf("%d bytes, column %d: found %v", tt[0], tt[1], v)
		}
	}
	if _, err := perftestValue(" 128 1000 0.00", 128, 2); err == nil {
		t.Errorf("a result of 0 has no error")
	}
}
