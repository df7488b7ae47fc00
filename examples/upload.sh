#!/bin/sh
# sh examples/upload.sh <file>: uploads a file with curl alone and prints its playback URL.
set -eu
if [ $# -ne 1 ]; then
  echo 'Usage: sh examples/upload.sh <file>' >&2
  exit 2
fi
# setting <name>: its line in .env, which the server reads too.
setting() {
  if [ -f .env ]; then sed -n "s/^$1=//p" .env | tail -n 1; fi
}
port=${KINORA_PORT:-$(setting KINORA_PORT)}
url=${KINORA_URL:-http://127.0.0.1:${port:-8080}}
token=${KINORA_TOKEN:-$(cat kinora-data/token)}

# The token goes in through a file descriptor, because arguments are visible in the list of processes.
api() {
  printf 'user = "%s"\n' "$token" | curl --config - --silent --show-error --fail-with-body "$@"
}
# field <name>: the first value of that name in a JSON answer. Use jq where you have it.
field() {
  sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" | head -n 1
}

created=$(api "$url/video/v1/uploads" --header 'Content-Type: application/json' \
  --data '{"cors_origin":"*","new_asset_settings":{"playback_policies":["public"]}}')
upload=$(printf '%s' "$created" | sed 's/"new_asset_settings":{[^}]*}//' | field id)
# The URL needs no token. An interrupted upload continues over tus or in chunks; this one is sent at once.
curl --silent --show-error --fail-with-body --upload-file "$1" "$(printf '%s' "$created" | field url)"

asset=''
while [ -z "$asset" ]; do
  asset=$(api "$url/video/v1/uploads/$upload" | field asset_id)
done
while :; do
  state=$(api "$url/video/v1/assets/$asset")
  case $state in
    *'"status":"ready"'*) break ;;
    *'"status":"errored"'*) printf '%s\n' "$state" >&2; exit 1 ;;
  esac
  sleep 1
done
playback=$(printf '%s' "$state" | sed 's/.*"playback_ids":\[{\([^}]*\)}.*/{\1}/' | field id)
printf '%s/%s.m3u8\n' "$url" "$playback"
