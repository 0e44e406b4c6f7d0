package mem

import (
	"context"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Device implements verbs.Device.
type Device struct {
	own *device
	dev verbs.Device // own, or own with the manners of Config.Strict
}

var _ verbs.Device = (*Device)(nil)

// Attributes implements verbs.Device.
func (d *Device) Attributes() verbs.DeviceAttributes { return d.dev.Attributes() }

// AllocPD implements verbs.Device.
func (d *Device) AllocPD() (verbs.ProtectionDomain, error) { return d.dev.AllocPD() }

// CreateCQ implements verbs.Device.
func (d *Device) CreateCQ(entries int, notify func()) (verbs.CompletionQueue, error) {
	return d.dev.CreateCQ(entries, notify)
}

// Listen implements verbs.Device. The address is any name except the empty one.
func (d *Device) Listen(ctx context.Context, addr string) (verbs.Listener, error) {
	return d.dev.Listen(ctx, addr)
}

// Dial implements verbs.Dialer.
func (d *Device) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	return d.dev.Dial(ctx, addr, qp, params)
}

// Resources implements verbs.Device.
func (d *Device) Resources() verbs.Resources { return d.dev.Resources() }

// Close implements verbs.Device.
func (d *Device) Close() error { return d.dev.Close() }

// Remove simulates unplugging the device: its connections end with verbs.ErrDeviceRemoved,
// and at their peers with verbs.ErrPeerDisconnected. Its listeners close, and it creates no
// further objects. The caller must still close all existing objects.
func (d *Device) Remove() { d.own.soft.Remove() }

// device is a device without the manners of Config.Strict.
type device struct {
	net   *Network
	soft  *soft.Device
	attrs verbs.DeviceAttributes
}

// attributes returns the attributes of a device with limits that lower may lower.
func attributes(name string, lower *verbs.DeviceAttributes) (verbs.DeviceAttributes, error) {
	a := soft.Attributes(name)
	a.MaxMRSize = 1 << 40
	a.MaxInitiatorDepth, a.MaxResponderResources = 128, 128
	a.MaxPrivateData = 196 // the limit of an InfiniBand reply; iWARP has more
	return soft.Lower("mem", a, lower, a.MaxInitiatorDepth)
}

func (d *device) Attributes() verbs.DeviceAttributes { return d.attrs }

func (d *device) AllocPD() (verbs.ProtectionDomain, error) {
	pd, err := d.soft.AllocPD()
	if err != nil {
		return nil, err
	}
	return &protectionDomain{Domain: pd, dev: d}, nil
}

func (d *device) CreateCQ(entries int, notify func()) (verbs.CompletionQueue, error) {
	return d.soft.CreateCQ(entries, notify)
}

func (d *device) Listen(ctx context.Context, addr string) (verbs.Listener, error) {
	if err := d.soft.Usable(); err != nil {
		return nil, err
	}
	if addr == "" {
		return nil, fmt.Errorf("mem: empty listen address: %w", verbs.ErrInvalidValue)
	}
	l := &listener{dev: d, addr: addr, queue: make(chan *connRequest, d.net.cfg.Backlog), done: make(chan struct{})}
	if err := d.net.listen(ctx, l); err != nil {
		return nil, err
	}
	if err := d.soft.Listen(l); err != nil { // the device has been removed
		l.Close()
		return nil, err
	}
	return l, nil
}

func (d *device) Resources() verbs.Resources { return d.soft.Resources() }

func (d *device) Close() error { return d.soft.Close() }
