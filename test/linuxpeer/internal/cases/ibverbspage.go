package cases

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs/page"
)

// verbsPageFile is the page whose commands run in the guest.
const verbsPageFile = "docs/ibverbs.md"

// verbsPagePort is the port of NFS over RDMA for the commands of the page: the guest has a server
// at the port of the page.
const verbsPagePort = "20059"

// pageStep is a command of the page with what the case does about it.
type pageStep struct {
	prepare string   // a script that runs before it, after verbsPrelude
	ready   string   // the command stays, and its output has this when the next one can follow
	want    []string // texts of the output
	only    bool     // the other devices are removed first: -provider ibverbs is the only one
	long    bool     // ibverbs/selftest runs it, because it takes minutes
}

// verbsPrelude runs before each command. All modules are loaded when a guest starts, by their
// paths: modprobe only looks.
const verbsPrelude = `cd /tmp/page; modprobe() { grep -q "^$1 " /proc/modules || { echo "no module $1"; return 1; }; }; `

// verbsPageSteps has the commands of the page. With a device's name for mlx5_0, and an address of
// the device for the page's addresses, they run in the guest.
var verbsPageSteps = map[string]pageStep{
	"modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0": {prepare: "rdma link del rxe0; "},
	"modprobe siw && rdma link add siw0 type siw netdev eth1":      {prepare: "rdma link del siw0; "},
	"bin/rpcrdma devices":                      {want: []string{"rxe0: RoCE", "siw0: iWARP", "port 1: ACTIVE", "limits: ", "provider ibverbs: ", "RLIMIT_MEMLOCK"}},
	"modprobe rpcrdma":                         {},
	"echo rdma 20049 > /proc/fs/nfsd/portlist": {only: true},
	"bin/rpcrdma nfsping -provider ibverbs -c 3 192.168.1.5": {
		want: []string{"private data received: f6ab0e18010", " (sends up to 4096 bytes", "version=3 seq=3", "version 3: 3 calls, 3 replies"},
	},
	"bin/rpcrdma serve -provider ibverbs 192.168.1.4:20050":                         {ready: "ready "},
	"bin/rpcrdma perf -provider ibverbs=mlx5_0 -size 1m -depth 8 192.168.1.4:20050": {want: []string{" calls/s ", " MB/s "}},
	"ulimit -l unlimited":                           {},
	"rdma system":                                   {want: []string{"netns shared"}},
	"rdma system set netns exclusive":               {},
	"bin/rpcrdma selftest -provider ibverbs=mlx5_0": {long: true},
}

// verbsPageCommands returns the commands of the page, in order.
func verbsPageCommands(t *T) []string {
	root, err := page.Root()
	t.Must(err)
	commands, err := page.Lines(root, verbsPageFile, "console")
	t.Must(err)
	return commands
}

// here returns a command of the page for a device of the guest.
func (d verbsDevice) here(command string) string {
	other := strings.NewReplacer("192.168.1.5", d.addr+":"+verbsPagePort, "192.168.1.4", d.addr, "mlx5_0", d.name,
		"rdma 20049", "rdma "+verbsPagePort, "netdev eth0", "netdev rxenet", "netdev eth1", "netdev eth0")
	return other.Replace(command)
}

// pageFolder makes the folder in which commands of the page run.
func pageFolder(t *T) {
	t.Shell("mkdir -p /tmp/page/bin && ln -sf /usr/bin/rpcrdma /tmp/page/bin/rpcrdma")
	t.Cleanup(func() { t.Shell("rm -rf /tmp/page") })
}

// verbsPage runs each command of the page on a device.
func verbsPage(t *T, d verbsDevice) {
	pageFolder(t)
	count := 0
	for _, command := range verbsPageCommands(t) {
		step, known := verbsPageSteps[command]
		switch {
		case command == "make build-ibverbs":
			sameBuild(t)
		case !known:
			t.Errorf("%s has the command %q, about which the case knows nothing", verbsPageFile, command)
		case !step.long:
			d.follow(t, command, step)
		}
		count++
	}
	t.Say("%d commands", count)
}

// follow runs a command.
func (d verbsDevice) follow(t *T, command string, step pageStep) {
	if step.only {
		d.only(t)
	}
	argv := []string{"sh", "-c", verbsPrelude + step.prepare + d.here(command)}
	if step.ready != "" {
		t.Background(argv...).Await(step.ready)
		return
	}
	res, err := t.Guest().Run(t.Context(), argv...)
	out := res.Stdout + res.Stderr
	t.Logf("guest$ %s\n%s", d.here(command), out)
	t.Must(err)
	for _, want := range step.want {
		if !strings.Contains(out, want) {
			t.Errorf("%s: found\n%s\nexpected it to contain %q", command, out, want)
		}
	}
}

// only removes the other devices.
func (d verbsDevice) only(t *T) {
	for _, other := range verbsDevices() {
		if other.name != d.name {
			t.Shell("[ ! -e /sys/class/infiniband/" + other.name + " ] || rdma link del " + other.name)
		}
	}
}

// sameBuild checks that make builds the program as the harness does.
func sameBuild(t *T) {
	root, err := page.Root()
	t.Must(err)
	cmd := exec.CommandContext(t.Context(), "make", "-n", "build-ibverbs")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	t.Must(err)
	if !regexp.MustCompile(`(?m)^CGO_ENABLED=0 .* build -tags ibverbs -o bin/ \./cmd/rpcrdma( .*)?$`).Match(out) {
		t.Errorf("make build-ibverbs runs %s", out)
	}
}

// otherCommands are commands of the page that do not run in the guest, by their first words, with
// the reason.
var otherCommands = map[string]string{
	"apt install": "the guest's packages are unpacked, not installed",
	"dnf install": "the guest is of Debian",
	"docker run":  "the guest has no containers",
}

// outsideConsole returns the lines of indented blocks that look like shell commands. They do not
// run in the guest, although they could.
func outsideConsole(text string) []string {
	var lines []string
	for _, m := range regexp.MustCompile(`(?m)^ {4,}(\S+ \S+).*$`).FindAllStringSubmatch(text, -1) {
		program, _, _ := strings.Cut(m[1], " ")
		if _, ok := otherCommands[m[1]]; !ok && slices.Contains(shellCommands, program) {
			lines = append(lines, strings.TrimSpace(m[0]))
		}
	}
	return lines
}

// shellCommands are the programs that commands of the page begin with.
var shellCommands = []string{"apt", "bin/rpcrdma", "dnf", "docker", "echo", "go", "ip", "make", "modprobe", "mount", "rdma", "ulimit"}
