package strictyaml

// nearest returns the candidate that was probably meant: at most two letters
// off, and less than half of it.
func nearest(word string, candidates []string) (string, bool) {
	best, least := "", 3
	for _, c := range candidates {
		if n := distance(word, c); n < least && 2*n < len(c) {
			best, least = c, n
		}
	}
	return best, best != ""
}

// distance is the number of letters to insert, delete or replace to make b of
// a (Levenshtein), by rows of the usual table.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
