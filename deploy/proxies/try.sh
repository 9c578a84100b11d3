#!/bin/sh
# Tries the three recipes for real: each proxy that is installed (nginx, caddy, haproxy) in front of a running endpoint, on other
# ports and with a certificate made here, everything else as it stands. `npm run try:proxies`
set -eu
cd "$(dirname "$0")"
billsync=$(pwd)/../../bin/billsync
work=$(mktemp -d)
pids=''
end() {
  for pid in $pids; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap end EXIT
PORT=28443 TLS=28444

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout "$work/key.pem" -out "$work/cert.pem" \
  -subj /CN=billing-hooks.example.com -addext subjectAltName=DNS:billing-hooks.example.com,DNS:billsync.internal.example.com 2>/dev/null
mkdir "$work/both" && cat "$work/cert.pem" "$work/key.pem" > "$work/both/both.pem"
printf 'service:secret' > "$work/password"
BILLSYNC_DATA_DIR=$work/data BILLSYNC_WEBHOOK_TLS=off BILLSYNC_WEBHOOK_HOST=127.0.0.1 BILLSYNC_WEBHOOK_PORT=$PORT \
  BILLSYNC_WEBHOOK_TRUSTED_PROXIES=127.0.0.1 BILLSYNC_WEBHOOK_BASIC_AUTH_FILE=$work/password BILLSYNC_ADMIN_PORT=0 \
  BILLSYNC_PARTNER_ID=11111111-1111-4111-8111-111111111111 LOG_FORMAT=json "$billsync" webhook 2> "$work/log" &
pids=$!
until grep -q ^ready "$work/log"; do sleep 0.2; done

failed=0
# check NAME WANTED CURL-ARGUMENTS: the status of the answer.
check() {
  what=$1 wanted=$2
  shift 2
  status=$(curl --silent --insecure --noproxy '*' --max-time 20 --output "$work/answer" --write-out '%{http_code}' \
    --resolve "billing-hooks.example.com:$TLS:127.0.0.1" "$@") || true
  if [ "$status" = "$wanted" ]; then echo "  ok      $status $what"; else
    echo "  FAILED  $status, not $wanted: $what"
    failed=1
  fi
}
ask() {
  endpoint=https://billing-hooks.example.com:$TLS
  id=$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')
  body="{\"eventId\":\"00000000-0000-4000-8000-0000$(echo "$id" | cut -c1-8)\",\"eventType\":\"unheard_of\",\"data\":{}}"
  check 'health' 200 "$endpoint/healthz"
  check 'another path' 404 "$endpoint/admin"
  check 'no credentials' 401 --json "$body" "$endpoint/webhooks/billing"
  check 'a wrong password, with an invented sender' 401 --user service:wrong --header 'X-Forwarded-For: 203.0.113.7' \
    --json "$body" "$endpoint/webhooks/billing"
  check 'a delivery of a kind that nobody knows' 202 --user service:secret --json "$body" "$endpoint/webhooks/billing/tenant"
  head -c 1048577 /dev/zero | tr '\0' ' ' > "$work/large"
  check 'a body beyond 1 MiB' 413 --user service:secret --header 'Expect:' --header 'Content-Type: application/json' \
    --data-binary "@$work/large" "$endpoint/webhooks/billing"
  check 'the same in chunks' 413 --user service:secret --header 'Expect:' --header 'Transfer-Encoding: chunked' \
    --header 'Content-Type: application/json' --data-binary "@$work/large" "$endpoint/webhooks/billing"
  check 'a header beyond 16 KiB' "$1" --user service:secret --header "X-Long: $(head -c 20000 "$work/large" | tr ' ' x)" "$endpoint/healthz"
  if grep -q 203.0.113.7 "$work/log"; then
    echo '  FAILED  the invented sender was believed'
    failed=1
  else echo '  ok      the invented sender was not believed'; fi
}
# serve PROXY COMMAND: until it answers, then the questions; it is ended before the next.
serve() {
  "$@" > "$work/proxy.log" 2>&1 &
  pid=$!
  pids="$pids $pid"
  left=50
  until curl --silent --insecure --noproxy '*' --output /dev/null --resolve "billing-hooks.example.com:$TLS:127.0.0.1" \
    "https://billing-hooks.example.com:$TLS/" || [ $left -eq 0 ]; do
    left=$((left - 1))
    sleep 0.2
  done
  [ $left -gt 0 ] || { cat "$work/proxy.log"; failed=1; }
}
stop() { kill "$pid" && wait "$pid" || true; }

tried=0
if command -v nginx > /dev/null; then
  tried=1
  nginx -v 2>&1
  { echo "user $(id -un) $(id -gn); pid $work/nginx.pid; daemon off; error_log stderr; events {} http { access_log off;"
    for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $work/$kind;"; done
    sed "/listen \[::\]/d; s/listen 443/listen 127.0.0.1:$TLS/; s#/etc/billsync/tls/[a-z]*\.pem#$work/cert.pem#
      s#/etc/billsync/tls/[a-z]*\.key#$work/key.pem#; s/127.0.0.1:8443/127.0.0.1:$PORT/" nginx.conf
    echo '}'; } > "$work/nginx.conf"
  serve nginx -p "$work" -c "$work/nginx.conf"
  ask 400
  stop
fi
if command -v caddy > /dev/null; then
  tried=1
  echo "caddy $(caddy version)"
  { sed "s#^\tservers {#\tadmin off\n\tauto_https disable_redirects\n\thttps_port $TLS\n\thttp_port $((TLS + 1))\n\tservers {#
      s#^{\$\(.*\)} {#{\$\1} {\n\ttls $work/cert.pem $work/key.pem#" Caddyfile; } > "$work/Caddyfile"
  ENDPOINT=127.0.0.1:$PORT HOME=$work serve caddy run --adapter caddyfile --config "$work/Caddyfile"
  # Over HTTP/2 Caddy ends the connection instead of answering.
  ask 000
  stop
fi
if command -v haproxy > /dev/null; then
  tried=1
  haproxy -v | head -1
  sed "s#bind :443#bind 127.0.0.1:$TLS#; s#/etc/billsync/tls/haproxy/#$work/both/#; s#127.0.0.1:8443#127.0.0.1:$PORT#" haproxy.cfg > "$work/haproxy.cfg"
  serve haproxy -db -f "$work/haproxy.cfg"
  ask 400
  stop
fi
[ $tried = 1 ] || { echo 'Install nginx, caddy or haproxy first.' >&2; exit 2; }
exit $failed
