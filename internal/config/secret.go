package config

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/rankbench/rankbench/internal/strictyaml"
)

// Secret reads the password from where the config says, now: "" where it names
// no place. An empty password is an error, since it would mean no password.
func (t Target) Secret() (string, error) {
	switch {
	case t.PasswordEnv != "":
		return secretOfEnv(t.PasswordEnv)
	case t.PasswordFile != "":
		return secretOfFile(t.PasswordFile)
	}
	return "", nil
}

// usualVariable is how environment variables are named. What looks otherwise
// may be a password in the wrong place and is not repeated in an error.
var usualVariable = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)

func secretOfEnv(name string) (string, error) {
	if value := os.Getenv(name); value != "" {
		return value, nil
	}
	if !usualVariable.MatchString(name) {
		return "", errors.New("read password: the environment variable that target.password_env names is not set, or is empty")
	}
	return "", fmt.Errorf("read password: environment variable %s (target.password_env) is not set, or is empty", name)
}

// secretOfFile takes the newline away that editors and echo put at the end.
func secretOfFile(path string) (string, error) {
	data, err := strictyaml.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("password file (target.password_file): %w", err)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if value == "" {
		return "", fmt.Errorf("password file (target.password_file): %s is empty", path)
	}
	return value, nil
}
