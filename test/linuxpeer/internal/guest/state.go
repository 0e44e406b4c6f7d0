package guest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// StateKey returns a name for the state of a guest: guests whose kernel, initramfs, arguments or
// emulator differ have different keys.
func (cfg Config) StateKey(ctx context.Context) (string, error) {
	version, err := exec.CommandContext(ctx, QEMU, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", QEMU, err)
	}
	h := sha256.New()
	h.Write(version)
	for _, name := range []string{cfg.Kernel, cfg.Initrd} {
		f, err := os.Open(name)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return "", err
		}
	}
	cfg.Kernel, cfg.Initrd = "", ""
	fmt.Fprintf(h, "%q", cfg.defaults().args())
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// Save writes the state of the guest to a file, for [Config.State]. The guest stops for that time.
// It must have no connection to the host.
func (g *Guest) Save(ctx context.Context, file string) error {
	if _, err := g.qmp.do("migrate-set-parameters", map[string]any{"max-bandwidth": int64(1) << 40}); err != nil {
		return err
	}
	part := file + "." + strconv.Itoa(os.Getpid()) + ".part"
	defer os.Remove(part)
	if _, err := g.qmp.do("migrate", map[string]any{"uri": "exec:exec cat >" + quote(part)}); err != nil {
		return err
	}
	if err := g.migrated(ctx); err != nil {
		return fmt.Errorf("save the guest's state: %w", err)
	}
	if _, err := g.qmp.do("cont", nil); err != nil {
		return err
	}
	return os.Rename(part, file)
}

// migrated blocks until a migration, in or out, has ended.
func (g *Guest) migrated(ctx context.Context) error {
	for {
		b, err := g.qmp.do("query-migrate", nil)
		if err != nil {
			return err
		}
		var info struct {
			Status string
			Desc   string `json:"error-desc"`
		}
		if err := json.Unmarshal(b, &info); err != nil {
			return err
		}
		switch info.Status {
		case "completed":
			return nil
		case "failed", "cancelled":
			return fmt.Errorf("QEMU's migration has %s: %s", info.Status, info.Desc)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// resume blocks until a guest that continues from a state answers, and sets its clock.
func (g *Guest) resume(ctx context.Context) error {
	if err := g.migrated(ctx); err != nil {
		return err
	}
	for {
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := g.Run(try, "date", "-s", "@"+strconv.FormatInt(time.Now().Unix(), 10))
		cancel()
		if exit := (*ExitError)(nil); err == nil || errors.As(err, &exit) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// quote returns an argument of the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
