package ibverbs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Limits of the provider. The devices' own are often lower.
const (
	maxDepth    = 128 // Reads; the connection manager's field has 8 bits, and 255 means the most
	privateData = 56  // bytes in a connection request over InfiniBand, the smallest message
	inlineSize  = 4 << 10
)

// Open opens a device. A nil cfg means the zero value: the only device of the machine. The error
// names the missing part and the command that mends it: the library, a device, a module, a
// permission.
func Open(cfg *Config) (*Device, error) {
	l, err := lib.Open()
	if err != nil {
		return nil, fmt.Errorf("ibverbs: %w", loadProblem(err))
	}
	return openOn(rdmadev.System(), l, cfg, nil)
}

// loadProblem explains an error of lib.Open.
func loadProblem(err error) *rdmadev.Problem {
	var load *lib.LoadError
	if errors.As(err, &load) {
		return rdmadev.Library(load.Library, load.Symbol, load.Err)
	}
	return rdmadev.Unsupported(err)
}

// openOn opens a device of a library on a machine. The quirks of the driver are overridden by
// override, if not nil.
func openOn(tree rdmadev.Tree, l lib.Lib, cfg *Config, override *quirks.Quirks) (_ *Device, err error) {
	var c Config
	if cfg != nil {
		c = *cfg
	}
	if c, err = c.fill(); err != nil {
		return nil, err
	}
	all, err := l.Devices()
	if err != nil {
		return nil, fmt.Errorf("ibverbs: list the devices: %w", tree.Unusable(c.Device, []string{}, err))
	}
	ctx, err := choose(tree, l, all, &c)
	if err != nil {
		return nil, err
	}
	d := &Device{cfg: c, waits: waits{flushWait, eventWait, callWait, withholdLimit, closeWait}}
	d.objects.open()
	d.identify(l, ctx, tree)
	if override != nil {
		d.quirks = *override
	}
	if n := abi.Context(uintptr(ctx)).Vectors; c.CompletionVector > 0 && c.CompletionVector >= n {
		return nil, fmt.Errorf("ibverbs: Config.CompletionVector is %d, device %s has %d, counted from 0: %w", c.CompletionVector, d.attrs.Name, n, verbs.ErrInvalidValue)
	}
	if err := d.query(); err != nil {
		return nil, err
	}
	if d.attrs, err = soft.Lower("ibverbs", d.attrs, c.Limits, min(maxDepth, max(d.limits.MaxInitiator, d.limits.MaxResponder))); err != nil {
		return nil, err
	}
	if d.soft, err = soft.New(soft.Config{Provider: "ibverbs", Attrs: d.attrs, Rand: rand.Reader}); err != nil {
		return nil, err
	}
	if err := d.start(); err != nil {
		return nil, errors.Join(err, d.release())
	}
	return d, nil
}

// choose returns the device that the configuration means.
func choose(tree rdmadev.Tree, l lib.Lib, all []lib.Context, c *Config) (lib.Context, error) {
	names := []string{} // not nil: the library was asked
	var found []lib.Context
	for _, ctx := range all {
		name := abi.Device(abi.Context(uintptr(ctx)).Device).Name
		names = append(names, name)
		if c.Device == "" || c.Device == name {
			found = append(found, ctx)
		}
	}
	if c.Addr != "" && len(found) > 0 {
		ctx, err := owner(l, c.Addr)
		if err != nil {
			return 0, err
		}
		if !slices.Contains(found, ctx) {
			return 0, fmt.Errorf("ibverbs: address %s belongs to device %q, want %q: %w", c.Addr, abi.Device(abi.Context(uintptr(ctx)).Device).Name, c.Device, verbs.ErrInvalidValue)
		}
		return ctx, nil
	}
	if len(found) == 0 {
		return 0, fmt.Errorf("ibverbs: %w", tree.Unusable(c.Device, names, nil))
	}
	if len(found) > 1 {
		return 0, fmt.Errorf("ibverbs: there are %d devices, choose one with Config.Device or Config.Addr: %s: %w", len(found), strings.Join(names, ", "), verbs.ErrInvalidValue)
	}
	return found[0], nil
}

// owner returns the device that has an IP address.
func owner(l lib.Lib, addr string) (lib.Context, error) {
	ip, err := netip.ParseAddr(addr)
	if err != nil {
		return 0, fmt.Errorf("ibverbs: Config.Addr: %w: %w", err, verbs.ErrInvalidValue)
	}
	sa, err := sockaddr(netip.AddrPortFrom(ip.Unmap(), 0))
	if err != nil {
		return 0, fmt.Errorf("ibverbs: Config.Addr: %w", err)
	}
	ch, err := l.CreateEventChannel()
	if err != nil {
		return 0, fmt.Errorf("ibverbs: find the device of %s: %w", addr, err)
	}
	defer l.DestroyEventChannel(ch)
	id, err := l.CreateID(ch, 0)
	if err != nil {
		return 0, fmt.Errorf("ibverbs: find the device of %s: %w", addr, err)
	}
	err = l.BindAddr(id, sa)
	ctx := lib.Context(abi.GetCMID(uintptr(id)).Verbs)
	if err == nil && ctx == 0 {
		err = verbs.ErrInvalidValue
	}
	if err := errors.Join(err, l.DestroyID(id)); err != nil {
		return 0, fmt.Errorf("ibverbs: no RDMA device has the address %s: %w", addr, err)
	}
	return ctx, nil
}

// start makes the device's channels, and starts the goroutines that read them.
func (d *Device) start() (err error) {
	if err := holds.take(&d.hardware); err != nil {
		return err
	}
	if err := d.reject.open(); err != nil {
		return d.fail("map memory", err)
	}
	if d.channel, err = d.lib.CreateCompChannel(d.ctx); err != nil {
		return d.fail("create a completion channel", err)
	}
	if d.cm, err = d.lib.CreateEventChannel(); err != nil {
		return d.fail("create an event channel of the connection manager", err)
	}
	for i, r := range []struct {
		fd   int
		name string
		take func() bool
	}{
		{abi.CompChannelFD(uintptr(d.channel)), "completion channel", d.takeCompletionEvent},
		{abi.EventChannelFD(uintptr(d.cm)), "connection events", d.takeCMEvent},
		{abi.Context(uintptr(d.ctx)).AsyncFD, "asynchronous events", d.takeAsyncEvent},
	} {
		if d.readers[i], err = newReader(r.fd, r.name, r.take); err != nil {
			return d.fail("read the file of the "+r.name, err)
		}
	}
	opened.add(d)
	return nil
}
