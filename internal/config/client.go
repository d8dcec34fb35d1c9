package config

import (
	"maps"
	"slices"
)

func (r reader) client(k clientKeys, mode string, check OptionCheck) Client {
	c := Client{Profile: Tuned, ReadFrom: Replica}
	if k.Profile != nil {
		c.Profile = *k.Profile
	}
	if k.ReadFrom != nil {
		c.ReadFrom = *k.ReadFrom
	}
	r.oneOf("client.profile", c.Profile, Tuned, DriverDefaults, Raw)
	r.oneOf("client.read_from", c.ReadFrom, Replica, Random, Nearest, Primary)
	for _, name := range slices.Sorted(maps.Keys(k.Options)) {
		value := string(k.Options[name])
		r.option(mode, name, value, check)
		if c.Options == nil {
			c.Options = map[string]string{}
		}
		c.Options[name] = value
	}
	return c
}

// option never shows a secret to the check, whose errors may repeat it.
func (r reader) option(mode, name, value string, check OptionCheck) {
	path := "client.options." + name
	if looksSecret(name) {
		r.doc.Errorf(path, noSecrets)
		return
	}
	if check == nil {
		return
	}
	if err := check(mode, name, value); err != nil {
		r.doc.Errorf(path, "%v", err)
	}
}
