#!/bin/sh
# Tries the image for real: roles as containers of their own with a read-only root, invoices through them, kill -9 of endpoint and
# worker, an update to another image with more invoices before the worker is back, and the proof. `npm run try:container`
#
#   ENGINE      podman or docker, with options for every call (podman)
#   RUN_OPTIONS options for every `run`
#   IMAGE       billsync:0.1.0; IMAGE-with-temporal has the Temporal server and the sandbox's story
#   UPDATE      the image that it is updated to (the same)
set -eu
ENGINE=${ENGINE:-podman}
IMAGE=${IMAGE:-billsync:0.1.0}
UPDATE=${UPDATE:-$IMAGE}
work=$(mktemp -d)
name() { echo "billsync-try-$$-$1"; }
say() { printf '%s %s\n' "$(date +%T)" "$*"; }
end() {
  for role in sandbox temporal webhook worker dashboard; do $ENGINE rm --force "$(name $role)" >/dev/null 2>&1 || true; done
  rm -rf "$work"
}
trap end EXIT

mkdir "$work/data" "$work/sandbox" "$work/secrets"
printf 'service:a password' > "$work/secrets/webhook"
printf 'k1:%s' "$(head -c 32 /dev/urandom | base64)" > "$work/secrets/key"
chmod 755 "$work"
chown -R 10001:10001 "$work/data" "$work/sandbox" "$work/secrets"

# start ROLE IMAGE ARGUMENTS: a read-only root, no capabilities, nothing but its volumes to write to.
start() {
  role=$1 image=$2
  shift 2
  # shellcheck disable=SC2086
  $ENGINE run --detach --name "$(name "$role")" --network host --read-only --tmpfs /tmp --cap-drop all \
    --security-opt no-new-privileges ${RUN_OPTIONS:-} --env-file "$work/env" \
    --volume "$work/data:/var/lib/billsync" --volume "$work/sandbox:/var/lib/sandbox" --volume "$work/secrets:/run/secrets:ro" \
    "$image" "$@" >/dev/null
}
run() { role=$1; shift; $ENGINE exec "$(name "$role")" billsync "$@"; }
# until SECONDS COMMAND: tries it each second; what it said last is shown when it never worked.
until_ok() {
  left=$1
  shift
  while ! "$@" >"$work/said" 2>&1; do
    left=$((left - 1))
    if [ "$left" -lt 0 ]; then
      cat "$work/said"
      for role in sandbox temporal webhook worker; do $ENGINE logs --tail 5 "$(name $role)" 2>&1 || true; done
      return 1
    fi
    sleep 1
  done
}
settled() { [ "$(run worker invoices list --json | grep -o '"state": *"loaded"' | wc -l)" -ge "$1" ]; }

: > "$work/env"
start sandbox "$IMAGE" sandbox serve --port 19443 --storage-port 19444 --data /var/lib/sandbox --json
until_ok 60 sh -c "$ENGINE logs $(name sandbox) 2>/dev/null | grep base_url > $work/sandbox.json"
field() { grep -o "\"$1\":\"[^\"]*\"" "$work/sandbox.json" | head -1 | cut -d'"' -f4; }
field client_secret > "$work/secrets/client"
chown 10001 "$work/secrets/client"
cat > "$work/env" <<SETTINGS
BILLSYNC_BASE_URL=$(field base_url)
BILLSYNC_AUTH_URL=$(field auth_url)
BILLSYNC_CA_FILE=$(field ca_file)
BILLSYNC_CLIENT_ID=$(field client_id)
BILLSYNC_CLIENT_SECRET_FILE=/run/secrets/client
BILLSYNC_ALLOW_PRIVATE_HOSTS=true
BILLSYNC_WEBHOOK_BASIC_AUTH_FILE=/run/secrets/webhook
BILLSYNC_WEBHOOK_HOST=127.0.0.1
BILLSYNC_WEBHOOK_PORT=18443
BILLSYNC_ENCRYPTION_KEY_FILE=/run/secrets/key
BILLSYNC_ADMIN_PORT=19090
TEMPORAL_ADDRESS=127.0.0.1:17233
SETTINGS
start temporal "$IMAGE-with-temporal" temporal
start webhook "$IMAGE" webhook
start worker "$IMAGE" worker
until_ok 120 run worker schedule show
say 'up: sandbox, temporal, webhook, worker'
run sandbox sandbox webhooks add --data /var/lib/sandbox --url https://127.0.0.1:18443/webhooks/billing \
  --header "Authorization: Basic $(printf 'service:a password' | base64)" --enable >/dev/null
run sandbox sandbox trigger invoice_finalized --data /var/lib/sandbox --times 3 >/dev/null
until_ok 120 settled 3
say '3 invoices are loaded'
for role in webhook worker; do $ENGINE exec "$(name $role)" node /opt/billsync/deploy/container/healthcheck.mjs; done
say 'the health checks say that both live'

$ENGINE kill --signal KILL "$(name webhook)" "$(name worker)" >/dev/null
$ENGINE rm --force "$(name webhook)" "$(name worker)" >/dev/null
start webhook "$UPDATE" webhook
until_ok 60 run webhook events list --json
run sandbox sandbox trigger invoice_finalized --data /var/lib/sandbox --times 2 >/dev/null
start worker "$UPDATE" worker
say "killed -9; started again from $UPDATE, and 2 more invoices came before the worker was back"
until_ok 180 settled 5
say '5 invoices are loaded'
run worker verify
run worker report tenants
started=$(date +%s)
$ENGINE stop --time 70 "$(name webhook)" "$(name worker)" >/dev/null
say "stopped by SIGTERM in $(($(date +%s) - started)) s, exit codes $($ENGINE inspect --format '{{.State.ExitCode}}' "$(name webhook)" "$(name worker)" | tr '\n' ' ')"
