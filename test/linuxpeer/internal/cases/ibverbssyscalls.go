package cases

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// straceCounts runs its arguments under strace, and prints the number of system calls by name. If
// they are for the device's file, the name has the suffix "uverbs", for its events "event".
const straceCounts = `
	strace -f -y -s 0 --seccomp-bpf -e trace=ioctl,write,read,futex,epoll_pwait,nanosleep -o /tmp/strace "$@" || exit
	awk '$2 ~ /^[a-z_0-9]+\(/ {
		name = $2
		sub(/\(.*/, "", name)
		if ($2 ~ /uverbs/) name = name "-uverbs"
		if ($2 ~ /infinibandevent/) name = name "-event"
		count[name]++
	}
	END { for (name in count) print "count", name, count[name] }' /tmp/strace
	rm /tmp/strace`

// verbsSyscalls counts the system calls of a client for each call, with registrations and with
// windows, which the provider does not use on rxe unless the test forces it. It also counts the
// calls of the library that are an ioctl each: how often the completion queue is armed depends on
// the load, and registrations do not.
func verbsSyscalls(t *T, d verbsDevice) {
	memory := map[string]map[int]float64{} // registrations and their ends
	for _, by := range []string{"registration", "windows"} {
		memory[by] = map[int]float64{}
		for _, size := range []int{0, 64 << 10, 1 << 20} {
			const few, many = 10, 60
			a, b := d.systemCalls(t, by, few, size), d.systemCalls(t, by, many, size)
			each := map[string]float64{}
			for name, n := range b {
				each[name] = float64(n-a[name]) / (many - few)
			}
			text := ""
			for _, name := range slices.Sorted(maps.Keys(each)) {
				text += fmt.Sprintf(" %s %.2f", name, each[name])
			}
			t.Logf("%s, a READ of %d bytes, for each call:%s", by, size, text)
			memory[by][size] = each["ibv_reg_mr"] + each["ibv_dereg_mr"]
			named := memory[by][size] + each["ibv_alloc_mw"] + each["ibv_dealloc_mw"] + each["ibv_req_notify_cq"]
			if ioctls := each["ioctl-uverbs"]; math.Abs(ioctls-named) > 0.1 {
				t.Errorf("%s, a READ of %d bytes takes %.2f ioctls, expected %.2f: one for each registration, window, its end, and arming",
					by, size, ioctls, named)
			}
		}
	}
	for _, size := range []int{64 << 10, 1 << 20} {
		registered, bound := memory["registration"][size], memory["windows"][size]
		if math.Abs(registered-bound-2) > 0.1 {
			t.Errorf("a READ of %d bytes takes %.2f registrations and their ends, %.2f with windows, expected 2 fewer", size, registered, bound)
		}
		t.Say("a READ of %d bytes takes %.2f registrations and their ends, %.2f with windows", size, registered, bound)
	}
}

// systemCalls runs a server and a client that makes n calls, and returns the client's system calls
// and calls of the library by name.
func (d verbsDevice) systemCalls(t *T, memory string, n, size int) map[string]int {
	const port = 7181
	argv := func(calls string, before ...string) []string {
		env := d.test(port, "env", "RPCRDMA_IBVERBS_CALLS="+calls)
		if memory == "windows" {
			env = append(env, "RPCRDMA_IBVERBS_WINDOWS=1")
		}
		return append(append(env, before...), "ibverbs.test", "-test.run", "^TestCallsOnDevice$")
	}
	server := t.Background(argv("serve")...)
	server.Await("serving at")
	out := t.Run(argv(fmt.Sprint(n, " ", size), "sh", "-c", straceCounts, "sh")...)
	if size > 0 && !strings.Contains(out, fmt.Sprintf(": %d registrations with a key for the peer", n)) {
		t.Errorf("%d calls: found %q, expected a registration for each", n, out)
	}
	server.Stop()
	counts := map[string]int{}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "count" {
			counts[f[1]], _ = strconv.Atoi(f[2]) // digits of awk
		}
	}
	if counts["ioctl-uverbs"] == 0 {
		t.Fatalf("found no ioctl on the device: %s", out)
	}
	return counts
}
