package legible

import (
	"fmt"
	"strconv"
)

// Clock writes seconds as 2:07.1, an hour later 1:02:07.1.
func Clock(s float64) string {
	tenths := int64(s*10 + 0.5)
	minutes, rest := tenths/600, tenths%600
	if minutes < 60 {
		return fmt.Sprintf("%d:%02d.%d", minutes, rest/10, rest%10)
	}
	return fmt.Sprintf("%d:%02d:%02d.%d", minutes/60, minutes%60, rest/10, rest%10)
}

// Grouped is 1,203,455.
func Grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
