package completion

import (
	"cmp"
	"fmt"
	"strings"
)

func (t *Tool) zsh() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n# Completion of %[1]s for zsh: %s > a folder of $fpath, as _%[1]s\n\n", t.Name, t.load("zsh"))
	if t.asks() {
		fmt.Fprintf(&b, `_%s_types() {
    local -a files types
    files=(${(M)words:#*%s})
    (($#files)) || files=(*%[2]s(N))
    types=(${(f)"$($tool completion -types $files 2>/dev/null)"})
    compadd -a types
}
`, t.Name, t.Suffix)
	}
	fmt.Fprintf(&b, "_%s() {\n    local tool=$words[1] cmd=\n", t.Name)
	if !t.single() {
		b.WriteString("    local -a commands\n    commands=(\n")
		for _, c := range t.Commands {
			fmt.Fprintf(&b, "        %s\n", Quote(c.Name+":"+c.Help))
		}
		b.WriteString(`    )
    if ((CURRENT == 2)); then
        _describe command commands
        return
    fi
    cmd=$words[2]
    shift words
    ((CURRENT--))
`)
	}
	b.WriteString("    case $cmd in\n")
	for _, c := range t.Commands {
		fmt.Fprintf(&b, "    %s)\n        _arguments", cmp.Or(c.Name, "*"))
		for _, f := range c.Flags {
			b.WriteString(" \\\n            " + Quote("*"+f.Name+t.zshValue(f)))
		}
		if operands := t.zshOperands(c); operands != "" {
			b.WriteString(" \\\n            " + Quote("*:"+operands))
		}
		b.WriteString("\n        ;;\n")
	}
	fmt.Fprintf(&b, `    esac
}

if [[ $funcstack[1] == _%s ]]; then
    _%[1]s "$@"
else
    compdef _%[1]s %[1]s
fi
`, t.Name)
	return b.String()
}

// zshValue returns the action that completes the value of a flag.
func (t *Tool) zshValue(f Flag) string {
	switch f.Kind {
	case OneOf:
		return ":value:(" + strings.Join(f.Values, " ") + ")"
	case Folder:
		return ":folder:_files -/"
	case File:
		return ":file:_files"
	case Asked:
		return ":type:_" + t.Name + "_types"
	case AnyValue:
		return ":value: "
	}
	return ""
}

func (t *Tool) zshOperands(c Command) string {
	switch {
	case len(c.Args) > 0:
		return "word:(" + strings.Join(c.Args, " ") + ")"
	case c.Operands == AnyFiles:
		return "file:_files"
	case c.Operands == OwnFiles:
		return `file:_files -g "*` + t.Suffix + `"`
	case c.Operands == Hosts:
		return "host:_hosts"
	}
	return ""
}
