// Renders a chart with the libraries of Helm: Go's text/template, sprig, and the functions that Helm adds. It prints
// {"values": {"<chart>": ...}, "files": {"<chart>/templates/x.yaml": "..."}, "error": "..."}; values are those of each chart,
// for its schema. Usage: render CHART VALUES.yaml RELEASE
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type object = map[string]interface{}

type chart struct {
	name   string
	folder string
	about  object
	values object
	subs   []*chart
}

type output struct {
	Values map[string]object `json:"values"`
	Files  map[string]string `json:"files"`
	Error  string            `json:"error,omitempty"`
}

func main() {
	out := output{Values: map[string]object{}, Files: map[string]string{}}
	if err := render(os.Args[1], os.Args[2], os.Args[3], &out); err != nil {
		out.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func render(folder, valuesFile, release string, out *output) error {
	root, err := load(folder)
	if err != nil {
		return err
	}
	given, err := readYaml(valuesFile)
	if err != nil {
		return err
	}
	templates := template.New("").Option("missingkey=zero")
	templates.Funcs(functions(templates))
	shared := object{
		"Release": object{"Name": release, "Namespace": "plant", "Service": "Helm", "Revision": 1, "IsInstall": true, "IsUpgrade": false},
		"Capabilities": object{
			"KubeVersion": object{"Version": "v1.33.0", "Major": "1", "Minor": "33"},
			"APIVersions": versions{"v1", "apps/v1", "networking.k8s.io/v1", "monitoring.coreos.com/v1"},
		},
	}
	contexts := map[string]object{}
	bind(root, merged(root.values, given), root.name, shared, contexts, out)
	if err := parse(root, root.name, templates); err != nil {
		return err
	}
	names := make([]string, 0, len(contexts))
	for name := range contexts {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for _, file := range filesOf(templates, name) {
			context := object{}
			for key, value := range contexts[name] {
				context[key] = value
			}
			context["Template"] = object{"Name": file, "BasePath": name + "/templates"}
			var text bytes.Buffer
			if err := templates.ExecuteTemplate(&text, file, context); err != nil {
				return err
			}
			out.Files[file] = strings.ReplaceAll(text.String(), "<no value>", "")
		}
	}
	return nil
}

func load(folder string) (*chart, error) {
	about, err := readYaml(filepath.Join(folder, "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	values, err := readYaml(filepath.Join(folder, "values.yaml"))
	if err != nil {
		return nil, err
	}
	loaded := &chart{name: about["name"].(string), folder: folder, about: about, values: values}
	subs, err := filepath.Glob(filepath.Join(folder, "charts", "*", "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	for _, sub := range subs {
		one, err := load(filepath.Dir(sub))
		if err != nil {
			return nil, err
		}
		loaded.subs = append(loaded.subs, one)
	}
	return loaded, nil
}

// bind builds the `.` of a chart's templates; the values of its dependencies are in .Subcharts.
func bind(one *chart, values object, path string, shared object, contexts map[string]object, out *output) object {
	subs := object{}
	for _, sub := range one.subs {
		own, _ := values[sub.name].(object)
		subValues := merged(sub.values, own)
		global, _ := values["global"].(object)
		subValues["global"] = merged(global, asObject(subValues["global"]))
		values[sub.name] = subValues
		subs[sub.name] = bind(sub, subValues, path+"/charts/"+sub.name, shared, contexts, out)
	}
	about := object{}
	for key, value := range one.about {
		about[strings.ToUpper(key[:1])+key[1:]] = value
	}
	context := object{"Values": values, "Chart": about, "Subcharts": subs, "Files": files{one.folder}}
	for key, value := range shared {
		context[key] = value
	}
	contexts[path] = context
	out.Values[path] = values
	return context
}

func parse(one *chart, path string, into *template.Template) error {
	files, err := filepath.Glob(filepath.Join(one.folder, "templates", "*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if _, err := into.New(path + "/templates/" + filepath.Base(file)).Parse(string(text)); err != nil {
			return err
		}
	}
	for _, sub := range one.subs {
		if err := parse(sub, path+"/charts/"+sub.name, into); err != nil {
			return err
		}
	}
	return nil
}

// filesOf names the templates of one chart that become manifests or notes, without included ones.
func filesOf(templates *template.Template, path string) []string {
	names := []string{}
	for _, one := range templates.Templates() {
		name := one.Name()
		if filepath.Dir(name) == path+"/templates" && !strings.HasPrefix(filepath.Base(name), "_") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

func functions(all *template.Template) template.FuncMap {
	funcs := sprig.TxtFuncMap()
	delete(funcs, "env")
	delete(funcs, "expandenv")
	funcs["toYaml"] = func(value interface{}) string {
		text, err := yaml.Marshal(value)
		if err != nil {
			return ""
		}
		return strings.TrimSuffix(string(text), "\n")
	}
	funcs["fromYaml"] = func(text string) object {
		value := object{}
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			value["Error"] = err.Error()
		}
		return value
	}
	funcs["include"] = func(name string, context interface{}) (string, error) {
		var text bytes.Buffer
		err := all.ExecuteTemplate(&text, name, context)
		return text.String(), err
	}
	funcs["tpl"] = func(text string, context interface{}) (string, error) {
		copied, err := all.Clone()
		if err != nil {
			return "", err
		}
		one, err := copied.New("tpl").Parse(text)
		if err != nil {
			return "", err
		}
		var result bytes.Buffer
		err = one.Execute(&result, context)
		return result.String(), err
	}
	funcs["required"] = func(message string, value interface{}) (interface{}, error) {
		if text, isText := value.(string); value == nil || (isText && text == "") {
			return value, errors.New(message)
		}
		return value, nil
	}
	// Without a cluster it finds nothing, as in `helm template`.
	funcs["lookup"] = func(string, string, string, string) object { return object{} }
	return funcs
}

// files are those of one chart, beside its templates.
type files struct{ folder string }

// Get is empty for a missing file, and outside of the chart, as in Helm.
func (of files) Get(name string) string {
	inside := filepath.Clean("/" + name)
	text, err := os.ReadFile(filepath.Join(of.folder, inside))
	if err != nil {
		return ""
	}
	return string(text)
}

type versions []string

func (known versions) Has(wanted string) bool {
	for _, one := range known {
		if one == wanted {
			return true
		}
	}
	return false
}

// merged is `under` overridden by `over`; null in `over` removes a key.
func merged(under, over object) object {
	result := object{}
	for key, value := range under {
		result[key] = value
		if inner, isObject := value.(object); isObject {
			result[key] = merged(inner, nil)
		}
	}
	for key, value := range over {
		inner, isObject := value.(object)
		old, wasObject := result[key].(object)
		switch {
		case value == nil:
			delete(result, key)
		case isObject && wasObject:
			result[key] = merged(old, inner)
		default:
			result[key] = value
		}
	}
	return result
}

func asObject(value interface{}) object {
	one, _ := value.(object)
	return one
}

func readYaml(file string) (object, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	value := object{}
	if err := yaml.Unmarshal(text, &value); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return value, nil
}
