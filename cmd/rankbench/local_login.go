package main

import (
	"crypto/tls"
	"errors"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/local/state"
	"github.com/rankbench/rankbench/internal/target"
)

// login is how the nodes of a group are asked.
type login struct {
	password string
	tls      *tls.Config
}

// loginOf finds the login of g's nodes. Only the first group's AUTH token is
// written down.
func loginOf(s state.State, g state.Group) (l login, err error) {
	if g.AuthToken {
		if g.ID != s.Group || s.PasswordFile == "" {
			return l, errors.New("its AUTH token is known only to whoever created it")
		}
		if l.password, err = localConfig(s).Target.Secret(); err != nil {
			return l, err
		}
	}
	if g.TLS {
		l.tls, err = target.TLSConfig(&config.TLS{CAFile: g.CAFile})
	}
	return l, err
}
