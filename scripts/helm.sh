#!/usr/bin/env bash
# usage: scripts/helm.sh [--check]
# Checks the chart (helm lint --strict) and makes the plain files of deploy/kubernetes from it; with --check it compares them only.
# helm is taken from the PATH; else it is built with Go into a temporary folder, which takes some minutes. Where that fails this ends
# with 1 and says so.
set -euo pipefail
cd "$(dirname "$0")/.."

data=$(mktemp -d "${TMPDIR:-/tmp}/latchkey-helm-XXXXXX")
trap 'rm -rf "$data"' EXIT

helm=$(command -v helm || true)
if [ -z "$helm" ]; then
  command -v go >/dev/null || { echo 'helm.sh: neither helm nor Go is found. Install one of them, then run this again.' >&2; exit 1; }
  echo 'helm.sh: building helm'
  GOBIN="$data" go install helm.sh/helm/v3/cmd/helm@v3.18.6
  helm="$data/helm"
fi

chart=deploy/helm/latchkey
# A chart is one folder, without links to others: it has a copy of the alerts.
[ "${1:-}" = --check ] || cp deploy/prometheus/rules.yml $chart/rules.yml
# The same as in test/e2e/src/kubernetes.test.ts: it tells whether these files are of the present chart.
sum=$(cat $chart/Chart.yaml $chart/values.yaml $chart/beside-an-app.yaml $chart/templates/* $chart/rules.yml | sha256sum | cut -c1-16)

"$helm" lint --strict --quiet $chart
"$helm" lint --strict --quiet $chart --values $chart/beside-an-app.yaml

# Arguments: the file's name, what it is, more arguments of helm.
render() {
  local file=$1 what=$2
  shift 2
  {
    echo "# $what"
    echo "# scripts/helm.sh makes this file from the chart $chart ($sum). Change the chart, and run the script again."
    "$helm" template latchkey $chart --kube-version 1.30.0 --namespace default "$@" 2>"$data/log" | sed '/^# Source: /d'
  } >"$data/$file" || { cat "$data/log" >&2; exit 1; }
}
render latchkey.yaml 'Three members, each with a disk of its own (docs/kubernetes.md): kubectl apply -f deploy/kubernetes/latchkey.yaml'
render beside-an-app.yaml 'Three pods, each with a member and your application (docs/kubernetes.md). Replace the container "app" by your own.' --values $chart/beside-an-app.yaml
render metrics.yaml 'For the Prometheus operator: the pods that it asks for metrics, and the alerts (docs/metrics.md).' \
  --set metrics.serviceMonitor=true --set metrics.rules=true --show-only templates/metrics.yaml

for file in latchkey.yaml beside-an-app.yaml metrics.yaml; do
  if [ "${1:-}" = --check ]; then
    diff -u deploy/kubernetes/$file "$data/$file" || { echo "helm.sh: deploy/kubernetes/$file is not what the chart makes: run scripts/helm.sh" >&2; exit 1; }
  else
    cp "$data/$file" deploy/kubernetes/$file
  fi
done
echo 'helm.sh: the chart is valid, and deploy/kubernetes is made from it'
