package machine

import (
	"testing"
	"testing/fstest"
)

// The least limit of the machine and of control groups of both versions is found. A file that
// cannot be parsed has no limit.
func TestOfSystem(t *testing.T) {
	const meminfo = "MemFree:   1 kB\nMemTotal:       2048 kB\n"
	for name, tt := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing":              {nil, unknown},
		"machine":              {map[string]string{"proc/meminfo": meminfo}, 2 << 20},
		"machine, other unit":  {map[string]string{"proc/meminfo": "MemTotal: 2048 pages\n"}, unknown},
		"machine, overflow":    {map[string]string{"proc/meminfo": "MemTotal: 9223372036854775807 kB\n"}, unknown},
		"group 2":              {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "4096\n"}, 4096},
		"group 2, above":       {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "8192\n"}, 8192},
		"group 2, container":   {map[string]string{"proc/self/cgroup": "0::/of/the/host\n", "sys/fs/cgroup/memory.max": "8192\n"}, 8192},
		"group 2, odd path":    {map[string]string{"proc/self/cgroup": "0::/../../b\n", "sys/fs/cgroup/b/memory.max": "8192\n"}, 8192},
		"group 1":              {map[string]string{"proc/self/cgroup": "4:cpu:/x\n5:cpu,memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "16384\n"}, 16384},
		"group 1, no limit":    {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "5:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 2 << 20},
		"group, not a number":  {map[string]string{"proc/self/cgroup": "0::/\n\nx\n", "sys/fs/cgroup/memory.max": "-4\n"}, unknown},
		"machine less than it": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "4194304\n"}, 2 << 20},
	} {
		root := make(fstest.MapFS)
		for file, text := range tt.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := ofSystem(root); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
	if n := Memory(); n < 1<<20 || n == unknown {
		t.Errorf("this machine has %d bytes", n)
	}
}
