package completion

import (
	"fmt"
	"strings"
)

func (t *Tool) fish() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Completion of %s for fish: %s > ~/.config/fish/completions/%[1]s.fish\n", t.Name, t.load("fish"))
	if t.Suffix != "" {
		fmt.Fprintf(&b, `function __%s_files
    set -l files (commandline -ct)*%s (commandline -ct)*/
    test -n "$files"; and printf '%%s\n' $files
end
`, t.Name, t.Suffix)
	}
	if t.asks() {
		fmt.Fprintf(&b, `function __%s_types
    set -l words (commandline -opc)
    set -l files (string match -- '*%s' $words)
    test -n "$files"; or set files *%[2]s
    $words[1] completion -types $files 2>/dev/null
end
`, t.Name, t.Suffix)
	}
	complete := "complete -c " + t.Name
	b.WriteString(complete + " -f\n")
	for _, c := range t.Commands {
		if t.single() {
			break
		}
		fmt.Fprintf(&b, "%s -n __fish_use_subcommand -a %s -d %s\n", complete, c.Name, QuoteFish(c.Help))
	}
	for _, c := range t.Commands {
		on := complete
		if c.Name != "" {
			on += " -n '__fish_seen_subcommand_from " + c.Name + "'"
		}
		for _, f := range c.Flags {
			kind := "-o"
			if len(f.Name) == 2 {
				kind = "-s"
			}
			b.WriteString(on + " " + kind + " " + strings.TrimPrefix(f.Name, "-") + t.fishValue(f) + "\n")
		}
		switch {
		case len(c.Args) > 0:
			b.WriteString(on + " -a " + QuoteFish(strings.Join(c.Args, " ")) + "\n")
		case c.Operands == AnyFiles:
			b.WriteString(on + " -F\n")
		case c.Operands == OwnFiles:
			fmt.Fprintf(&b, "%s -a '(__%s_files)'\n", on, t.Name)
		case c.Operands == Hosts:
			b.WriteString(on + " -a '(__fish_print_hostnames)'\n")
		}
	}
	return b.String()
}

// fishValue returns the arguments of complete for the value of a flag.
func (t *Tool) fishValue(f Flag) string {
	switch f.Kind {
	case OneOf:
		return " -x -a " + QuoteFish(strings.Join(f.Values, " "))
	case Folder:
		return " -x -a '(__fish_complete_directories)'"
	case File:
		return " -r -F"
	case Asked:
		return " -x -a '(__" + t.Name + "_types)'"
	case AnyValue:
		return " -x"
	}
	return ""
}

// QuoteFish returns a word in single quotes, for fish.
func QuoteFish(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
