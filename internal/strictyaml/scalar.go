package strictyaml

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// taker stores a scalar in a value of the type it was made for. Its errors
// follow the scalar in a sentence.
type taker func(n *yaml.Node, v reflect.Value) error

// scalarOf returns how a type is read from a scalar and what it is called; nil
// where it is not.
func scalarOf(t reflect.Type) (take taker, want string) {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return takeDuration, "a duration"
	case reflect.TypeFor[Text]():
		return takeText, "a single value"
	}
	switch {
	case t.Kind() == reflect.String:
		return takeString, "text"
	case t.Kind() == reflect.Bool:
		return takeBool, "true or false"
	case reflect.Zero(t).CanInt():
		return takeInt, "a whole number"
	case reflect.Zero(t).CanUint():
		return takeUint, "a whole number"
	case reflect.Zero(t).CanFloat():
		return takeFloat, "a number"
	}
	return nil, ""
}

func takeText(n *yaml.Node, v reflect.Value) error {
	v.SetString(n.Value)
	return nil
}

// takeString refuses what YAML reads as a number or a bool: 0001 would be
// text here and 1 elsewhere. A date is text, whatever YAML 1.1 made of it.
func takeString(n *yaml.Node, v reflect.Value) error {
	if n.Tag != "!!str" && n.Tag != "!!timestamp" {
		return errors.New("is not text; put it in quotes if it is meant as text")
	}
	v.SetString(n.Value)
	return nil
}

func takeBool(n *yaml.Node, v reflect.Value) error {
	if !isBool(n) {
		return errors.New("is not true or false")
	}
	v.SetBool(strings.EqualFold(n.Value, "true"))
	return nil
}

func isBool(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!bool" }

// Numbers as people write them. YAML's own rules are wider: 010 is 8, 1:30 was 90.
var (
	whole  = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*(_[0-9]+)*)$`)
	number = regexp.MustCompile(`^[-+]?([0-9]+(_[0-9]+)*(\.[0-9]+)?|\.[0-9]+)([eE][-+]?[0-9]+)?$`)
)

func takeInt(n *yaml.Node, v reflect.Value) error {
	text, err := digits(n, whole, "a whole number")
	if err != nil {
		return err
	}
	i, err := strconv.ParseInt(text, 10, v.Type().Bits())
	if err != nil {
		most := int64(math.MaxInt64) >> (64 - v.Type().Bits())
		return fmt.Errorf("is out of range, %d … %d", -most-1, most)
	}
	v.SetInt(i)
	return nil
}

func takeUint(n *yaml.Node, v reflect.Value) error {
	text, err := digits(n, whole, "a whole number")
	if err != nil {
		return err
	}
	u, err := strconv.ParseUint(strings.TrimPrefix(text, "+"), 10, v.Type().Bits())
	if err != nil {
		return fmt.Errorf("is out of range, 0 … %d", uint64(math.MaxUint64)>>(64-v.Type().Bits()))
	}
	v.SetUint(u)
	return nil
}

func takeFloat(n *yaml.Node, v reflect.Value) error {
	text, err := digits(n, number, "a number")
	if err != nil {
		return err
	}
	f, err := strconv.ParseFloat(text, v.Type().Bits())
	if err != nil {
		return errors.New("is out of range")
	}
	v.SetFloat(f)
	return nil
}

// digits returns the number's text without underscores.
func digits(n *yaml.Node, form *regexp.Regexp, want string) (string, error) {
	if n.Style&quoted != 0 {
		return "", fmt.Errorf("is text, not %s; leave the quotes away", want)
	}
	if !form.MatchString(n.Value) {
		return "", fmt.Errorf("is not %s", want)
	}
	return strings.ReplaceAll(n.Value, "_", ""), nil
}

func takeDuration(n *yaml.Node, v reflect.Value) error {
	dur, err := time.ParseDuration(n.Value)
	switch {
	case err == nil:
		v.SetInt(int64(dur))
		return nil
	case number.MatchString(n.Value):
		return errors.New("has no unit; write one, such as 500ms, 30s, 12m or 1h")
	default:
		return errors.New("is not a duration, such as 500ms, 30s, 12m or 1h30m")
	}
}
