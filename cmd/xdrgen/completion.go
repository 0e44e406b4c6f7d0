package main

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/sema"
)

// completionCmd is the command "completion".
type completionCmd struct {
	Types bool     `name:"types"`
	Words []string `arg:"" name:"shell"`
}

// shells are those that scripts are made for.
var shells = []string{"bash", "zsh", "fish"}

// run prints a script that completes commands, flags, their values and files.
func (c *completionCmd) run(env environment, app *kong.Application) int {
	if c.Types {
		c.types(env)
		return exitClean
	}
	text, err := completion(strings.Join(c.Words, " "), completionModel(app))
	if err != nil {
		return usage(env, err)
	}
	fmt.Fprint(env.stdout, text)
	return exitClean
}

// types prints the names of types in the files, as far as they can be told.
func (c *completionCmd) types(env environment) {
	if r, err := sema.Compile(sema.Options{Files: c.Words}); err == nil && r.Unit != nil {
		for _, name := range dynamic.Names(r.Unit) {
			fmt.Fprintln(env.stdout, name)
		}
	}
}

// command is what a script knows of a command.
type command struct {
	name  string
	help  string // one line
	flags []flag
	args  []string // values that its arguments can have
	files bool     // its arguments are files
}

type flag struct {
	name   string // with its dash
	values []string
	kind   valueKind
}

// valueKind says what follows a flag.
type valueKind int

const (
	noValue valueKind = iota
	anyValue
	oneOf // values
	aFolder
	aFile
	aType // of the .x files on the command line
)

// completionModel walks the command line's own model, so that no flag is left
// out, and takes the words from the help.
func completionModel(app *kong.Application) []command {
	var out []command
	topics := slices.Clone(helpTopics)
	for _, n := range app.Children {
		c := command{name: n.Name, help: summaryOf(n.Name)}
		for _, f := range n.Flags {
			fl := flag{name: "-" + f.Name, kind: kindOf(f)}
			switch {
			case f.Enum != "":
				fl.values = f.EnumSlice()
			case f.Name == "allow":
				fl.kind, fl.values = oneOf, append([]string{"wire", "source", "extension"}, ruleNames("compat")...)
			case f.Name == "disable":
				fl.kind, fl.values = oneOf, ruleNames("lint")
			case f.Name == "type" && hasData(n):
				fl.kind = aType
			}
			if f.Short != 0 {
				fl.name = "-" + string(f.Short)
			}
			c.flags = append(c.flags, fl)
		}
		for _, p := range n.Positional {
			switch {
			case p.Name == "shell":
				c.args = shells
			case p.Name == "code":
				c.args = codes()
			default:
				c.files = true
			}
		}
		sort.Slice(c.flags, func(i, j int) bool { return c.flags[i].name < c.flags[j].name })
		topics = append(topics, n.Name)
		out = append(out, c)
	}
	sort.Strings(topics)
	return append(out, command{name: "help", help: "show help on a command or topic", args: topics})
}

// codes returns the codes and names that explain takes.
func codes() []string {
	var out []string
	for _, r := range diag.Rules() {
		out = append(out, r.Code, r.Name)
	}
	for _, o := range otherRules() {
		out = append(out, o.code, o.name)
	}
	return out
}

// ruleNames returns the names of the rules of lint or compat.
func ruleNames(kind string) []string {
	var out []string
	for _, r := range otherRules() {
		if r.kind == kind {
			out = append(out, r.name)
		}
	}
	return out
}

// hasData reports whether a command reads data by a type.
func hasData(n *kong.Node) bool {
	return slices.ContainsFunc(n.Flags, func(f *kong.Flag) bool { return f.Name == "hex" })
}

// kindOf tells what a flag's value is: of folders and files by the flag's name.
func kindOf(f *kong.Flag) valueKind {
	switch {
	case f.IsBool():
		return noValue
	case f.Enum != "":
		return oneOf
	case f.Name == "include" || f.Name == "out":
		return aFolder
	case f.Name == "bind" || f.Name == "import":
		return aFile
	}
	return anyValue
}

// summaryOf finds a command's line in the main help.
func summaryOf(name string) string {
	for line := range strings.Lines(helpMain) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name && strings.HasPrefix(line, "  "+name+" ") {
			return strings.Join(words[1:], " ")
		}
	}
	return ""
}

func completion(shell string, commands []command) (string, error) {
	switch shell {
	case "bash":
		return bashScript(commands), nil
	case "zsh":
		return zshScript(commands), nil
	case "fish":
		return fishScript(commands), nil
	}
	return "", errors.New("expected bash, zsh or fish")
}

func bashScript(commands []command) string {
	var b strings.Builder
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	fmt.Fprintf(&b, `# Completion of xdrgen for bash: source <(xdrgen completion bash)
_xdrgen_types() {
    local word files=()
    for word in "${COMP_WORDS[@]}"; do
        [[ $word == *.x ]] && files+=("$word")
    done
    ((${#files[@]})) || files=(*.x)
    "${COMP_WORDS[0]}" completion -types "${files[@]}" 2>/dev/null
}
_xdrgen() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= files=.x
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W '%s' -- "$cur"))
        return
    fi
    case ${COMP_WORDS[1]} in
`, strings.Join(names, " "))
	for _, c := range commands {
		fmt.Fprintf(&b, "    %s)\n", c.name)
		if values := bashValues(c.flags); values != "" {
			fmt.Fprintf(&b, "        case $prev in\n%s        esac\n", values)
		}
		var words []string
		for _, f := range c.flags {
			words = append(words, f.name)
		}
		fmt.Fprintf(&b, "        words='%s'\n", strings.Join(append(words, c.args...), " "))
		if !c.files {
			b.WriteString("        files=\n")
		} else if takesData(c) {
			b.WriteString("        files=any\n")
		}
		b.WriteString("        ;;\n")
	}
	b.WriteString(`    esac
    if [[ $cur == -* || -z $files ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
        return
    fi
    compopt -o filenames 2>/dev/null
    local IFS=$'\n'
    COMPREPLY=($(compgen -d -- "$cur"))
    if [[ $files == any ]]; then
        COMPREPLY+=($(compgen -f -- "$cur"))
    else
        COMPREPLY+=($(compgen -f -X '!*.x' -- "$cur"))
    fi
}
complete -F _xdrgen xdrgen
`)
	return b.String()
}

func bashValues(flags []flag) string {
	var b strings.Builder
	for _, f := range flags {
		pattern := f.name + "|-" + f.name
		switch f.kind {
		case oneOf:
			fmt.Fprintf(&b, "        %s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", pattern, strings.Join(f.values, " "))
		case aFolder:
			fmt.Fprintf(&b, "        %s) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- \"$cur\")); return ;;\n", pattern)
		case aFile:
			fmt.Fprintf(&b, "        %s) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", pattern)
		case aType:
			fmt.Fprintf(&b, "        %s) COMPREPLY=($(compgen -W \"$(_xdrgen_types)\" -- \"$cur\")); return ;;\n", pattern)
		case anyValue:
			fmt.Fprintf(&b, "        %s) return ;;\n", pattern)
		}
	}
	return b.String()
}

// takesData reports whether files other than .x are among them.
func takesData(c command) bool { return hasFlag(c, "-hex") }

func hasFlag(c command, name string) bool {
	for _, f := range c.flags {
		if f.name == name {
			return true
		}
	}
	return false
}
