"""Holds a lock that ends with this script, even if the script is killed. Uses HTTP and the standard library only.

    python3 examples/http_session.py [http://127.0.0.1:7001]
"""
import json
import os
import sys
import time
import urllib.request
import uuid

BASE = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7001"


def post(path, body, timeout):
    return urllib.request.urlopen(urllib.request.Request(BASE + path, json.dumps(body).encode()), timeout=timeout)


# The member sends a comment line every 10 s. The session ends when this connection closes.
with post("/v1/sessions", {}, 30) as events:
    session = next(json.loads(line[6:])["id"] for line in events if line.startswith(b"data: "))
    # The lease is longer than the work, so the script need not renew it.
    ask = {"id": uuid.uuid4().hex, "lease": "1h", "wait": "10m", "session": session}
    with post("/v1/locks/nightly%2Freport:acquire", ask, 630) as answer:
        print("acquired, token", json.load(answer)["fencingToken"], flush=True)
    time.sleep(float(os.environ.get("WORK_SECONDS", "1")))
print("done")
