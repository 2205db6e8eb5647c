// This program uses keys, transactions, watches and locks by HTTP to a sidecar, with the standard library only.
//
//	go run examples/http_store.go [http://127.0.0.1:7001]
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

var base = "http://127.0.0.1:7001"

func random() string {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		panic(err)
	}
	return hex.EncodeToString(id)
}

// send decodes the body of the answer into out. The body of an error has code, detail, retryable and outcome.
func send(ctx context.Context, method, path string, body []byte, header map[string]string, out any) (int, error) {
	request, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, json.NewDecoder(response.Body).Decode(out)
}

func call(method, path string, body, out any) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil || body == nil {
		data = nil
	}
	return send(ctx, method, path, data, nil, out)
}

// put writes a key once. With the random Idempotency-Key, you may send the same request again, to any member, until it is answered.
func put(key, value string) int64 {
	var answer struct{ Revision int64 }
	header := map[string]string{"idempotency-key": random()}
	status, err := send(context.Background(), "PUT", "/v1/kv/"+url.PathEscape(key), []byte(value), header, &answer)
	must(err)
	if status != 200 {
		panic(fmt.Sprint("put: ", status))
	}
	return answer.Revision
}

func listAll(prefix string, limit int) []string {
	query := url.Values{"prefix": {prefix}, "limit": {fmt.Sprint(limit)}}
	var keys []string
	for {
		var page struct {
			Entries []struct{ Key string }
			Next    *string
		}
		_, err := call("GET", "/v1/kv?"+query.Encode(), nil, &page)
		must(err)
		for _, entry := range page.Entries {
			keys = append(keys, entry.Key)
		}
		if page.Next == nil {
			return keys
		}
		query.Set("after", *page.Next)
	}
}

type change struct {
	Type  string
	Key   string
	Value struct{ Text string }
}

// watch sends the changes after the revision lastID to told, until ctx ends. After a lost connection, it continues at the last received id.
func watch(ctx context.Context, prefix string, lastID string, told chan<- change) {
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(ctx, "GET", base+"/v1/watch?prefix="+url.QueryEscape(prefix), nil)
		must(err)
		request.Header.Set("last-event-id", lastID)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			time.Sleep(500 * time.Millisecond)
			continue
		}
		lines := bufio.NewScanner(response.Body)
		// One line may have a value of 1 MiB in base64.
		lines.Buffer(nil, 4<<20)
		event := ""
		for response.StatusCode == http.StatusOK && lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "":
				event = ""
			case "event":
				event = value
			case "id":
				lastID = value
			case "data":
				if event == "error" {
					// ERR_COMPACTED means that the members no longer keep the changes after lastID. Then read the list again.
					fmt.Fprintln(os.Stderr, "the watch ended:", value)
					continue
				}
				var one change
				if json.Unmarshal([]byte(value), &one) == nil {
					told <- one
				}
			}
		}
		response.Body.Close()
		time.Sleep(500 * time.Millisecond)
	}
}

// Lock is a hold that a goroutine renews. Call Held before each step of the work. It compares the lease with the clock of this process.
type Lock struct {
	path, id string
	lease    time.Duration
	Token    int64
	mutex    sync.Mutex
	until    time.Time
	over     chan struct{}
}

type hold struct {
	FencingToken    int64
	RemainingMillis int64
	Code, Detail    string
}

func acquire(key string, lease time.Duration, wait string) (*Lock, error) {
	lock := &Lock{path: "/v1/locks/" + url.PathEscape(key), id: random(), lease: lease, over: make(chan struct{})}
	body := map[string]any{"id": lock.id, "lease": lease.Milliseconds(), "wait": wait}
	var got hold
	status, err := call("POST", lock.path+":acquire", body, &got)
	if err != nil {
		return nil, err
	}
	if status != 200 {
		return nil, fmt.Errorf("%d %s: %s", status, got.Code, got.Detail)
	}
	lock.Token = got.FencingToken
	// After a wait, this process does not know when the lease began, so it renews the hold to learn its length.
	lock.renew()
	go lock.keep()
	return lock, nil
}

func (lock *Lock) renew() bool {
	sent := time.Now()
	var got hold
	body := map[string]any{"id": lock.id, "fencingToken": lock.Token, "lease": lock.lease.Milliseconds()}
	status, err := call("POST", lock.path+":renew", body, &got)
	lock.mutex.Lock()
	defer lock.mutex.Unlock()
	if err != nil {
		return true // The goroutine tries again. Meanwhile, until still says how long the hold lasts.
	}
	if status != 200 {
		lock.until = time.Time{}
		return false
	}
	lock.until = sent.Add(time.Duration(got.RemainingMillis) * time.Millisecond)
	return true
}

func (lock *Lock) keep() {
	for {
		select {
		case <-lock.over:
			return
		case <-time.After(lock.lease / 3):
			if !lock.renew() {
				return
			}
		}
	}
}

// Held reports whether the hold is in force. It compares monotonic times, which nobody can set.
func (lock *Lock) Held() bool {
	lock.mutex.Lock()
	defer lock.mutex.Unlock()
	return time.Now().Before(lock.until)
}

func (lock *Lock) Release() int {
	close(lock.over)
	status, err := call("POST", lock.path+":release", map[string]any{"id": lock.id, "fencingToken": lock.Token}, &hold{})
	must(err)
	return status
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	if len(os.Args) > 1 {
		base = os.Args[1]
	}
	var revision int64
	for n := 1; n <= 3; n++ {
		revision = put(fmt.Sprintf("go/list/%d", n), "value")
	}
	fmt.Println("listed", strings.Join(listAll("go/list/", 2), " "))

	create := map[string]any{
		"when": []any{map[string]any{"key": "go/txn", "value": nil}},
		"then": []any{map[string]any{"type": "put", "key": "go/txn", "value": map[string]string{"text": "1"}}},
	}
	var succeeded [2]bool
	for n := range succeeded {
		var answer struct{ Succeeded bool }
		_, err := call("POST", "/v1/txn", create, &answer)
		must(err)
		succeeded[n] = answer.Succeeded
	}
	fmt.Println("txn", succeeded[0], succeeded[1])

	ctx, cancel := context.WithCancel(context.Background())
	changes := make(chan change)
	go watch(ctx, "go/watched/", fmt.Sprint(revision), changes)
	put("go/watched/a", "seen")
	for event := range changes {
		if event.Type == "put" {
			fmt.Println("watched", event.Key, event.Value.Text)
			break
		}
	}
	cancel()

	first, err := acquire("go/lock", 3*time.Second, "20s")
	must(err)
	next := make(chan *Lock, 1)
	go func() {
		lock, err := acquire("go/lock", 3*time.Second, "20s")
		must(err)
		next <- lock
	}()
	time.Sleep(4 * time.Second) // This time is longer than the lease, which the goroutine renews.
	fmt.Println("held after its lease", first.Held(), "others", len(next))
	fmt.Println("released", first.Release())
	waiter := <-next
	fmt.Println("the waiter has it", waiter.Held(), "with a higher token", waiter.Token > first.Token)
	waiter.Release()
}
