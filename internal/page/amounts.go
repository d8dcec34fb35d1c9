package page

import (
	"fmt"
	"math"
	"strconv"

	"github.com/rankbench/rankbench/internal/legible"
)

// amountText writes a figure of a comparison in its unit, to three or four digits.
func amountText(unit string, v float64) string {
	switch unit {
	case "us", "us/command":
		return time3(v)
	case "s":
		return secondsText(v)
	case "%":
		if math.Abs(v) < 9.95 {
			return fmt.Sprintf("%.1f %%", v)
		}
		return fmt.Sprintf("%.0f %%", v)
	case "bytes/min":
		return size(v)
	}
	if math.Abs(v) < 1000 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return legible.Grouped(int64(math.Round(v)))
}

// axisText writes a round figure on an axis, as short as it can be.
func axisText(unit string, v float64) string {
	switch {
	case v == 0:
		return "0"
	case unit == "us", unit == "us/command":
		return micros3(v)
	case unit == "s":
		return fmt.Sprintf("%.4g s", v)
	case unit == "%":
		return fmt.Sprintf("%.4g %%", v)
	case unit == "bytes/min":
		return size(v)
	case v >= 1e6:
		return fmt.Sprintf("%.4gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.4gk", v/1e3)
	}
	return fmt.Sprintf("%.4g", v)
}

// micros3 is micros that keeps parts of a microsecond.
func micros3(us float64) string {
	if us < 999.5 {
		return fmt.Sprintf("%.3g µs", us)
	}
	return micros(us)
}

// time3 writes microseconds to three digits, zeros among them: below one another
// they are as many.
func time3(us float64) string {
	for _, unit := range []string{"µs", "ms"} {
		if us < 999.5 {
			return digits3(us) + " " + unit
		}
		us /= 1000
	}
	return digits3(us) + " s"
}

func digits3(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func ratioText(ratio float64) string { return fmt.Sprintf("×%.2f", ratio) }

// number is a figure as it is read, and as it is.
type number struct{ Text, Raw string }

func numberOf(v float64, text string) number {
	return number{text, strconv.FormatFloat(v, 'g', -1, 64)}
}
