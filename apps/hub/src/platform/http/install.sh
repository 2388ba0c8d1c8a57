#!/bin/sh
# Installs Muster's agent on this device as a systemd service. Run it as root:
#
#   sh install.sh                      asks for the deployment token
#   sh install.sh --token-file FILE    reads the token from a file of mode 0600
#   sh install.sh --proxy-url URL      reaches the hub through an HTTP proxy; without it HTTPS_PROXY, HTTP_PROXY and NO_PROXY count
#   sh install.sh --uninstall          removes the files that it made and that are unchanged
#   sh install.sh --uninstall --purge  removes the identity of the device as well
#
# All lines but the last only define functions. The last line calls main, so a download that was cut off does nothing.

main() {
  set -eu
  umask 077
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  LC_ALL=C
  export PATH LC_ALL

  hub='@MUSTER_PUBLIC_URL@'
  device_hub='@MUSTER_DEVICE_URL@'
  lib=/usr/lib/muster-agent
  new=$lib/new
  program=/usr/bin/muster-agent
  unit=/etc/systemd/system/muster-agent.service
  config=/etc/nexigon/agent.toml
  ssl=/etc/nexigon/agent/ssl
  state=/var/lib/muster-agent
  # Installed files, one per line: `file`, the SHA-256 or `-` if it is not known yet, and the path. Folders have lines, too. Another
  # agent may write to these places after a run that was cut off, so `-` alone does not show that this script made a file.
  list=$state/files
  terminal=''
  undo=''

  task=install
  purge=''
  token_file=''
  proxy=''
  while [ $# -gt 0 ]; do
    case $1 in
      --token-file)
        [ $# -ge 2 ] || stop 'Found --token-file without a file, expected --token-file FILE.'
        token_file=$2
        shift
        ;;
      --proxy-url)
        [ $# -ge 2 ] || stop 'Found --proxy-url without an address, expected --proxy-url URL.'
        proxy=$2
        shift
        ;;
      --uninstall) task=uninstall ;;
      --purge) purge=yes ;;
      # The argument is not repeated, because it may be a token.
      *) stop 'Found an unknown argument, expected --token-file FILE, --proxy-url URL, --uninstall or --uninstall --purge. A token is no argument: other accounts can read the arguments of a process.' ;;
    esac
    shift
  done
  [ -z "$purge" ] || [ "$task" = uninstall ] || stop 'Found --purge without --uninstall.'
  [ "$(id -u)" = 0 ] || stop 'Found another account than root, expected root: sudo sh install.sh'

  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  "$task"
}

install() {
  check_machine
  check_files
  choose_proxy
  manifest=$(fetch /install/manifest) || stop "Could not read $hub/install/manifest$through. Nothing was changed."
  choose_node
  printf 'Muster agent %s for %s\n' "$(field version)" "$hub"
  if [ -f "$config" ]; then
    printf 'Keeps %s: %s\n' "$config" "$(grep '^ *hub-url' "$config" || :)"
    [ "$proxy" = "$(configured_proxy)" ] || printf 'The agent keeps its way to the hub: proxy-url in that file changes it.\n'
    [ -z "$token_file" ] || printf 'The token of that file stays in use. For another token run --uninstall first.\n'
  else
    read_token
  fi
  stage
  record
  place
  [ -f "$config" ] || enrol
  undo=''
  listed_as "$new/agent.toml" "$config" >>"$list"
  [ ! -f "$new/unit" ] || mv "$new/unit" "$unit"
  [ ! -f "$new/agent.toml" ] || mv "$new/agent.toml" "$config"
  relabel "$unit" "$config"
  settle
  systemctl daemon-reload
  systemctl enable muster-agent.service
  systemctl restart muster-agent.service
  printf 'The agent runs as muster-agent.service. To remove it: sh %s/install.sh --uninstall\n' "$lib"
}

uninstall() {
  [ -f "$list" ] || stop "Found no $list, expected the list of an installation. Nothing was changed."
  if is_listed "$unit" && [ -f "$unit" ]; then systemctl disable --now muster-agent.service || :; fi
  remove_listed
  # systemd made this folder, and the agent keeps events in it that the hub has not received. Another agent of this machine uses it, too.
  [ -z "$purge" ] || there "$config" || there "$ssl/key.pem" || rm -rf /var/lib/nexigon/agent
  rmdir /var/lib/nexigon/agent /var/lib/nexigon 2>/dev/null || :
  systemctl daemon-reload || :
}

