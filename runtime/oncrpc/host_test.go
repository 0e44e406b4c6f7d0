package oncrpc

import "testing"

func TestHostOf(t *testing.T) {
	for addr, want := range map[string][2]string{
		"192.0.2.1:2049":            {"192.0.2.1", "192.0.2.1"},
		"[::ffff:192.0.2.1]:2049":   {"::ffff:192.0.2.1", "192.0.2.1"},
		"[2001:db8:1:2:3:4:5:6]:1":  {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
		"[fe80::1%eth0]:1":          {"fe80::1%eth0", "fe80::/64"},
		"192.0.2.1":                 {"192.0.2.1", "192.0.2.1"},
		"client":                    {"client", "client"},
		"host.example:1":            {"host.example", "host.example"},
		"pipe":                      {"pipe", "pipe"},
		"":                          {"", ""},
		"[2001:db8:1:2:ffff::]:999": {"2001:db8:1:2:ffff::", "2001:db8:1:2::/64"},
	} {
		if host, source := HostOf(addr); host != want[0] || source != want[1] {
			t.Errorf("%q: %q, %q, want %q", addr, host, source, want)
		}
	}
}

// A local process is a host by itself, and its source is the user.
func TestHostOfLocalProcess(t *testing.T) {
	for addr, want := range map[string][2]string{
		"unix:uid=1000,pid=7": {"unix:uid=1000,pid=7", "unix:uid=1000"}, "unix:": {"unix:", "unix:"}, "unix:/run/s": {"unix:/run/s", "unix:/run/s"},
	} {
		if host, source := HostOf(addr); host != want[0] || source != want[1] {
			t.Errorf("%s: %q, %q", addr, host, source)
		}
	}
	for addr, want := range map[string]bool{"unix:/run/s": true, "unix:./s": true, "unix:@s": true, "unix:2049": false, "unix:s": false, "": false} {
		if IsLocal(addr) != want {
			t.Errorf("IsLocal(%q) is %v", addr, !want)
		}
	}
}
