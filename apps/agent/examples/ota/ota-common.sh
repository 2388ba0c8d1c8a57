# Sourced by the scripts beside it: what to follow, and what the hub is told. Needs curl and jq.
#
# Settings, from the environment (in systemd: /etc/default/muster-ota):
#   MUSTER_AGENT      the agent's program; it reads its own configuration file
#   OTA_PATH          what to follow, repository/package/tag; the property dev.nexigon.ota.config {"path": …} goes before it
#   OTA_FILE          name of the file in the version; may be absent when there is only one
#   OTA_STATE_FOLDER  what must survive a restart

AGENT=${MUSTER_AGENT:-muster-agent}
STATE=${OTA_STATE_FOLDER:-/var/lib/muster-ota}
path='' installed='' current='' version='' target='' failures=0
FULL="the disk is full, or $STATE cannot be written"

# The value of a property as JSON. Fails when the hub cannot be asked, which in a pipe would look like no value.
property() {
  found=$("$AGENT" device properties get "$1") || return
  jq -c '.value // null' <<EOF
$found
EOF
}

# report STATE [ERROR]: what the console shows under "OTA Update Status".
report() {
  status=$(jq -cn --arg path "$path" --arg state "$1" --arg current "$current" --arg target "$target" \
    --argjson failures "$failures" --arg error "${2-}" 'def text: if . == "" then null else . end;
    {config: {path: $path}, state: $state, currentVersion: ($current | text), targetVersion: ($target | text),
      failureCount: $failures, lastError: ($error | text)}')
  "$AGENT" device properties set dev.nexigon.ota.status "$status" >/dev/null
}

# event SEVERITY TEXT
event() {
  "$AGENT" events emit --category ota --severity "$1" "$(jq -cn --arg text "$2" '$text')" >/dev/null
}

# fail TEXT: tells the hub and ends; the next run tries again.
fail() {
  echo "$1" >&2
  recall_failures
  failures=$((failures + 1))
  report failed "$1" || true
  event error "update failed" || true
  keep failures "${version:-$path}" "$failures" || true
  exit 1
}

# complete: from now on this version is the installed one.
complete() {
  # Before the hub is told, so that a lost report installs nothing twice; on a full disk it is told all the same.
  keep installed "$version" "$target" || echo "$FULL" >&2
  rm -f "$STATE/failures"
  current=$target failures=0
  report completed
  event info "update completed"
}

# keep NAME LINE…: replaces a small file of the state in one step, or fails and leaves it as it is.
keep() {
  kept=$STATE/$1
  shift
  printf '%s\n' "$@" >"$kept.new" && mv "$kept.new" "$kept"
}

# line NAME NUMBER: a line of such a file, or nothing.
line() {
  if [ -f "$STATE/$1" ]; then sed -n "$2p" "$STATE/$1"; fi
}

# How often this version failed before; while no version is known, the path.
recall_failures() {
  [ "$(line failures 1)" != "${version:-$path}" ] || failures=$(line failures 2)
}

# Finds out what is installed and what the tag names now; ends when that is the same.
find_target() {
  mkdir -p "$STATE"
  config=$(property dev.nexigon.ota.config)
  path=$(jq -r '.path? // empty' <<EOF
$config
EOF
  )
  path=${path:-${OTA_PATH:-}}
  if [ -z "$path" ]; then
    echo 'Found nothing to follow, expected OTA_PATH or the property dev.nexigon.ota.config {"path": "repository/package/tag"}.' >&2
    exit 1
  fi
  installed=$(line installed 1)
  current=$(line installed 2)
  # The id holds still while the tag may move on.
  info=$("$AGENT" repositories versions info "$path") || fail "there is no version $path, or the hub cannot be asked"
  version=$(jq -r .versionId <<EOF
$info
EOF
  )
  target=$(jq -r '.metadata.imageVersion // .name // .versionId' <<EOF
$info
EOF
  )
  if [ "$version" = "$installed" ]; then
    # The last report may have been lost.
    [ "$(property dev.nexigon.ota.status | jq -r '.state? // empty')" = completed ] || report completed
    exit 0
  fi
  recall_failures
  asset=$(jq -ce --arg name "${OTA_FILE:-}" '[.assets[] | select($name == "" or .filename == $name)]
    | if length == 1 then .[0] else null end' <<EOF
$info
EOF
  ) || fail "found no file \"${OTA_FILE:-}\" in $path, or several, expected one; OTA_FILE names it"
}

# of_asset FIELD: what the hub says about the file.
of_asset() {
  jq -r "$1" <<EOF
$asset
EOF
}
