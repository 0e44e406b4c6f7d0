package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Exit codes, the same in all commands.
const (
	exitDone   = 0
	exitFailed = 1 // could not connect, input, output, or the tool itself
	exitUsage  = 2
	exitInput  = 3 // the interface file or the arguments of a call
	exitPeer   = 4 // the peer answered with an error
	exitSilent = 5 // no answer in time
	exitMayRun = 6 // no reply to a call that was sent
)

// failure is an error with its exit code and advice.
type failure struct {
	code  int
	stage string // at which it failed, such as "connection to ADDRESS"
	err   error
	help  string         // what to try; may be empty
	more  map[string]any // further fields of the JSON object
}

// Error returns the stage and the reason.
func (f *failure) Error() string { return f.stage + ": " + f.err.Error() }

// Unwrap returns the reason.
func (f *failure) Unwrap() error { return f.err }

// errReported is returned by a command that has reported its failure already.
var errReported = errors.New("reported")

// report writes an error, unless it is nil or was reported before, and returns the exit code.
func report(env environment, err error) int {
	var f *failure
	switch {
	case err == nil:
		return exitDone
	case !errors.As(err, &f):
		f = &failure{code: exitFailed, err: err}
	}
	if errors.Is(err, errReported) {
		return f.code
	}
	help := env.suitable(f.help)
	if env.json {
		fields := map[string]any{"stage": f.stage, "message": f.err.Error(), "help": help, "code": f.code}
		maps.Copy(fields, f.more)
		printJSON(env, "error", fields)
		return f.code
	}
	fmt.Fprintf(env.stderr, "rpcrdma: %v\n", err)
	if help != "" {
		fmt.Fprintf(env.stderr, "try: %s\n", help)
	}
	return f.code
}

// flagInHint finds the flags in a hint, except those in command lines of other commands.
var flagInHint = regexp.MustCompile(`rpcrdma (?:help )?[a-z]+[^,;:)]*|(?:^|[ (])(-[a-zA-Z][a-z-]*)`)

// suitable returns the parts of a hint, which semicolons separate, that name no flag that the
// command lacks. Commands share their hints.
func (env *environment) suitable(hint string) string {
	if env.flags == nil {
		return hint
	}
	parts := strings.Split(hint, "; ")
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool {
		return slices.ContainsFunc(flagInHint.FindAllStringSubmatch(part, -1), func(m []string) bool { return m[1] != "" && !env.flags[m[1]] })
	}), "; ")
}
