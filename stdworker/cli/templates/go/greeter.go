// A request is a line of stdin, its response a line of stdout with the same id. Many may be worked on at once, until
// stdin ends. What goes to stderr is log.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
)

type request struct {
	ID         string          `json:"id"`
	Reaction   string          `json:"reaction"`
	Name       string          `json:"name"`
	UID        string          `json:"uid"`
	Generation int64           `json:"generation"`
	Spec       json.RawMessage `json:"spec"` // raw: numbers keep all of their digits
	Config     json.RawMessage `json:"config"`
}

type response struct {
	ID         string      `json:"id"`
	Status     any         `json:"status,omitempty"`
	Conditions []condition `json:"conditions,omitempty"`
	Error      *failure    `json:"error,omitempty"`
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// failure ends one request. Terminal says that trying again can't help; Reason is one CamelCase word.
type failure struct {
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message"`
	Terminal bool   `json:"terminal,omitempty"`
}

func (f *failure) Error() string { return f.Message }

func refused(reason, format string, arguments ...any) error {
	return &failure{Reason: reason, Message: fmt.Sprintf(format, arguments...), Terminal: true}
}

// work makes the world what the spec says. It may run again for the same uid and generation: look first, then act.
// The context is done when nobody waits for the response any more: hand it on.
func work(ctx context.Context, req request) (response, error) {
	var spec struct {
		Name string `json:"name"`
	}
	if err := decode(req.Spec, &spec); err != nil || strings.TrimSpace(spec.Name) == "" {
		return response{}, refused("NameMissing", "spec.name must say whom to greet")
	}
	settings := struct {
		Greeting string `json:"greeting"`
	}{Greeting: "Hello"}
	if err := decode(req.Config, &settings); err != nil {
		return response{}, refused("BadSettings", "settings: %v", err)
	}
	if err := ctx.Err(); err != nil {
		return response{}, err
	}

	tell("debug", fmt.Sprintf("greeting for %s, generation %d", req.Name, req.Generation))

	return response{
		Status:     map[string]string{"text": fmt.Sprintf("%s, %s!", settings.Greeting, spec.Name)},
		Conditions: []condition{{Type: "Ready", Status: "True", Reason: "Greeted"}},
	}, nil
}

// teardown takes back what work made. It may run again, and when nothing is there any more.
func teardown(_ context.Context, req request) (response, error) {
	tell("debug", "goodbye to "+req.Name)
	return response{}, nil
}

func unknown(_ context.Context, req request) (response, error) {
	return response{}, refused("UnknownReaction", "greeter has no reaction %q", req.Reaction)
}

var reactions = map[string]func(context.Context, request) (response, error){"work": work, "delete": teardown}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	say(encode(map[string]any{"hello": map[string]any{"protocol": 1, "cancel": true}}))

	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, os.Stdin) }()
	select {
	case err := <-ended:
		if err != nil {
			log.Fatal(err)
		}
	case <-ctx.Done(): // and so are the contexts of all requests: each answers, and may clean up
		answering.Wait()
		os.Exit(143)
	}
}

// serve answers each request of the stream, and returns when the stream has ended and all are answered.
func serve(ctx context.Context, stream io.Reader) error {
	defer answering.Wait()
	var cancels sync.Map // of each request, by id

	lines := json.NewDecoder(stream)
	for {
		var message struct {
			request
			Cancel *struct {
				ID string `json:"id"`
			} `json:"cancel"`
		}
		if err := lines.Decode(&message); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("stdin: %w", err)
		}
		if message.Cancel != nil {
			if cancel, found := cancels.Load(message.Cancel.ID); found {
				cancel.(context.CancelFunc)()
			}
			continue
		}
		ctx, cancel := context.WithCancel(ctx)
		cancels.Store(message.ID, cancel)
		answering.Add(1)
		go func() {
			defer answering.Done()
			defer cancel()
			defer cancels.Delete(message.ID)
			say(respond(ctx, message.request))
		}()
	}
}

// respond makes the line that answers a request. A failure of any kind, a panic too, ends this request and not the
// program.
func respond(ctx context.Context, req request) (line []byte) {
	defer func() {
		if reason := recover(); reason != nil {
			log.Printf("panic: %v\n%s", reason, debug.Stack())
			line = failed(req, fmt.Errorf("panic: %v", reason))
		}
	}()
	react := reactions[req.Reaction]
	if react == nil {
		react = unknown
	}
	res, err := react(ctx, req)
	if err != nil {
		return failed(req, err)
	}
	res.ID = req.ID
	if line, err = json.Marshal(res); err != nil {
		return failed(req, err)
	}
	return line
}

func failed(req request, err error) []byte {
	told := &failure{Message: err.Error()}
	errors.As(err, &told)
	return encode(response{ID: req.ID, Error: told})
}

// decode reads a document that may be absent.
func decode(document json.RawMessage, into any) error {
	if document == nil {
		return nil
	}
	return json.Unmarshal(document, into)
}

func tell(level, message string) {
	say(encode(map[string]any{"log": map[string]string{"level": level, "message": message}}))
}

// encode is for messages of our own, which can always be encoded.
func encode(message any) []byte {
	encoded, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	return encoded
}

var (
	answering sync.WaitGroup
	stdout    sync.Mutex
)

// say writes one line, whole even when several goroutines have something to say.
func say(line []byte) {
	stdout.Lock()
	defer stdout.Unlock()
	if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
		log.Fatal(err)
	}
}
