"""Uses keys, transactions, watches and locks by HTTP to a sidecar, with the standard library only.

    python3 examples/http_store.py [http://127.0.0.1:7001]
"""
import json
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

BASE = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7001"


def call(method, path, body=None, headers=None, timeout=30):
    """Returns the status and the JSON body of the answer. The body of an error has code, message, retryable and outcome."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data, headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def name(text):
    return urllib.parse.quote(text, safe="")


def put(key, value):
    """Writes a key once. With the random Idempotency-Key, you may send the same request again, to any member, until it is answered."""
    once = {"idempotency-key": uuid.uuid4().hex}
    request = urllib.request.Request(f"{BASE}/v1/kv/{name(key)}", value, once, method="PUT")
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)["revision"]


def list_all(prefix, limit):
    after, keys = None, []
    while True:
        page = f"/v1/kv?prefix={name(prefix)}&limit={limit}" + ("" if after is None else f"&after={name(after)}")
        _, answer = call("GET", page)
        keys += [entry["key"] for entry in answer["entries"]]
        after = answer["next"]
        if after is None:
            return keys


def watch(prefix, last_id):
    """Yields the changes after the revision last_id, one by one. After a lost connection, it continues at the last received id."""
    name_of_event = None
    while True:
        request = urllib.request.Request(f"{BASE}/v1/watch?prefix={name(prefix)}", headers={"last-event-id": str(last_id)})
        try:
            with urllib.request.urlopen(request, timeout=30) as stream:
                for line in stream:
                    field, _, value = line.decode().rstrip("\n").partition(": ")
                    if field == "":
                        name_of_event = None
                    if field == "event":
                        name_of_event = value
                    if field == "id":
                        last_id = value
                    if field == "data" and name_of_event == "error":
                        refuse_watch(json.loads(value))
                    elif field == "data":
                        yield json.loads(value)
        except urllib.error.HTTPError as error:
            refuse_watch(json.load(error))
        except OSError:
            pass  # The connection is lost, or the member has sent nothing for 30 s.
        time.sleep(0.5)


def refuse_watch(error):
    """Raises an error that ends the watch. After ERR_COMPACTED, read the list again, and watch from its revision."""
    if error["code"] != "ERR_CLOSED" and not error["retryable"]:
        raise RuntimeError(f"{error['code']}: {error['message']}")


class Lock:
    """A hold that a thread renews. Call `held()` before each step of the work. It compares the lease with the clock of this process."""

    def __init__(self, key, lease_ms=3000, wait="20s"):
        self.path, self.lease_ms, self.id = f"/v1/locks/{name(key)}", lease_ms, uuid.uuid4().hex
        sent = time.monotonic()
        status, hold = call("POST", f"{self.path}:acquire", {"id": self.id, "lease": lease_ms, "wait": wait})
        if status != 200:
            raise RuntimeError(f"{status} {hold['code']}: {hold['detail']}")
        # The lease began at the grant, but `until` counts from the request, so it is too early. The renewal sets it again.
        self.token, self.until, self.over = hold["fencingToken"], sent + hold["remainingMillis"] / 1000, threading.Event()
        self.renew()
        threading.Thread(target=self.keep, daemon=True).start()

    def renew(self):
        sent = time.monotonic()
        body = {"id": self.id, "fencingToken": self.token, "lease": self.lease_ms}
        status, hold = call("POST", f"{self.path}:renew", body, timeout=self.lease_ms / 3000)
        if status == 200:
            self.until = sent + hold["remainingMillis"] / 1000
        return status == 200

    def keep(self):
        while not self.over.wait(self.lease_ms / 3000):
            try:
                if not self.renew():
                    self.until = 0
                    return
            except OSError:
                pass  # The loop tries again. Meanwhile, `until` still says how long the hold lasts.

    def held(self):
        return time.monotonic() < self.until

    def release(self):
        self.over.set()
        return call("POST", f"{self.path}:release", {"id": self.id, "fencingToken": self.token})[0]


for n in (1, 2, 3):
    revision = put(f"python/list/{n}", b"value")
print("listed", *list_all("python/list/", limit=2))

create = {"when": [{"key": "python/txn", "value": None}], "then": [{"type": "put", "key": "python/txn", "value": {"text": "1"}}]}
print("txn", *[call("POST", "/v1/txn", create)[1]["succeeded"] for _ in range(2)])

changes = watch("python/watched/", revision)
put("python/watched/a", b"seen")
event = next(change for change in changes if change["type"] == "put")
print("watched", event["key"], event["value"]["text"])

first = Lock("python/lock")
waiting = []
thread = threading.Thread(target=lambda: waiting.append(Lock("python/lock")))
thread.start()
time.sleep(4)  # This time is longer than the lease, which the thread renews.
print("held after its lease", first.held(), "others", len(waiting))
print("released", first.release())
thread.join()
print("the waiter has it", waiting[0].held(), "with a higher token", waiting[0].token > first.token)
waiting[0].release()
