package api

import "context"

// sts is the one action of STS that tools call before they do anything, so that
// nothing asks the real one. Source: the service model of API version 2011-06-15.
func (h *handler) sts() *service {
	return &service{
		version:   "2011-06-15",
		namespace: "https://sts.amazonaws.com/doc/2011-06-15/",
		dialect:   dialect{codeMissing, "The request must contain the parameter %s.", codeParameterValue},
		actions:   map[string]action{"GetCallerIdentity": {do: h.callerIdentity}},
	}
}

// The caller is always this user, since callers are not verified.
const (
	userName    = "local"
	userID      = "AIDALOCALLOCALLOCAL00"
	accessKeyID = "AKIALOCALLOCALLOCAL0"
)

func (h *handler) userARN() string {
	return "arn:aws:iam::" + h.plane.Account() + ":user/" + userName
}

type xmlIdentity struct {
	ARN     string `xml:"Arn"`
	UserID  string `xml:"UserId"`
	Account string
}

func (h *handler) callerIdentity(context.Context, *call) (any, error) {
	return xmlIdentity{ARN: h.userARN(), UserID: userID, Account: h.plane.Account()}, nil
}