stop() {
  printf '%s\n' "$*" >&2
  exit 1
}

clean_up() {
  status=$?
  trap - EXIT
  set +e
  [ -z "$terminal" ] || stty "$terminal" </dev/tty
  if [ -n "$undo" ]; then
    [ "$undo" != all ] || purge=yes
    remove_listed
  fi
  rm -rf "$new"
  rmdir "$lib" 2>/dev/null
  exit "$status"
}

check_machine() {
  if [ ! -d /run/systemd/system ] || ! command -v systemctl >/dev/null; then
    stop 'Found no running systemd, expected a system that systemd has booted. Nothing was changed.'
  fi
  for tool in sha256sum find grep od sed sort stty tr; do
    command -v "$tool" >/dev/null || stop "Found no $tool, expected it to be installed. Nothing was changed."
  done
  can_fetch || stop 'Found neither curl nor a wget with the option --max-redirect, expected curl or GNU wget. Nothing was changed.'
}

# Stops if a place of the installation holds a file that is not in the list. The public Nexigon agent uses the same places.
check_files() {
  foreign=$(
    for place in /etc/nexigon "$lib" "$state"; do foreign_in "$place"; done
    for path in "$program" "$unit"; do
      if there "$path" && ! is_listed "$path"; then printf '%s\n' "$path"; fi
    done
    if there "$program" && is_listed "$program" && ! is_unchanged "$program"; then printf '%s\n' "$program"; fi
  )
  [ -z "$foreign" ] || stop "Found files that this script did not make, or that were replaced since:
$foreign
Remove them, and the software that they belong to, before you install this agent. Nothing was changed."
}

# Prints the files of a folder that are not in the list.
foreign_in() {
  there "$1" || return 0
  find "$1" -path "$new" -prune -o ! -type d ! -path "$list" ! -path "$list.new" -print |
    while IFS= read -r path; do
      is_listed "$path" || printf '%s\n' "$path"
    done
}

there() { [ -e "$1" ] || [ -L "$1" ]; }

is_listed() { [ -f "$list" ] && sed -n 's/^file [^ ]* //p' "$list" | grep -qxF -e "$1"; }

is_unchanged() {
  [ -f "$1" ] && [ ! -L "$1" ] || return 1
  ! grep -qxF -e "file $(digest "$1") $1" "$list" || return 0
  # The agent makes the certificate for the key of the list, so a run that was cut off has no digest of the certificate.
  [ "$1" = "$ssl/cert.pem" ] && grep -qxF -e "file - $1" "$list" && is_unchanged "$ssl/key.pem"
}

digest() { sha256sum <"$1" | sed 's/ .*//'; }

field() { printf '%s\n' "$manifest" | sed -n "s/^$1 //p"; }

# The proxy of the option, else of the configuration that stays, else of the environment. curl and wget read variables in lower case. The
# text becomes a line of the configuration, so it may have no character that ends a text there.
choose_proxy() {
  through=''
  [ -n "$proxy" ] || proxy=$(configured_proxy)
  if [ -z "$proxy" ] && ! is_excluded; then
    case $hub in
      https:*) proxy=${https_proxy:-${HTTPS_PROXY:-}} ;;
      *) proxy=${http_proxy:-${HTTP_PROXY:-}} ;;
    esac
    case $proxy in '' | *://*) ;; *) proxy=http://$proxy ;; esac
  fi
  if [ -z "$proxy" ]; then return 0; fi
  case $proxy in
    *[!A-Za-z0-9._~:/@%+=,!\&*\;-]*) is_url='' ;;
    http://?* | https://?*) is_url=yes ;;
    *) is_url='' ;;
  esac
  # The text is not repeated, because it may hold a password.
  [ -n "$is_url" ] || stop 'Found another text as the proxy, expected http://HOST:PORT, with other characters in a password as %XX. Nothing was changed.'
  host=${proxy##*@}
  through=" through the proxy ${host#*://}"
  https_proxy=$proxy
  http_proxy=$proxy
  no_proxy=''
  NO_PROXY=''
  export https_proxy http_proxy no_proxy NO_PROXY
}

configured_proxy() {
  [ ! -f "$config" ] || sed -n 's/^ *proxy-url *= *"\([^"]*\)".*/\1/p' "$config"
}

