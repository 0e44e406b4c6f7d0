package main

import (
	"fmt"
	"strings"
)

func zshScript(commands []command) string {
	var b strings.Builder
	b.WriteString("#compdef xdrgen\n# Completion of xdrgen for zsh: xdrgen completion zsh > a folder of $fpath, as _xdrgen\n\n_xdrgen_types() {\n    local -a files types\n    files=(${(M)words:#*.x})\n    (($#files)) || files=(*.x(N))\n    types=(${(f)\"$($tool completion -types $files 2>/dev/null)\"})\n    compadd -a types\n}\n_xdrgen() {\n    local tool=$words[1]\n    local -a commands\n    commands=(\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "        %s\n", quoteShell(c.name+":"+c.help))
	}
	b.WriteString("    )\n    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n    fi\n    local cmd=$words[2]\n    shift words\n    ((CURRENT--))\n    case $cmd in\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "    %s)\n        _arguments", c.name)
		for _, f := range c.flags {
			spec := "*" + f.name
			switch f.kind {
			case oneOf:
				spec += ":value:(" + strings.Join(f.values, " ") + ")"
			case aFolder:
				spec += ":folder:_files -/"
			case aFile:
				spec += ":file:_files"
			case aType:
				spec += ":type:_xdrgen_types"
			case anyValue:
				spec += ":value: "
			}
			b.WriteString(" \\\n            " + quoteShell(spec))
		}
		switch {
		case len(c.args) > 0:
			b.WriteString(" \\\n            " + quoteShell("*:word:("+strings.Join(c.args, " ")+")"))
		case takesData(c):
			b.WriteString(" \\\n            " + quoteShell("*:file:_files"))
		case c.files:
			b.WriteString(" \\\n            " + quoteShell(`*:file:_files -g "*.x"`))
		}
		b.WriteString("\n        ;;\n")
	}
	b.WriteString("    esac\n}\n\nif [[ $funcstack[1] == _xdrgen ]]; then\n    _xdrgen \"$@\"\nelse\n    compdef _xdrgen xdrgen\nfi\n")
	return b.String()
}

// quoteShell puts a word into single quotes.
func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func fishScript(commands []command) string {
	var b strings.Builder
	b.WriteString("# Completion of xdrgen for fish: xdrgen completion fish > ~/.config/fish/completions/xdrgen.fish\n" +
		"function __xdrgen_files\n    set -l files (commandline -ct)*.x (commandline -ct)*/\n    test -n \"$files\"; and printf '%s\\n' $files\nend\n" +
		"function __xdrgen_types\n    set -l words (commandline -opc)\n    set -l files (string match -- '*.x' $words)\n    test -n \"$files\"; or set files *.x\n    $words[1] completion -types $files 2>/dev/null\nend\n" +
		"complete -c xdrgen -f\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "complete -c xdrgen -n __fish_use_subcommand -a %s -d %s\n", c.name, quoteFish(c.help))
	}
	for _, c := range commands {
		on := "complete -c xdrgen -n '__fish_seen_subcommand_from " + c.name + "'"
		for _, f := range c.flags {
			kind := "-o"
			if len(f.name) == 2 {
				kind = "-s"
			}
			line := on + " " + kind + " " + strings.TrimPrefix(f.name, "-")
			switch f.kind {
			case oneOf:
				line += " -x -a " + quoteFish(strings.Join(f.values, " "))
			case aFolder:
				line += " -x -a '(__fish_complete_directories)'"
			case aFile:
				line += " -r -F"
			case aType:
				line += " -x -a '(__xdrgen_types)'"
			case anyValue:
				line += " -x"
			}
			b.WriteString(line + "\n")
		}
		switch {
		case len(c.args) > 0:
			b.WriteString(on + " -a " + quoteFish(strings.Join(c.args, " ")) + "\n")
		case takesData(c):
			b.WriteString(on + " -F\n")
		case c.files:
			b.WriteString(on + " -a '(__xdrgen_files)'\n")
		}
	}
	return b.String()
}

func quoteFish(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
