// Typed clients of client-go that speak protobuf, as controllers use them, over whatever servers kubeconfigs name:
//
//	typed fleet=KUBECONFIG chosen=KUBECONFIG …
//
// Commands come as JSON lines on standard input; each is answered by a JSON line: the object or the error that client-go
// gave, and which media types went over the wire for it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

type command struct {
	Server string `json:"server"`
	// What is accepted; default: what client-go asks for by itself where protobuf is sent.
	Accept    string `json:"accept"`
	Do        string `json:"do"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Of what is written: the object, a patch, a Scale, an Eviction.
	Body        json.RawMessage      `json:"body"`
	PatchType   string               `json:"patchType"`
	Subresource string               `json:"subresource"`
	Delete      metav1.DeleteOptions `json:"deleteOptions"`
	List        metav1.ListOptions   `json:"listOptions"`
	DryRun      []string             `json:"dryRun"`
}

type failure struct {
	Code    int32  `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type answer struct {
	Object   any      `json:"object,omitempty"`
	Error    *failure `json:"error,omitempty"`
	Sent     string   `json:"sent"`
	Received string   `json:"received"`
}

func main() {
	servers := map[string]string{}
	for _, argument := range os.Args[1:] {
		name, file, _ := strings.Cut(argument, "=")
		servers[name] = file
	}
	commands := bufio.NewScanner(os.Stdin)
	commands.Buffer(nil, 4<<20)
	out := json.NewEncoder(os.Stdout)
	for commands.Scan() {
		var cmd command
		if err := json.Unmarshal(commands.Bytes(), &cmd); err != nil {
			fail(err)
		}
		if err := out.Encode(answerTo(cmd, servers[cmd.Server])); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func answerTo(cmd command, kubeconfig string) answer {
	seen := &wire{}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		fail(err)
	}
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = cmd.Accept
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { seen.next = next; return seen })
	object, err := carryOut(kubernetes.NewForConfigOrDie(config), cmd)
	answered := answer{Sent: seen.sent, Received: seen.received}
	var status apierrors.APIStatus
	switch {
	case err == nil:
		answered.Object = object
	case errors.As(err, &status):
		told := status.Status()
		answered.Error = &failure{told.Code, string(told.Reason), told.Message}
	default:
		answered.Error = &failure{Message: err.Error()}
	}
	return answered
}

// wire remembers the media types of the last request and its answer.
type wire struct {
	next           http.RoundTripper
	sent, received string
}

func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	w.sent = request.Header.Get("Content-Type")
	response, err := w.next.RoundTrip(request)
	if err == nil {
		w.received = response.Header.Get("Content-Type")
	}
	return response, err
}

func carryOut(client kubernetes.Interface, cmd command) (any, error) {
	ns := cmd.Namespace
	switch cmd.Resource {
	case "configmaps":
		return typedCall(client.CoreV1().ConfigMaps(ns), cmd)
	case "secrets":
		return typedCall(client.CoreV1().Secrets(ns), cmd)
	case "pods":
		return typedCall(client.CoreV1().Pods(ns), cmd)
	case "nodes":
		return typedCall(client.CoreV1().Nodes(), cmd)
	case "serviceaccounts":
		return typedCall(client.CoreV1().ServiceAccounts(ns), cmd)
	case "deployments":
		return typedCall(client.AppsV1().Deployments(ns), cmd)
	case "leases":
		return typedCall(client.CoordinationV1().Leases(ns), cmd)
	case "poddisruptionbudgets":
		return typedCall(client.PolicyV1().PodDisruptionBudgets(ns), cmd)
	}
	return nil, fmt.Errorf("no client for %q", cmd.Resource)
}

type typed[T, L any] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
	DeleteCollection(context.Context, metav1.DeleteOptions, metav1.ListOptions) error
	Get(context.Context, string, metav1.GetOptions) (T, error)
	List(context.Context, metav1.ListOptions) (L, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
}

type withStatus[T any] interface {
	UpdateStatus(context.Context, T, metav1.UpdateOptions) (T, error)
}

type withScale interface {
	GetScale(context.Context, string, metav1.GetOptions) (*autoscalingv1.Scale, error)
	UpdateScale(context.Context, string, *autoscalingv1.Scale, metav1.UpdateOptions) (*autoscalingv1.Scale, error)
}

type ofPods interface {
	EvictV1(context.Context, *policyv1.Eviction) error
	Bind(context.Context, *corev1.Binding, metav1.CreateOptions) error
}

func typedCall[T, L any](client typed[T, L], cmd command) (any, error) {
	ctx := context.Background()
	updating := metav1.UpdateOptions{DryRun: cmd.DryRun}
	switch cmd.Do {
	case "create":
		return client.Create(ctx, body[T](cmd), metav1.CreateOptions{DryRun: cmd.DryRun})
	case "update":
		return client.Update(ctx, body[T](cmd), updating)
	case "updateStatus":
		return any(client).(withStatus[T]).UpdateStatus(ctx, body[T](cmd), updating)
	case "delete":
		return nil, client.Delete(ctx, cmd.Name, cmd.Delete)
	case "deleteCollection":
		return nil, client.DeleteCollection(ctx, cmd.Delete, cmd.List)
	case "get":
		return client.Get(ctx, cmd.Name, metav1.GetOptions{ResourceVersion: cmd.List.ResourceVersion})
	case "list":
		return client.List(ctx, cmd.List)
	case "patch":
		subresources := []string{}
		if cmd.Subresource != "" {
			subresources = append(subresources, cmd.Subresource)
		}
		options := metav1.PatchOptions{DryRun: cmd.DryRun, FieldManager: "typed"}
		return client.Patch(ctx, cmd.Name, types.PatchType(cmd.PatchType), cmd.Body, options, subresources...)
	case "getScale":
		return any(client).(withScale).GetScale(ctx, cmd.Name, metav1.GetOptions{})
	case "updateScale":
		return any(client).(withScale).UpdateScale(ctx, cmd.Name, body[*autoscalingv1.Scale](cmd), updating)
	case "evict":
		return nil, any(client).(ofPods).EvictV1(ctx, body[*policyv1.Eviction](cmd))
	case "bind":
		return nil, any(client).(ofPods).Bind(ctx, body[*corev1.Binding](cmd), metav1.CreateOptions{})
	}
	return nil, fmt.Errorf("nothing is done by %q", cmd.Do)
}

func body[T any](cmd command) T {
	var object T
	if err := json.Unmarshal(cmd.Body, &object); err != nil {
		fail(err)
	}
	return object
}
