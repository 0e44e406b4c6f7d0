package completion

import (
	"cmp"
	"fmt"
	"strings"
)

func (t *Tool) bash() string {
	var b strings.Builder
	var names []string
	for _, c := range t.Commands {
		names = append(names, c.Name)
	}
	fmt.Fprintf(&b, "# Completion of %s for bash: source <(%s)\n", t.Name, t.load("bash"))
	if t.asks() {
		fmt.Fprintf(&b, `_%s_types() {
    local word files=()
    for word in "${COMP_WORDS[@]}"; do
        [[ $word == *%s ]] && files+=("$word")
    done
    ((${#files[@]})) || files=(*%[2]s)
    "${COMP_WORDS[0]}" completion -types "${files[@]}" 2>/dev/null
}
`, t.Name, t.Suffix)
	}
	fmt.Fprintf(&b, `_%s() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= operands=
    COMPREPLY=()
`, t.Name)
	if t.single() {
		b.WriteString("    case - in\n")
	} else {
		fmt.Fprintf(&b, `    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W '%s' -- "$cur"))
        return
    fi
    case ${COMP_WORDS[1]} in
`, strings.Join(names, " "))
	}
	for _, c := range t.Commands {
		fmt.Fprintf(&b, "    %s)\n", cmp.Or(c.Name, "*"))
		if values := t.bashValues(c.Flags); values != "" {
			fmt.Fprintf(&b, "        case $prev in\n%s        esac\n", values)
		}
		var words []string
		for _, f := range c.Flags {
			words = append(words, f.Name)
		}
		fmt.Fprintf(&b, "        words='%s'\n", strings.Join(append(words, c.Args...), " "))
		if word := [...]string{OwnFiles: "own", AnyFiles: "files", Hosts: "hosts"}[c.Operands]; word != "" {
			fmt.Fprintf(&b, "        operands=%s\n", word)
		}
		b.WriteString("        ;;\n")
	}
	fmt.Fprintf(&b, `    esac
    if [[ $cur == -* || -z $operands ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
        return
    fi
    if [[ $operands == hosts ]]; then
        COMPREPLY=($(compgen -A hostname -- "$cur"))
        return
    fi
    compopt -o filenames 2>/dev/null
    local IFS=$'\n'
    COMPREPLY=($(compgen -d -- "$cur"))
    if [[ $operands == files ]]; then
        COMPREPLY+=($(compgen -f -- "$cur"))
    else
        COMPREPLY+=($(compgen -f -X '!*%s' -- "$cur"))
    fi
}
complete -F _%s %[2]s
`, t.Suffix, t.Name)
	return b.String()
}

// bashValues returns the cases that complete the values of flags.
func (t *Tool) bashValues(flags []Flag) string {
	var b strings.Builder
	for _, f := range flags {
		pattern := f.Name + "|-" + f.Name
		switch f.Kind {
		case OneOf:
			fmt.Fprintf(&b, "        %s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", pattern, strings.Join(f.Values, " "))
		case Folder:
			fmt.Fprintf(&b, "        %s) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- \"$cur\")); return ;;\n", pattern)
		case File:
			fmt.Fprintf(&b, "        %s) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", pattern)
		case Asked:
			fmt.Fprintf(&b, "        %s) COMPREPLY=($(compgen -W \"$(_%s_types)\" -- \"$cur\")); return ;;\n", pattern, t.Name)
		case AnyValue:
			fmt.Fprintf(&b, "        %s) return ;;\n", pattern)
		}
	}
	return b.String()
}
