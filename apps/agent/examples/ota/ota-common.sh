# Sourced by the scripts beside it: finds the version to install and reports to the hub. Needs curl and jq.
#
# Settings, from the environment (in systemd: /etc/default/muster-ota):
#   MUSTER_AGENT      the agent's program; it reads its own configuration file
#   OTA_PATH          repository/package/tag to follow; the property dev.nexigon.ota.config {"path": …} takes precedence
#   OTA_FILE          name of the file in the version; may be absent when there is only one
#   OTA_STATE_FOLDER  folder of the state, which must survive a reboot

AGENT=${MUSTER_AGENT:-muster-agent}
STATE=${OTA_STATE_FOLDER:-/var/lib/muster-ota}
BOOT=${OTA_BOOT_ID:-$(cat /proc/sys/kernel/random/boot_id)}
path='' installed='' current='' version='' target='' failures=0
FULL="the disk is full, or $STATE cannot be written"

# lock: lets one run at a time work on the state. The kernel releases the lock of flock when the process ends for any reason. Without
# flock a symbolic link to the owner's identity is the lock: creating it is atomic, and the lock of a crashed owner is detected.
lock() {
  mkdir -p "$STATE"
  if command -v flock >/dev/null; then
    exec 9>"$STATE/lock"
    flock -n 9 || busy
    return
  fi
  owner=$(readlink "$STATE/owner" || true)
  if [ -n "$owner" ]; then
    [ "$(identity "${owner%% *}")" != "$owner" ] || busy
    # Several runs may find the same dead owner. Only the one that moves its link away continues.
    mv "$STATE/owner" "$STATE/owner.$$" 2>/dev/null || busy
    moved=$(readlink "$STATE/owner.$$")
    rm "$STATE/owner.$$"
    [ "$moved" = "$owner" ] || { ln -s "$moved" "$STATE/owner" || true; busy; }
  fi
  ln -s "$(identity $$)" "$STATE/owner" 2>/dev/null || busy
  trap 'rm -f "$STATE/owner"' EXIT
}

# identity PID: prints number, start time and boot id of a process, which are unique among all processes. Prints nothing if there is no
# such process.
identity() {
  [ ! -r "/proc/$1/stat" ] || echo "$1 $(sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 20) $BOOT"
}

# busy: ends this run, because another run holds the lock.
busy() {
  echo 'Another run of the update is in progress; this one does nothing.' >&2
  exit 75
}

# property NAME: prints the value of a property as JSON, or null. Fails if the hub is unreachable. The agent's output is not piped to jq,
# because a pipe would hide this failure.
property() {
  found=$("$AGENT" device properties get "$1") || return
  jq -c '.value // null' <<EOF
$found
EOF
}

# report STATE [ERROR]: sets the state that the console shows under "OTA Update Status".
report() {
  status=$(jq -cn --arg path "$path" --arg state "$1" --arg current "$current" --arg target "$target" \
    --argjson failures "$failures" --arg error "${2-}" 'def text: if . == "" then null else . end;
    {config: {path: $path}, state: $state, currentVersion: ($current | text), targetVersion: ($target | text),
      failureCount: $failures, lastError: ($error | text)}')
  "$AGENT" device properties set dev.nexigon.ota.status "$status" >/dev/null
}

# event SEVERITY TEXT: sends an event of the category "ota" to the hub.
event() {
  "$AGENT" events emit --category ota --severity "$1" "$(jq -cn --arg text "$2" '$text')" >/dev/null
}

# fail TEXT: reports the failure to the hub and exits; the next run tries again.
fail() {
  echo "$1" >&2
  recall_failures
  failures=$((failures + 1))
  report failed "$1" || true
  event error "update failed" || true
  keep failures "${version:-$path}" "$failures" || true
  exit 1
}

# complete: stores this version as the installed one.
complete() {
  # The version is stored before the report, so that a lost report causes no second installation. On a full disk the report is still sent.
  keep installed "$version" "$target" || echo "$FULL" >&2
  rm -f "$STATE/failures"
  current=$target failures=0
  report completed
  event info "update completed"
}

# keep NAME LINE…: replaces a small file of the state atomically, or fails and leaves it unchanged.
keep() {
  kept=$STATE/$1
  shift
  printf '%s\n' "$@" >"$kept.new" && mv "$kept.new" "$kept"
}

# line NAME NUMBER: prints a line of a small file of the state, or nothing if the file or line is missing.
line() {
  if [ -f "$STATE/$1" ]; then sed -n "$2p" "$STATE/$1"; fi
}

# Reads how often this version has failed. If the version is not known yet, reads how often the path has failed.
recall_failures() {
  [ "$(line failures 1)" != "${version:-$path}" ] || failures=$(line failures 2)
}

# Compares the installed version with the version of the tag; exits when they are the same.
find_target() {
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
  # Use the id from here on, because the tag may move meanwhile.
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
    # The last report may have been lost, so it is repeated unless the hub shows "completed".
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

# of_asset FIELD: prints a field of the file's record at the hub.
of_asset() {
  jq -r "$1" <<EOF
$asset
EOF
}
