package cases

import "slices"

// All returns all cases, in the order in which they run.
func All() []Case {
	return slices.Concat(
		bootCases(),
		networkCases(),
		mpaCases(),
		mountCases(),
		nfsCases(),
		treeCases(),
		serveCases(),
		oracleCases(),
		nfs4Cases(),
		useCases(),
		programCases(),
		rpingCases(),
		deviationCases(),
		tlsCases(),
		perftestCases(),
		ibverbsCases(),
		verbsSuiteCases(),
	)
}
