package main

import (
	"fmt"
	"strings"
)

// collector follows the events of a go test. The maps have import paths.
type collector struct {
	output  map[[2]string]string // by package and test
	running map[string]bool      // whose test program has started
	done    map[string]bool
	broken  map[string]bool
	cached  map[string]bool
}

func newCollector() *collector {
	return &collector{output: make(map[[2]string]string), running: make(map[string]bool), done: make(map[string]bool),
		broken: make(map[string]bool), cached: make(map[string]bool)}
}

// add takes an event, and returns the text to print: output of failures. A package that fails after
// the cut was interrupted; it is broken only if one of its tests had failed before.
func (c *collector) add(e event, cut bool) string {
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		if !cut {
			return e.Output
		}
	case "start":
		c.running[e.Package] = true
	case "output":
		if e.Test == "" && strings.Contains(e.Output, "\t(cached)") {
			c.cached[e.Package] = true
		}
		if !strings.HasPrefix(e.Output, "=== ") {
			c.output[key] += e.Output
		}
	case "pass", "skip":
		if e.Test == "" {
			delete(c.running, e.Package)
			c.done[e.Package] = true
		}
		delete(c.output, key)
	case "fail":
		return c.fail(e, cut)
	}
	return ""
}

// fail takes the failure of a test or of a package.
func (c *collector) fail(e event, cut bool) string {
	key := [2]string{e.Package, e.Test}
	text := c.output[key]
	delete(c.output, key)
	if e.Test != "" {
		// A test can fail because the interrupt ended a program that it had started.
		if !cut {
			c.broken[e.Package] = true
			return text
		}
		return ""
	}
	if cut && !c.broken[e.Package] {
		return ""
	}
	delete(c.running, e.Package)
	c.done[e.Package], c.broken[e.Package] = true, true
	// A test that was running when the program ended has no event of its own.
	for key, open := range c.output {
		if key[0] == e.Package {
			text = open + text
			delete(c.output, key)
		}
	}
	return fmt.Sprintf("%sFAIL  %s\n", text, e.Package)
}
