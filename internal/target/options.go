package target

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/config"
)

// notSettable are options that the config sets by its own words, that would
// break the measurement, or that the driver has renamed.
var notSettable = []string{
	"Addr", "Addrs", "Network", "ClientName", "Username", "Password",
	"ReadOnly", "RouteByLatency", "RouteRandomly", // client.read_from
	"DisableIndentity", "UnstableResp3", // deprecated by the driver
}

// CheckOption says whether a go-redis option of this name, in snake case, takes
// this value in a mode of the config. It is a config.OptionCheck.
func CheckOption(mode, name, value string) error {
	if mode == config.Cluster {
		return setOption(&redis.ClusterOptions{}, name, value)
	}
	return setOption(&redis.Options{}, name, value)
}

var _ config.OptionCheck = CheckOption

// setOptions sets options by their names over what is set already.
func setOptions(options any, values map[string]string) error {
	for name, value := range values {
		if err := setOption(options, name, value); err != nil {
			return err
		}
	}
	return nil
}

// setOption sets one option of *redis.ClusterOptions or *redis.Options by its
// name in snake case: conn_max_lifetime is ConnMaxLifetime.
func setOption(options any, name, value string) error {
	v := reflect.ValueOf(options).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !settable(f) || snake(f.Name) != name {
			continue
		}
		if err := setField(v.Field(i), value); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		return nil
	}
	return fmt.Errorf("%q is no option of go-redis here; there are %s", name, strings.Join(optionNames(v.Type()), ", "))
}

func settable(f reflect.StructField) bool {
	switch f.Type.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.String:
		return f.IsExported() && !slices.Contains(notSettable, f.Name)
	default:
		return false
	}
}

func optionNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if f := t.Field(i); settable(f) {
			names = append(names, snake(f.Name))
		}
	}
	slices.Sort(names)
	return names
}

func setField(f reflect.Value, value string) error {
	switch {
	case f.Type() == reflect.TypeFor[time.Duration]():
		return setDuration(f, value)
	case f.Kind() == reflect.Bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", value)
		}
		f.SetBool(b)
	case f.Kind() == reflect.String:
		f.SetString(value)
	default:
		n, err := strconv.ParseInt(strings.ReplaceAll(value, "_", ""), 10, 32)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", value)
		}
		if n < -1 { // with max_redirects: -2 the driver would send nothing, and say that all went well
			return fmt.Errorf("%s is below -1, which means none", value)
		}
		f.SetInt(n)
	}
	return nil
}

// setDuration reads "30s"; -1 and -2 are go-redis's words for "none" and "never set".
func setDuration(f reflect.Value, value string) error {
	if value == "-1" || value == "-2" || value == "0" {
		n, err := strconv.ParseInt(value, 10, 64)
		f.SetInt(n)
		return err
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return errors.New(strconv.Quote(value) + ` is not a duration such as "500ms" (or -1)`)
	}
	f.SetInt(int64(d))
	return nil
}

// snake turns a Go name into snake case: PoolFIFO is pool_fifo, DB is db.
func snake(name string) string {
	runes := []rune(name)
	var b strings.Builder
	for i, r := range runes {
		if unicode.IsUpper(r) {
			newWord := i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]) ||
				i+1 < len(runes) && unicode.IsLower(runes[i+1]))
			if newWord {
				b.WriteByte('_')
			}
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// effective lists the options in force, by name in snake case, without credentials.
func effective(options any) map[string]any {
	v := reflect.Indirect(reflect.ValueOf(options))
	out := map[string]any{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || f.Name == "Password" || f.Name == "Username" {
			continue
		}
		switch x := v.Field(i).Interface().(type) {
		case time.Duration:
			out[snake(f.Name)] = x.String()
		case bool, int, string, []string:
			out[snake(f.Name)] = x
		}
	}
	return out
}