# Tells whether NO_PROXY names the hub or a domain of it. A proxy would take this machine's names for its own.
is_excluded() {
  name=${hub#*://}
  name=${name%%[:/]*}
  case $name in localhost | *.localhost | 127.*) return 0 ;; esac
  for entry in $(printf '%s' "${no_proxy:-${NO_PROXY:-}}" | tr ',*' '  '); do
    entry=${entry#.}
    case $name in "$entry" | *".$entry") return 0 ;; esac
  done
  case ,${no_proxy:-${NO_PROXY:-}}, in *,\*,*) return 0 ;; esac
  return 1
}

# Follows no redirect. The hub answers with none, and one to plain HTTP would let anybody on the way replace the files.
fetch() {
  schemes='=http,https'
  only=''
  case $hub in
    https:*)
      schemes='=https'
      only=--https-only
      ;;
  esac
  if command -v curl >/dev/null; then
    curl -fsSL --max-redirs 0 --proto "$schemes" --proto-redir "$schemes" --retry 3 --connect-timeout 20 \
      --speed-limit 1 --speed-time 60 "$hub$1"
  else
    wget -q -T 60 --max-redirect=0 $only -O - "$hub$1"
  fi
}

# BusyBox's wget follows every redirect, also to plain HTTP, and checks no certificate.
can_fetch() {
  command -v curl >/dev/null || wget --help 2>&1 | grep -q -e --max-redirect
}

# Finds Node only in system folders: the service runs as root and must not run a program that another account can replace.
choose_node() {
  for node in /usr/local/bin/node /usr/bin/node; do
    if [ -x "$node" ]; then
      major=$("$node" -p 'process.versions.node.split(".")[0]' 2>/dev/null || :)
      [ "${major:-0}" -lt 24 ] || return 0
    fi
  done
  node=$lib/node
  case $(uname -m) in
    x86_64 | amd64) node_file=node-linux-x64 ;;
    aarch64 | arm64) node_file=node-linux-arm64 ;;
    *) node_file=node-linux-$(uname -m) ;;
  esac
  [ -n "$(field "$node_file")" ] || stop "Found no Node 24 at /usr/bin/node or /usr/local/bin/node, and the hub has none for this machine ($(uname -m)).
Install Node 24, then run this again. Nothing was changed."
  release=$(uname -r)
  minor=${release#*.}
  [ "${release%%.*}" -gt 4 ] || { [ "${release%%.*}" -eq 4 ] && [ "${minor%%[!0-9]*}" -ge 18 ]; } ||
    stop "Found Linux $release, expected Linux 4.18 or newer for the hub's Node, or a Node 24 of this machine. Nothing was changed."
}

# An older systemd loses messages of systemd-notify, whose process has ended when they are read, and would restart the agent for its silence.
is_notified() {
  version=$(systemctl --version | sed -n '1s/^systemd \([0-9]*\).*/\1/p')
  [ "${version:-0}" -ge 247 ] && command -v systemd-notify >/dev/null
}

