package api

import (
	"strconv"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/local/control"
)

// trailDocument is the record of a call as CloudTrail writes it. Source:
// "CloudTrail record contents for management events" of its user guide.
type trailDocument struct {
	EventVersion       string        `json:"eventVersion"`
	UserIdentity       trailIdentity `json:"userIdentity"`
	EventTime          string        `json:"eventTime"`
	EventSource        string        `json:"eventSource"`
	EventName          string        `json:"eventName"`
	AWSRegion          string        `json:"awsRegion"`
	SourceIPAddress    string        `json:"sourceIPAddress"`
	UserAgent          string        `json:"userAgent"`
	ErrorCode          string        `json:"errorCode,omitempty"`
	ErrorMessage       string        `json:"errorMessage,omitempty"`
	RequestParameters  any           `json:"requestParameters"`
	ResponseElements   any           `json:"responseElements"`
	RequestID          string        `json:"requestID"`
	EventID            string        `json:"eventID"`
	ReadOnly           bool          `json:"readOnly"`
	EventType          string        `json:"eventType"`
	ManagementEvent    bool          `json:"managementEvent"`
	RecipientAccountID string        `json:"recipientAccountId"`
	EventCategory      string        `json:"eventCategory"`
}

type trailIdentity struct {
	Type        string `json:"type"`
	PrincipalID string `json:"principalId"`
	ARN         string `json:"arn"`
	AccountID   string `json:"accountId"`
	AccessKeyID string `json:"accessKeyId"`
	UserName    string `json:"userName"`
}

func (h *handler) trailDocument(c control.Call) trailDocument {
	account := h.plane.Account()
	return trailDocument{
		EventVersion:       "1.11",
		UserIdentity:       trailIdentity{"IAMUser", userID, h.userARN(), account, accessKeyID, userName},
		EventTime:          c.Time.UTC().Format(time.RFC3339), // whole seconds, as CloudTrail
		EventSource:        eventSource,
		EventName:          c.Name,
		AWSRegion:          h.plane.Region(),
		SourceIPAddress:    "127.0.0.1",
		UserAgent:          c.UserAgent,
		ErrorCode:          c.ErrorCode,
		ErrorMessage:       errorMessage(c),
		RequestParameters:  requestParameters(c.Parameters),
		RequestID:          c.RequestID,
		EventID:            c.ID,
		EventType:          "AwsApiCall",
		ManagementEvent:    true,
		RecipientAccountID: account,
		EventCategory:      "Management",
	}
}

// errorMessage says no more than the code does: the caller got the rest.
func errorMessage(c control.Call) string {
	if c.ErrorCode == "" {
		return ""
	}
	return "The call was refused with " + c.ErrorCode + "."
}

// requestParameters are the parameters as CloudTrail shows them: with small
// initials, lists as lists, numbers and truth values as such. There are none if
// they cannot be made out.
func requestParameters(given map[string]string) any {
	tree, err := grow(given)
	if err != nil || len(tree) == 0 {
		return nil
	}
	return trailFields(tree)
}

func trailFields(fields map[string]any) any {
	out := make(map[string]any, len(fields))
	for name, value := range fields {
		out[strings.ToLower(name[:1])+name[1:]] = trailValue(name, value)
	}
	return out
}

func trailValue(name string, v any) any {
	fields, isStructure := v.(map[string]any)
	if !isStructure {
		return trailScalar(name, string(v.(raw)))
	}
	items, numbers, isList := soleList(fields)
	if !isList {
		return trailFields(fields)
	}
	out := make([]any, 0, len(numbers))
	for _, n := range numbers {
		out = append(out, trailValue("", items[n]))
	}
	return out
}

// soleList is the list in a structure that has nothing but numbered items:
// ReplicasToRemove.member.1.
func soleList(fields map[string]any) (items map[string]any, numbers []string, ok bool) {
	if len(fields) != 1 {
		return nil, nil, false
	}
	for _, v := range fields {
		items, ok = v.(map[string]any)
	}
	numbers, numbered := indices(items)
	return items, numbers, ok && numbered
}

// trailScalar gives a value the type its name has in the service model.
func trailScalar(name, text string) any {
	switch {
	case name == "ApplyImmediately", name == "RetainPrimaryCluster", strings.HasSuffix(name, "Enabled"):
		if yes, err := strconv.ParseBool(text); err == nil {
			return yes
		}
	case name == "Port", name == "SnapshotRetentionLimit", name == "ReplicasPerNodeGroup",
		strings.HasSuffix(name, "Count"), strings.HasPrefix(name, "Num"):
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
	}
	return text
}
