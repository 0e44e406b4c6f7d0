package archtest

import (
	"fmt"
	"strings"
)

// Allowance is the number of findings of CheckLanguage that a place may have, by rule.
type Allowance struct{ Wording, Width, Accent int }

// parseAllowances reads lines of "place wordings widths accents"; # begins a comment.
func parseAllowances(text string) (map[string]Allowance, error) {
	out := make(map[string]Allowance)
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		var a Allowance
		if len(fields) != 4 {
			return nil, fmt.Errorf("line %d: %d words, want 4: a place, and its numbers of wordings, wide lines and accents", number, len(fields))
		}
		if _, err := fmt.Sscan(strings.Join(fields[1:], " "), &a.Wording, &a.Width, &a.Accent); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if _, twice := out[fields[0]]; twice {
			return nil, fmt.Errorf("line %d: %s has a line already: join them", number, fields[0])
		}
		out[fields[0]] = a
	}
	return out, nil
}

// count returns how many findings each place has.
func count(findings []Finding) map[string]Allowance {
	out := make(map[string]Allowance)
	for _, f := range findings {
		a := out[f.Place()]
		switch f.Rule {
		case "wording":
			a.Wording++
		case "accent":
			a.Accent++
		default:
			a.Width++
		}
		out[f.Place()] = a
	}
	return out
}

// lower returns the allowances without what the places no longer need. It raises and adds nothing,
// with one exception: text may move between places. So if all places together have at most as many
// accents as they may, each place gets the number that it has.
func lower(allowed, counted map[string]Allowance) map[string]Allowance {
	out := make(map[string]Allowance)
	for place, a := range allowed {
		n := counted[place]
		out[place] = Allowance{min(a.Wording, n.Wording), min(a.Width, n.Width), min(a.Accent, n.Accent)}
	}
	if accents(counted) <= accents(allowed) {
		for place, n := range counted {
			a := out[place]
			a.Accent = n.Accent
			out[place] = a
		}
	}
	for place, a := range out {
		if a == (Allowance{}) {
			delete(out, place)
		}
	}
	return out
}

func accents(places map[string]Allowance) int {
	sum := 0
	for _, a := range places {
		sum += a.Accent
	}
	return sum
}

// exceeding returns the findings of places that have more of the rule than they may.
func exceeding(findings []Finding, allowed map[string]Allowance) []Finding {
	counted := count(findings)
	var out []Finding
	for _, f := range findings {
		have, may := counted[f.Place()], allowed[f.Place()]
		if f.Rule == "wording" && have.Wording > may.Wording ||
			f.Rule == "width" && have.Width > may.Width ||
			f.Rule == "accent" && have.Accent > may.Accent {
			out = append(out, f)
		}
	}
	return out
}
