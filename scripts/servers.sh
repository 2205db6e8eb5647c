#!/usr/bin/env bash
# usage: scripts/servers.sh [postgres] [redis] [etcd] -- CMD ARGS
# Starts the named servers (default: all of them) on free ports of loopback with temporary data, runs CMD with their addresses in its
# environment, and stops and deletes what it started. A server that is not installed is installed as a Debian package, which needs
# root; where that fails this ends with 1 and says so: nothing is left out.
#   POSTGRES_URL, POSTGRES_RESTART (a command that kills the server and starts it again), PGBOUNCER_URL (to it, in transaction mode)
#   REDIS_URL (one), REDIS_URLS (three that know nothing of each other)      ETCD_URLS (three, one cluster)
set -euo pipefail

wanted=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do wanted+=("$1"); shift; done
[ "${1:-}" = -- ] && [ $# -gt 1 ] || { echo 'usage: scripts/servers.sh [postgres] [redis] [etcd] -- CMD ARGS' >&2; exit 2; }
shift
[ ${#wanted[@]} -gt 0 ] || wanted=(postgres redis etcd)

data=$(mktemp -d "${TMPDIR:-/tmp}/latchkey-servers-XXXXXX")
chmod 755 "$data"
started=()
postgres_bin=''
as_postgres=()

stop() {
  status=$?
  trap - EXIT INT TERM
  if [ -f "$data/postgres/postmaster.pid" ]; then
    "${as_postgres[@]}" "$postgres_bin/pg_ctl" -D "$data/postgres" -m immediate -w stop >/dev/null 2>&1 || true
  fi
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
  if [ "$status" -ne 0 ]; then tail -n 3 "$data"/*.log 2>/dev/null || true; fi
  rm -rf "$data"
  exit "$status"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

free_port() {
  node -e "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close() })"
}

# RUNLEVEL=1: the package must not start a service of its own.
install() {
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "servers.sh: $1 is not installed. Install the package $2 of your system, then run this again." >&2
    exit 1
  fi
  echo "servers.sh: installing $2"
  if [ ! -f "$data/updated" ]; then apt-get -qq update >"$data/apt.log" 2>&1 && touch "$data/updated"; fi
  RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$2" >>"$data/apt.log" 2>&1 || {
    echo "servers.sh: $2 could not be installed:" >&2
    tail -n 5 "$data/apt.log" >&2
    exit 1
  }
}

until_ready() {
  for _ in $(seq 1 300); do
    if "${@:2}" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  echo "servers.sh: $1 did not start within 30 s" >&2
  exit 1
}

find_postgres() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }

start_postgres() {
  postgres_bin=$(find_postgres)
  if [ -z "$postgres_bin" ] && command -v pg_ctl >/dev/null; then postgres_bin=$(dirname "$(command -v pg_ctl)"); fi
  if [ -z "$postgres_bin" ]; then
    install PostgreSQL postgresql
    postgres_bin=$(find_postgres)
  fi
  command -v pgbouncer >/dev/null || install PgBouncer pgbouncer
  mkdir "$data/postgres"
  # PostgreSQL refuses to run as root.
  if [ "$(id -u)" -eq 0 ]; then
    chown postgres "$data/postgres"
    as_postgres=(runuser -u postgres --)
  fi
  local port bouncer
  port=$(free_port)
  (
    cd "$data/postgres"
    "${as_postgres[@]}" "$postgres_bin/initdb" -D "$data/postgres" -U latchkey -A trust --no-sync >"$data/postgres.log" 2>&1
    echo "listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = ''
max_connections = 100" >>"$data/postgres/postgresql.conf"
    "${as_postgres[@]}" "$postgres_bin/pg_ctl" -D "$data/postgres" -l "$data/postgres/server.log" -w -t 30 start >>"$data/postgres.log" 2>&1
  )
  export POSTGRES_URL="postgres://latchkey@127.0.0.1:$port/postgres"
  export POSTGRES_RESTART="cd '$data/postgres' && ${as_postgres[*]} $postgres_bin/pg_ctl -D '$data/postgres' -l '$data/postgres/server.log' -m immediate -w -t 30 restart"
  bouncer=$(free_port)
  mkdir "$data/bouncer"
  echo '"latchkey" ""' >"$data/bouncer/users.txt"
  echo "[databases]
postgres = host=127.0.0.1 port=$port
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $bouncer
unix_socket_dir =
auth_type = trust
auth_file = $data/bouncer/users.txt
pool_mode = transaction
default_pool_size = 10" >"$data/bouncer/pgbouncer.ini"
  if [ "$(id -u)" -eq 0 ]; then chown -R postgres "$data/bouncer"; fi
  "${as_postgres[@]}" "$(command -v pgbouncer)" "$data/bouncer/pgbouncer.ini" >"$data/pgbouncer.log" 2>&1 &
  started+=($!)
  export PGBOUNCER_URL="postgres://latchkey@127.0.0.1:$bouncer/postgres"
  until_ready PgBouncer bash -c "exec 3<>/dev/tcp/127.0.0.1/$bouncer"
}

redis_on() {
  mkdir "$data/redis-$1"
  redis-server --port "$1" --bind 127.0.0.1 --dir "$data/redis-$1" --save '' --appendonly yes --appendfsync always >"$data/redis-$1.log" 2>&1 &
  started+=($!)
  until_ready Redis redis-cli -h 127.0.0.1 -p "$1" ping
}

start_redis() {
  command -v redis-server >/dev/null || install Redis redis-server
  local port urls=()
  for n in 1 2 3 4; do
    port=$(free_port)
    redis_on "$port"
    urls+=("redis://127.0.0.1:$port")
  done
  export REDIS_URL="${urls[0]}" REDIS_URLS="${urls[1]},${urls[2]},${urls[3]}"
}

start_etcd() {
  command -v etcd >/dev/null || install etcd etcd-server
  local clients=() peers=() members='' urls=''
  for n in 0 1 2; do
    clients[n]=$(free_port)
    peers[n]=$(free_port)
    members+="${members:+,}m$n=http://127.0.0.1:${peers[n]}"
    urls+="${urls:+,}http://127.0.0.1:${clients[n]}"
  done
  for n in 0 1 2; do
    etcd --name "m$n" --data-dir "$data/etcd-$n" --initial-cluster "$members" --initial-cluster-state new \
      --listen-peer-urls "http://127.0.0.1:${peers[n]}" --initial-advertise-peer-urls "http://127.0.0.1:${peers[n]}" \
      --listen-client-urls "http://127.0.0.1:${clients[n]}" --advertise-client-urls "http://127.0.0.1:${clients[n]}" >"$data/etcd-$n.log" 2>&1 &
    started+=($!)
  done
  export ETCD_URLS="$urls"
  for n in 0 1 2; do until_ready etcd node -e "fetch('http://127.0.0.1:${clients[n]}/health').then((r) => r.json()).then((h) => process.exit(h.health === 'true' ? 0 : 1))"; done
}

for name in "${wanted[@]}"; do
  case "$name" in
    postgres | redis | etcd) "start_$name"; echo "servers.sh: $name runs" ;;
    *) echo "servers.sh: no server named $name; there are postgres, redis and etcd" >&2; exit 2 ;;
  esac
done
"$@"
