"""Acquires a lock and writes under it, by HTTP to a sidecar, with the standard library only.

    python3 examples/http_lock.py [http://127.0.0.1:7001]
"""
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

BASE = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7001"


def post(key, verb, body):
    url = f"{BASE}/v1/locks/{urllib.parse.quote(key, safe='')}:{verb}"
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def put(key, value, guard):
    headers = {"latchkey-guard": guard}
    url = f"{BASE}/v1/kv/{urllib.parse.quote(key, safe='')}"
    with urllib.request.urlopen(urllib.request.Request(url, value, headers, method="PUT"), timeout=10) as response:
        return response.status


me, other = uuid.uuid4().hex, uuid.uuid4().hex
sent = time.monotonic()
status, hold = post("reports/daily", "acquire", {"id": me, "lease": "10s"})
assert status == 200, hold
# remainingMillis counts from the moment at which the caller sent the request.
until = sent + hold["remainingMillis"] / 1000
print("acquired, token", hold["fencingToken"])

status, refused = post("reports/daily", "acquire", {"id": other, "lease": "10s"})
print("another one is told", status, refused["code"])

if time.monotonic() < until:
    print("guarded write", put("reports/daily/state", b"done", f"reports/daily;{hold['fencingToken']}"))

status, _ = post("reports/daily", "release", {"id": me, "fencingToken": hold["fencingToken"]})
print("released", status)
