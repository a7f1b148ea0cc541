// Answers of the real library, for test/fixtures/kube/apimachinery.jsonl: reads a line of JSON for each input, writes it
// back with what Kubernetes makes of it. To ask again, or ask more:
//
//	cd test/support/real-parts/kube
//	go run -mod=mod ../../apimachinery/main.go < ../../../fixtures/kube/apimachinery.jsonl > answers && mv answers …
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Each kind of input fills some of the fields.
type vector struct {
	Kind    string              `json:"kind"`
	Text    string              `json:"text"`
	Objects []map[string]string `json:"objects,omitempty"`
	Ms      int64               `json:"ms,omitempty"`
	Error   string              `json:"error,omitempty"`
	Printed string              `json:"printed,omitempty"`
	Value   string              `json:"value,omitempty"`
	Matches []bool              `json:"matches,omitempty"`
}

func (v *vector) answer() error {
	switch v.Kind {
	case "label":
		selector, err := labels.Parse(v.Text)
		if err != nil {
			return err
		}
		v.Printed = selector.String()
		for _, object := range v.Objects {
			v.Matches = append(v.Matches, selector.Matches(labels.Set(object)))
		}
	case "field":
		selector, err := fields.ParseSelector(v.Text)
		if err != nil {
			return err
		}
		v.Printed = selector.String()
		for _, object := range v.Objects {
			v.Matches = append(v.Matches, selector.Matches(fields.Set(object)))
		}
	case "quantity":
		quantity, err := resource.ParseQuantity(v.Text)
		if err != nil {
			return err
		}
		number, suffix := quantity.CanonicalizeBytes(nil)
		v.Printed = string(number) + string(suffix)
		v.Value = quantity.AsDec().String()
	case "age":
		v.Printed = duration.HumanDuration(time.Duration(v.Ms) * time.Millisecond)
	case "duration":
		parsed, err := time.ParseDuration(v.Text)
		if err != nil {
			return err
		}
		v.Value = fmt.Sprint(int64(parsed))
	case "quote":
		v.Printed = fmt.Sprintf("%q", v.Text)
		bytes, err := json.Marshal(v.Text)
		if err != nil {
			return err
		}
		v.Value = string(bytes)
	default:
		return fmt.Errorf("no kind of vector: %s", v.Kind)
	}
	return nil
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			panic(err)
		}
		v.Error, v.Printed, v.Value, v.Matches = "", "", "", nil
		if err := v.answer(); err != nil {
			v.Error = err.Error()
		}
		if err := encoder.Encode(v); err != nil {
			panic(err)
		}
	}
}
