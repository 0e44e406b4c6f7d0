package main

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmadev"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

func TestProviderTakesADevice(t *testing.T) {
	for text, want := range map[string]string{
		"iwarp": "iwarp ", "ibverbs": "ibverbs ", "ibverbs=mlx5_0": "ibverbs mlx5_0",
		"ibverbs=": "expected the name of a device", "mem=x": "only ibverbs has devices", "verbs": "expected one of rdmatcp, iwarp, mem, ibverbs",
	} {
		var p provider
		err := p.UnmarshalText([]byte(text))
		if got := p.name() + " " + p.device(); err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

// A default build has no provider ibverbs, and says how to build one.
func TestBuildWithoutIBVerbsNamesTheTarget(t *testing.T) {
	if withIBVerbs {
		t.Skip("this build has the provider")
	}
	for _, args := range []string{"ping -provider ibverbs localhost", "serve -provider ibverbs=mlx5_0", "perf -provider ibverbs", "nfsping -provider ibverbs h"} {
		code, _, stderr := try(t.Context(), strings.Fields(args)...)
		if code != exitUsage || !strings.Contains(stderr, "has no provider ibverbs") || !strings.Contains(stderr, "make build-ibverbs") {
			t.Errorf("%s: exit code %d: %s", args, code, stderr)
		}
	}
}

// A program that imports purego is linked to the system's C library.
func TestDefaultBuildDoesNotImportPurego(t *testing.T) {
	goTool := witness.Program(t, "go")
	list := func(args ...string) []string {
		out, err := exec.Command(goTool, append([]string{"list", "-deps"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	const purego = "github.com/ebitengine/purego"
	for _, path := range []string{".", "../../rdmaio", "../../rdmaio/verbs", "../../runtime/..."} {
		if slices.Contains(list(path), purego) {
			t.Errorf("%s imports %s", path, purego)
		}
	}
	if !slices.Contains(list("-tags", "ibverbs", "."), purego) {
		t.Errorf("the build with the tag ibverbs does not import %s", purego)
	}
}

// The advice of a device's error is printed once, behind "try".
func TestDeviceErrorsHaveTheirAdvice(t *testing.T) {
	problem := rdmadev.System().OtherDevice("10.0.0.9", "siw0", "mlx5_0")
	var out buffer
	code := report(environment{stdout: &out, stderr: &out}, explainDevice("device", errors.Join(errors.New("ibverbs: dial"), problem)))
	text := out.String()
	if code != exitFailed || strings.Count(text, "the device siw0") != 1 || !strings.Contains(text, "10.0.0.9 is reached by device siw0") || !strings.Contains(text, "\ntry: the device siw0, or an address") {
		t.Errorf("exit code %d: %s", code, text)
	}
}
