package config

import (
	"path/filepath"
	"strings"

	"github.com/rankbench/rankbench/internal/strictyaml"
)

// The types of this file mirror a config file, key by key.

type file struct {
	Target targetKeys `yaml:"target,required"`
	Client clientKeys `yaml:"client"`
	AWS    awsKeys    `yaml:"aws"`
}

type targetKeys struct {
	Mode         string   `yaml:"mode,required"`
	Addresses    []string `yaml:"addresses"`
	Primary      string   `yaml:"primary"`
	Reader       string   `yaml:"reader"`
	Resolver     string   `yaml:"resolver"`
	TLS          *tlsKeys `yaml:"tls,flag"`
	Username     string   `yaml:"username"`
	PasswordEnv  string   `yaml:"password_env"`
	PasswordFile string   `yaml:"password_file"`
}

type tlsKeys struct {
	CAFile             string `yaml:"ca_file"`
	CertFile           string `yaml:"cert_file"`
	KeyFile            string `yaml:"key_file"`
	ServerName         string `yaml:"server_name"`
	InsecureSkipVerify bool   `yaml:"insecure_skip_verify"`
}

type clientKeys struct {
	Profile  *string                    `yaml:"profile"`
	ReadFrom *string                    `yaml:"read_from"`
	Options  map[string]strictyaml.Text `yaml:"options"`
}

// OptionCheck says what is wrong with a client option, or nil.
type OptionCheck func(mode, name, value string) error

// Read reads the config of a file. What is wrong in it is returned as
// *strictyaml.Errors, all at once; check, which may be nil, is asked about each
// of the client's options.
func Read(path string, check OptionCheck) (*Config, error) {
	data, err := strictyaml.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, check)
}

// Parse reads a config from YAML text; name stands for the file in errors, and
// relative paths in the text are relative to its folder.
func Parse(name string, data []byte, check OptionCheck) (*Config, error) {
	doc, err := strictyaml.Parse(name, data, strictyaml.Options{Unknown: aboutUnknown, Secret: looksSecret})
	if err != nil {
		return nil, err
	}
	var f file
	doc.Decode(&f)
	r := reader{doc, filepath.Dir(name)}
	c := &Config{Target: r.target(f.Target), Client: r.client(f.Client, f.Target.Mode, check), AWS: r.aws(f.AWS)}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	c.Source = doc.Source()
	return c, nil
}

// reader turns the mirror into a config and reports what is wrong at its line.
type reader struct {
	doc    *strictyaml.Document
	folder string // of the config, for relative paths
}

// secretWords are in the names of keys that hold secrets.
const secretWords = "password passwd passphrase pwd secret token credential private_key api_key access_key"

// looksSecret says whether values under this key must not be shown.
func looksSecret(key string) bool {
	if key == "password_env" || key == "password_file" {
		return false // they say where a secret is
	}
	key = strings.ReplaceAll(strings.ToLower(key), "-", "_")
	for word := range strings.FieldsSeq(secretWords) {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}

// aboutUnknown says where a password goes instead.
func aboutUnknown(path string) string {
	if looksSecret(path[strings.LastIndex(path, ".")+1:]) {
		return noSecrets
	}
	return ""
}

const noSecrets = "secrets do not go into a config; use target.password_env (name of an environment variable) " +
	"or target.password_file (path of a file)"
