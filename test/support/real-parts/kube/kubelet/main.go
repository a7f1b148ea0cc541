// Command kubelet serves what an API server asks of a node for exec, attach, port-forward and logs, by the kubelet's own
// streaming library; the workloads are processes of this machine. Nothing else of a kubelet is here.
//
//	kubelet ADDRESS CERTIFICATE KEY FOLDER
//
// Commands run in FOLDER. The log of a container is FOLDER/CONTAINER.log. Who attaches talks to a process that says
// "heard LINE" for each line. A forwarded port is one of this machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/creack/pty"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	idleTimeout     = 4 * time.Hour // as the kubelet's
	creationTimeout = 30 * time.Second
	logPoll         = 20 * time.Millisecond
)

type node struct{ folder string }

func main() {
	address, certificate, key, folder := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	log.Fatal(http.ListenAndServeTLS(address, certificate, key, &node{folder: folder}))
}

func (n *node) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	parts := strings.Split(strings.TrimPrefix(req.URL.Path, "/"), "/")
	switch {
	case parts[0] == "healthz":
		fmt.Fprint(w, "ok")
	case parts[0] == "exec" && len(parts) == 4:
		if options, ok := streams(w, req); ok {
			remotecommand.ServeExec(w, req, n, parts[2], "", parts[3], req.URL.Query()["command"], options,
				idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
		}
	case parts[0] == "attach" && len(parts) == 4:
		if options, ok := streams(w, req); ok {
			remotecommand.ServeAttach(w, req, n, parts[2], "", parts[3], options,
				idleTimeout, creationTimeout, remotecommand.SupportedStreamingProtocols)
		}
	case parts[0] == "portForward" && len(parts) == 3:
		options, err := portforward.NewV4Options(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(w, req, n, parts[2], "", options,
			idleTimeout, creationTimeout, portforward.SupportedProtocols)
	case parts[0] == "containerLogs" && len(parts) == 4:
		n.serveLog(w, req, parts[3])
	default:
		http.NotFound(w, req)
	}
}

func streams(w http.ResponseWriter, req *http.Request) (*remotecommand.Options, bool) {
	options, err := remotecommand.NewOptions(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return options, err == nil
}

func (n *node) ExecInContainer(ctx context.Context, _, _, _ string, args []string, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Dir = n.folder
	if tty {
		return exitStatus(runOnTerminal(command, in, out, resize))
	}
	command.Stdout, command.Stderr = writer(out), writer(errOut)
	if in == nil {
		return exitStatus(command.Run())
	}
	stdin, err := command.StdinPipe()
	if err != nil {
		return err
	}
	// Not the command's own reader: it would be waited for after the command has ended.
	go func() {
		_, _ = io.Copy(stdin, in)
		_ = stdin.Close()
	}()
	return exitStatus(command.Run())
}

// writer keeps a nil stream from becoming an interface that is not nil.
func writer(stream io.WriteCloser) io.Writer {
	if stream == nil {
		return nil
	}
	return stream
}

func runOnTerminal(command *exec.Cmd, in io.Reader, out io.Writer, resize <-chan remotecommand.TerminalSize) error {
	terminal, err := pty.Start(command)
	if err != nil {
		return err
	}
	defer terminal.Close()
	go func() {
		for size := range resize {
			_ = pty.Setsize(terminal, &pty.Winsize{Cols: size.Width, Rows: size.Height})
		}
	}()
	if in != nil {
		go func() { _, _ = io.Copy(terminal, in) }()
	}
	if out != nil {
		_, _ = io.Copy(out, terminal) // ends with an error when the command has ended
	}
	return command.Wait()
}

func exitStatus(err error) error {
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		return utilexec.CodeExitError{Err: err, Code: exited.ExitCode()}
	}
	return err
}

func (n *node) AttachContainer(ctx context.Context, name, uid, container string, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	args := []string{"sh", "-c", `while read -r line; do echo "heard $line"; done`}
	return n.ExecInContainer(ctx, name, uid, container, args, in, out, errOut, tty, resize, 0)
}

func (n *node) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer connection.Close()
	go func() {
		_, _ = io.Copy(connection, stream)
		_ = connection.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, connection)
	return err
}

func (n *node) serveLog(w http.ResponseWriter, req *http.Request, container string) {
	file, err := os.Open(filepath.Join(n.folder, filepath.Base(container)+".log"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", "text/plain")
	flusher := w.(http.Flusher)
	for {
		if _, err := io.Copy(w, file); err != nil {
			return
		}
		flusher.Flush()
		if req.FormValue("follow") != "true" {
			return
		}
		select {
		case <-req.Context().Done():
			return
		case <-time.After(logPoll):
		}
	}
}
