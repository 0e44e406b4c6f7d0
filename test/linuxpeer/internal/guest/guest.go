package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/control"
)

// Addresses of QEMU's user mode network and of the guest's devices.
const (
	HostAddr  = "10.0.2.2"  // HostAddr is the host's loopback interface, seen from the guest.
	GuestAddr = "10.0.2.15" // GuestAddr is the guest's address on eth0, with the device siw0.
	// RxeAddr is the guest's address on the device of rxe0. The host cannot reach it.
	RxeAddr = "192.168.77.1"
)

// QEMU is the emulator's program, of Debian's package qemu-system-x86.
const QEMU = "qemu-system-x86_64"

// Config is the settings of a guest.
type Config struct {
	// Kernel is the file of the kernel.
	Kernel string
	// Initrd is the file of the initramfs, with the agent.
	Initrd string
	// State is the file of a state that Save wrote, of a guest with the same kernel, initramfs and
	// memory. If empty, the guest boots.
	State string
	// Dir is an existing folder for the console's log. It must have a short path.
	Dir string
	// Memory is in MiB. If zero, the default is 1024: with 512 the server refuses chunks of 128
	// KiB.
	Memory int
	// Start limits the time until the agent answers. If zero, the default is ten minutes: a busy
	// machine was seen to need more than three.
	Start time.Duration
}

func (cfg Config) defaults() Config {
	if cfg.Memory == 0 {
		cfg.Memory = 1024
	}
	if cfg.Start == 0 {
		cfg.Start = 10 * time.Minute
	}
	return cfg
}

// args returns the arguments of QEMU that a saved state depends on.
func (cfg Config) args() []string {
	// Stalls of emulated processors are no fault of the kernel: its watchdogs for them are off.
	const params = "console=ttyS0 panic=-1 nowatchdog rcupdate.rcu_cpu_stall_suppress=1 tsc=unstable " +
		"mitigations=off audit=0"
	return []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", strconv.Itoa(cfg.Memory),
		"-kernel", cfg.Kernel, "-initrd", cfg.Initrd, "-append", params,
		"-netdev", "user,id=net0", "-device", "virtio-net-pci,netdev=net0,romfile=",
		"-device", "virtio-rng-pci",
		"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
	}
}

// Guest is a virtual machine that runs.
type Guest struct {
	Console *Console // Console has the kernel log.

	cmd    *exec.Cmd
	qmp    *qmp
	exited chan struct{} // closed when QEMU has ended
	errs   *tail
	log    *os.File

	mu       sync.Mutex
	forwards map[int]string
	captures int
}

// maxSocketPath is the size of sun_path, less the zero byte at its end (unix(7)).
const maxSocketPath = 107

// Start starts a guest and blocks until it accepts commands. Close ends it.
func Start(ctx context.Context, cfg Config) (*Guest, error) {
	cfg = cfg.defaults()
	socket := filepath.Join(cfg.Dir, "qmp")
	if len(socket) > maxSocketPath {
		return nil, fmt.Errorf("%s: the path of a Unix socket has at most %d bytes, this has %d: set TMPDIR to a shorter one",
			socket, maxSocketPath, len(socket))
	}
	log, err := os.Create(filepath.Join(cfg.Dir, "console.log"))
	if err != nil {
		return nil, err
	}
	g := &Guest{
		Console: NewConsole(log), log: log, errs: &tail{},
		exited: make(chan struct{}), forwards: map[int]string{},
	}
	args := append(cfg.args(), "-qmp", "unix:"+socket+",server=on,wait=off")
	if cfg.State != "" {
		args = append(args, "-incoming", "exec:exec cat "+quote(cfg.State))
	}
	g.cmd = exec.Command(QEMU, args...)
	g.cmd.Stdout, g.cmd.Stderr = g.Console, g.errs
	if err := startBound(g.cmd, g.exited); err != nil {
		log.Close()
		return nil, fmt.Errorf("%s (Debian package qemu-system-x86): %w", QEMU, err)
	}
	go func() {
		<-g.exited
		g.Console.Close()
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.Start, fmt.Errorf("the guest did not start within %v", cfg.Start))
	defer cancel()
	if err := g.await(ctx, socket, cfg.State != ""); err != nil {
		g.Close()
		return nil, fmt.Errorf("%w; console: %s", err, log.Name())
	}
	return g, nil
}

// await blocks until the guest is ready: it has booted, or it answers.
func (g *Guest) await(ctx context.Context, socket string, resumed bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-g.exited:
			cancel(g.died())
		case <-ctx.Done():
		}
	}()
	var err error
	if g.qmp, err = dialQMP(ctx, socket); err != nil {
		return err
	}
	if resumed {
		return g.resume(ctx)
	}
	if _, err := g.Console.Wait(ctx, 0, control.Ready); err != nil {
		if errors.Is(err, io.EOF) {
			return g.died()
		}
		return err
	}
	return nil
}

// died describes the end of QEMU.
func (g *Guest) died() error {
	text := "the guest has ended"
	if s := g.errs.String(); s != "" {
		text += ": " + s
	}
	if p := JudgeLog(g.Console.Since(0)); len(p) > 0 {
		text += "; " + p[0].String()
	}
	return errors.New(text)
}

// Exited returns a channel that is closed when the guest has ended.
func (g *Guest) Exited() <-chan struct{} { return g.exited }

// Forward returns an address of the host's loopback interface that leads to a TCP port of the
// guest. The forward lasts as long as the guest.
func (g *Guest) Forward(port int) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if addr, ok := g.forwards[port]; ok {
		return addr, nil
	}
	var text string
	for range 10 { // another process may take the free port first
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		addr := ln.Addr().String()
		ln.Close()
		text, err = g.qmp.monitor(fmt.Sprintf("hostfwd_add net0 tcp:%s-:%d", addr, port))
		if err != nil {
			return "", err
		}
		if text == "" {
			g.forwards[port] = addr
			return addr, nil
		}
	}
	return "", fmt.Errorf("forward to the guest's port %d: QEMU says %q", port, text)
}

// Capture starts to write all packets of the guest's eth0 to a file in the format of libpcap. The
// function that it returns ends the capture.
func (g *Guest) Capture(file string) (stop func() error, err error) {
	g.mu.Lock()
	g.captures++
	id := "capture" + strconv.Itoa(g.captures)
	g.mu.Unlock()
	_, err = g.qmp.do("object-add", map[string]any{"qom-type": "filter-dump", "id": id, "netdev": "net0", "file": file})
	if err != nil {
		return nil, err
	}
	return func() error {
		_, err := g.qmp.do("object-del", map[string]any{"id": id})
		return err
	}, nil
}

// Close ends the guest at once: it has no disk to lose data on.
func (g *Guest) Close() error {
	if g.qmp != nil {
		_, _ = g.qmp.do("quit", nil)
		g.qmp.Close()
	}
	select {
	case <-g.exited:
	case <-time.After(2 * time.Second):
		_ = g.cmd.Process.Kill()
		<-g.exited
	}
	return g.log.Close()
}

// tail keeps the last bytes of QEMU's messages.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-4096):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
