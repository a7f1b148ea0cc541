// Informers as controllers run them, over whatever server a kubeconfig names: typed ones that ask for JSON, typed ones that
// prefer protobuf, and one of metadata alone. Commands come as lines on standard input, answers go out as JSON lines:
//
//	dump   what each informer's store holds, and how often it was told of what it already knew, or did not know
//
// Whether lists are streamed (WatchList) is client-go's own switch: KUBE_FEATURE_WatchListClient=true|false.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// followed is one informer and what its handler has seen: handlers and store must tell the same story.
type followed struct {
	name     string
	informer cache.SharedIndexInformer
	mu       sync.Mutex
	seen     map[string]string // key -> UID, by the handler's calls alone
	adds     int
	updates  int
	deletes  int
	errors   int
	faults   []string
}

type object struct {
	UID     string            `json:"uid"`
	Cluster string            `json:"cluster"`
	Data    map[string]string `json:"data,omitempty"`
	Phase   string            `json:"phase,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
}

type report struct {
	Synced  bool              `json:"synced"`
	Objects map[string]object `json:"objects"`
	Adds    int               `json:"adds"`
	Updates int               `json:"updates"`
	Deletes int               `json:"deletes"`
	Errors  int               `json:"errors"`
	Faults  []string          `json:"faults"`
}

const clusterAnnotation = "resource.karmada.io/cached-from-cluster"

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the server")
	namespace := flag.String("namespace", "default", "what is followed")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		fail(err)
	}
	config.QPS, config.Burst = 100, 200
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	all := []*followed{}
	for name, contentType := range map[string]string{"json": runtime.ContentTypeJSON, "protobuf": runtime.ContentTypeProtobuf} {
		client := kubernetes.NewForConfigOrDie(preferring(config, contentType))
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(*namespace))
		all = append(all,
			follow(name+"/pods", factory.Core().V1().Pods().Informer()),
			follow(name+"/configmaps", factory.Core().V1().ConfigMaps().Informer()))
		factory.Start(ctx.Done())
	}
	factory := metadatainformer.NewFilteredSharedInformerFactory(metadata.NewForConfigOrDie(config), 0, *namespace, nil)
	all = append(all, follow("metadata/configmaps", factory.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps")).Informer()))
	factory.Start(ctx.Done())
	answerCommands(all)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func preferring(config *rest.Config, contentType string) *rest.Config {
	own := rest.CopyConfig(config)
	own.ContentType = contentType
	if contentType == runtime.ContentTypeProtobuf {
		own.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	return own
}

func follow(name string, informer cache.SharedIndexInformer) *followed {
	f := &followed{name: name, informer: informer, seen: map[string]string{}, faults: []string{}}
	if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.errors++
		fmt.Fprintf(os.Stderr, "%s %s: %v\n", time.Now().Format(time.RFC3339Nano), name, err)
	}); err != nil {
		fail(err)
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(added any) { f.told("add", added) },
		UpdateFunc: func(_, updated any) { f.told("update", updated) },
		DeleteFunc: func(deleted any) { f.told("delete", deleted) },
	}); err != nil {
		fail(err)
	}
	return f
}

// told holds the handler's calls against each other: an object is added once, then updated, then deleted.
func (f *followed) told(what string, about any) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(about)
	if err != nil {
		fail(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, known := f.seen[key]
	switch what {
	case "add":
		f.adds++
		if known {
			f.fault("added twice: " + key)
		}
		f.seen[key] = uidOf(about)
	case "update":
		f.updates++
		if !known {
			f.fault("updated before it was added: " + key)
		}
		f.seen[key] = uidOf(about)
	case "delete":
		f.deletes++
		if !known {
			f.fault("deleted before it was added: " + key)
		}
		delete(f.seen, key)
	}
}

func (f *followed) fault(text string) {
	if len(f.faults) < 20 {
		f.faults = append(f.faults, text)
	}
}

func uidOf(about any) string {
	if accessor, ok := about.(metav1.Object); ok {
		return string(accessor.GetUID())
	}
	return ""
}

func answerCommands(all []*followed) {
	commands := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for commands.Scan() {
		if commands.Text() != "dump" {
			fail(fmt.Errorf("unknown command %q", commands.Text()))
		}
		reports := map[string]report{}
		for _, f := range all {
			reports[f.name] = f.report()
		}
		if err := out.Encode(reports); err != nil {
			fail(err)
		}
	}
}

func (f *followed) report() report {
	f.mu.Lock()
	defer f.mu.Unlock()
	objects := map[string]object{}
	for _, stored := range f.informer.GetStore().List() {
		key, _ := cache.MetaNamespaceKeyFunc(stored)
		objects[key] = describe(stored)
	}
	return report{
		Synced: f.informer.HasSynced(), Objects: objects,
		Adds: f.adds, Updates: f.updates, Deletes: f.deletes, Errors: f.errors, Faults: f.faults,
	}
}

func describe(stored any) object {
	accessor := stored.(metav1.Object)
	described := object{
		UID:     string(accessor.GetUID()),
		Cluster: accessor.GetAnnotations()[clusterAnnotation],
		Labels:  accessor.GetLabels(),
	}
	switch typed := stored.(type) {
	case *corev1.ConfigMap:
		described.Data = typed.Data
	case *corev1.Pod:
		described.Phase = string(typed.Status.Phase)
	}
	return described
}
