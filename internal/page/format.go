package page

import (
	"fmt"
	"math"
	"strconv"

	"github.com/rankbench/rankbench/internal/legible"
)

func itoa(i int) string { return strconv.Itoa(i) }

// dash stands for a figure that there is none of.
const dash = "–"

// count is grouped for whole numbers, and small rates keep a digit.
func count(v float64) string {
	if v != 0 && math.Abs(v) < 10 && v != math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return legible.Grouped(int64(math.Round(v)))
}

// micros writes microseconds to three digits: 312 µs, 1.92 ms, 12.5 s.
func micros(us float64) string {
	switch {
	case us < 999.5:
		return fmt.Sprintf("%.0f µs", us)
	case us < 999.5e3:
		return fmt.Sprintf("%.3g ms", us/1e3)
	}
	return fmt.Sprintf("%.3g s", us/1e6)
}

// size writes bytes in decimal units, to three digits.
func size(n float64) string {
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if n < 999.5 {
			return fmt.Sprintf("%.3g %s", n, unit)
		}
		n /= 1000
	}
	return fmt.Sprintf("%.3g TB", n)
}

// unitText writes a value of a panel.
func unitText(unit string, v float64) string {
	switch {
	case math.IsNaN(v):
		return dash
	case unit == "us":
		return micros(v)
	case unit == "pct":
		return fmt.Sprintf("%.0f %%", v)
	case unit == "bytes_per_s":
		return size(v) + "/s"
	}
	return count(v)
}

// unitNames are how a table's head names units; the others are in the cells.
var unitNames = map[string]string{"per_s": " /s"}

func orDash(v *float64, write func(float64) string) string {
	if v == nil {
		return dash
	}
	return write(*v)
}

func secondsText(s float64) string { return fmt.Sprintf("%.2f s", s) }

// preciseClock is clock to a hundredth.
func preciseClock(s float64) string {
	hundredths := int64(s*100 + 0.5)
	return fmt.Sprintf("%s%d", legible.Clock(float64(hundredths/10)/10), hundredths%10)
}

// durationText is "0.2 s", "30 s", "2 min", "1.5 h".
func durationText(s float64) string {
	switch {
	case s < 60:
		return fmt.Sprintf("%.3g s", s)
	case s < 3600:
		return fmt.Sprintf("%.3g min", s/60)
	}
	return fmt.Sprintf("%.3g h", s/3600)
}