# The token is only in a variable of this shell and in files of mode 0600. Other accounts may read arguments of a process.
read_token() {
  token=''
  if [ -n "$token_file" ]; then
    [ -f "$token_file" ] && [ ! -L "$token_file" ] || stop "Found no file $token_file, expected one with the token. Nothing was changed."
    case $(ls -ld -- "$token_file") in
      -rw-------*) ;;
      *) stop "Found another mode of $token_file, expected 0600: chmod 600 $token_file. Nothing was changed." ;;
    esac
    read -r token <"$token_file" || :
  else
    (: </dev/tty) 2>/dev/null || stop 'Found no terminal to ask for the token, expected --token-file FILE. Nothing was changed.'
    # The echo is off before the prompt appears, so that a token that is pasted at once is not shown.
    terminal=$(stty -g </dev/tty)
    stty -echo </dev/tty
    printf 'Deployment token: ' >/dev/tty
    read -r token </dev/tty || :
    stty "$terminal" </dev/tty
    terminal=''
    printf '\n' >/dev/tty
  fi
  token=${token%"$(printf '\r')"}
  case ${token#deployment_} in
    "$token" | *[!1-9A-HJ-NP-Za-km-z]*) is_token='' ;;
    *) is_token=yes ;;
  esac
  [ -n "$is_token" ] && [ ${#token} -eq 77 ] ||
    stop "Found a text of ${#token} characters, expected a deployment token: deployment_ and 66 characters. Nothing was changed."
}

# Prepares all files in the folder $new. Files outside of it are written only after all of these are complete.
stage() {
  rm -rf "$new"
  mkdir -p "$new"
  chmod 755 "$lib"
  download /muster-agent muster-agent agent.mjs 644
  download /install.sh install.sh install.sh 755
  if [ "$node" = "$lib/node" ]; then
    sum=$(field "$node_file")
    if [ -f "$node" ] && [ "$(digest "$node")" = "$sum" ]; then
      cp "$node" "$new/node"
      chmod 755 "$new/node"
    else
      printf 'Downloads Node, because Node 24 is not installed.\n'
      download /install/node "$node_file" node 755
    fi
    "$new/node" --version >/dev/null 2>&1 || stop "The hub's Node does not run on this machine. Install Node 24, then run this again. Nothing was changed."
  fi
  cat >"$new/program" <<END
#!/bin/sh
exec $node $lib/agent.mjs "\$@"
END
  cat >"$new/fingerprint" <<'END'
@MUSTER_FINGERPRINT@
END
  chmod 755 "$new/program" "$new/fingerprint"
  if [ ! -s "$state/salt" ]; then
    # The script takes a salt without a source for one of an earlier version.
    sh "$new/fingerprint" --source >"$new/source"
    chmod 600 "$new/source"
    od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$new/salt"
  fi
  if [ ! -f "$ssl/key.pem" ]; then
    runtime=$node
    [ ! -f "$new/node" ] || runtime=$new/node
    "$runtime" -p 'require("crypto").generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).trim()' >"$new/key.pem"
  fi
  if [ -f "$unit" ] && ! is_unchanged "$unit"; then
    printf 'Keeps %s, which was changed.\n' "$unit"
  else
    cat >"$new/unit" <<'END'
@MUSTER_AGENT_UNIT@
END
    if ! is_notified; then
      grep -E '^(\[.*\]|(Description|Wants|After|ConditionPathExists|ExecStart|Restart|RestartSec|WantedBy)=.*|)$' \
        "$new/unit" >"$new/plain-unit"
      mv "$new/plain-unit" "$new/unit"
    fi
    chmod 644 "$new/unit"
  fi
  if [ ! -f "$config" ]; then
    plaintext=''
    proxy_line=''
    [ -z "$proxy" ] || proxy_line="proxy-url = \"$proxy\""
    case $hub in http:*) plaintext='dangerous-allow-plaintext = true' ;; esac
    # A here-document hides the token. In some shells `printf` is a separate program, and other accounts can read its arguments.
    cat >"$new/agent.toml" <<END
# Written by $hub/install.sh. Installing again keeps this file.
hub-url = "$device_hub"
token = "$token"
fingerprint-script = "$lib/fingerprint"
$plaintext
$proxy_line
END
  fi
}

# Downloads a file of the hub and compares its digest: path, name in the manifest, file and mode.
download() {
  fetch "$1" >"$new/$3" || stop "Could not download $hub$1$through. Nothing was changed."
  [ "$(digest "$new/$3")" = "$(field "$2")" ] ||
    stop "Found another digest of $hub$1 than in its manifest, perhaps because the hub was just upgraded. Nothing was changed. Run this again."
  chmod "$4" "$new/$3"
}

# Adds all files to the list before they are moved into place. So after a crash the next run knows that this script made them.
record() {
  made=$(
    listed_as "$new/agent.mjs" "$lib/agent.mjs"
    listed_as "$new/install.sh" "$lib/install.sh"
    listed_as "$new/fingerprint" "$lib/fingerprint"
    listed_as "$new/node" "$lib/node"
    listed_as "$new/program" "$program"
    listed_as "$new/unit" "$unit"
    listed_as "$new/salt" "$state/salt"
    listed_as "$new/source" "$state/source"
    listed_as "$new/key.pem" "$ssl/key.pem"
  )
  mkdir -p "$state"
  # Until the hub has accepted the device, a failure removes what this run made. The identity of an earlier installation stays.
  if [ ! -f "$list" ]; then undo=all; elif [ ! -f "$config" ]; then undo=programs; fi
  {
    if [ -f "$list" ]; then cat "$list"; fi
    for folder in /etc/nexigon /etc/nexigon/agent "$ssl"; do
      [ -d "$folder" ] || printf 'folder - %s\n' "$folder"
    done
    printf '%s\n' "$made"
    is_listed "$ssl/cert.pem" || printf 'file - %s\n' "$ssl/cert.pem"
  } | sort -u >"$list.new"
  mv "$list.new" "$list"
}

listed_as() {
  [ ! -f "$1" ] || printf 'file %s %s\n' "$(digest "$1")" "$2"
}

place() {
  for file in agent.mjs install.sh fingerprint; do mv "$new/$file" "$lib/$file"; done
  if [ -f "$new/node" ]; then mv "$new/node" "$lib/node"; else rm -f "$lib/node"; fi
  mv "$new/program" "$program"
  for folder in /etc/nexigon /etc/nexigon/agent; do
    [ -d "$folder" ] || { mkdir "$folder" && chmod 755 "$folder"; }
  done
  [ -d "$ssl" ] || mkdir "$ssl"
  [ ! -f "$new/source" ] || mv "$new/source" "$state/source"
  [ ! -f "$new/salt" ] || mv "$new/salt" "$state/salt"
  [ ! -f "$new/key.pem" ] || mv "$new/key.pem" "$ssl/key.pem"
  relabel "$lib" "$program" /etc/nexigon
}

# Sets the default SELinux labels of files, if SELinux is installed.
relabel() {
  if command -v restorecon >/dev/null; then restorecon -R "$@" || :; fi
}

# Connects once before the unit and the configuration are in place. If the hub refuses the token, clean_up removes the new files.
enrol() {
  if answer=$("$program" device id --config "$new/agent.toml" 2>"$new/errors"); then
    printf 'The hub has accepted this device as %s\n' "$answer"
    return 0
  fi
  answer=$(sed 's/^[^ ]* error //' "$new/errors")
  case $answer in
    *'certificate is pending'*) printf 'The hub knows this device. It waits until somebody accepts its certificate in the console.\n' ;;
    *) stop "The hub did not accept this device: $answer
What this run installed is removed again." ;;
  esac
}

# Replaces the list by the files that are in place after the installation, with their final digests.
settle() {
  {
    grep '^folder ' "$list" || :
    printf '%s\n' "$made"
    for path in "$unit" "$config" "$state/salt" "$state/source" "$ssl/key.pem" "$ssl/cert.pem"; do
      if grep -qxF -e "file - $path" "$list"; then
        listed_as "$path" "$path"
      else
        case $made in *" $path"*) ;; *) grep -F -e " $path" "$list" || : ;; esac
      fi
    done
  } | sort -u >"$list.new"
  mv "$list.new" "$list"
}

# Removes the unchanged files of the list, and the identity only with --purge. Files that stay remain in the list.
remove_listed() {
  if [ -n "$purge" ]; then
    foreign=$(foreign_in /etc/nexigon)
    if [ -n "$foreign" ]; then
      printf 'Keeps the identity of this device, because other software uses /etc/nexigon:\n%s\n' "$foreign" >&2
      purge=''
    fi
  fi
  while read -r kind sum path; do
    [ "$kind" = file ] && there "$path" || continue
    case $path in
      "$state"/* | "$ssl"/*)
        if [ -z "$purge" ]; then
          printf '%s\n' "$kind $sum $path"
          continue
        fi
        ;;
    esac
    if is_unchanged "$path"; then
      rm -f "$path"
    else
      printf 'Keeps %s, which was changed.\n' "$path" >&2
      printf '%s\n' "$kind $sum $path"
    fi
  done <"$list" >"$list.new"
  sed -n 's/^folder - //p' "$list" | sort -r | while IFS= read -r folder; do
    rmdir "$folder" 2>/dev/null || [ ! -d "$folder" ] || printf 'folder - %s\n' "$folder"
  done >>"$list.new"
  rmdir "$lib" 2>/dev/null || :
  if grep -q '^file ' "$list.new"; then
    mv "$list.new" "$list"
    grep -q "^file [^ ]* $state/salt\$" "$list" && printf 'Keeps the identity of this device. To remove it: sh install.sh --uninstall --purge\n' >&2 || :
  else
    rm -f "$list.new" "$list"
    rmdir "$state" 2>/dev/null || :
  fi
}

{ main "$@"; }
