import type { Arch, Product } from './product.ts'

/** Names of the architectures as `uname -m` prints them. */
const MACHINES: Record<Arch, string> = { x64: 'x86_64', arm64: 'aarch64' }

/**
 * Makes shell code that refuses a machine of another architecture or with an older kernel than the Node of a release needs
 * (https://github.com/nodejs/node/blob/main/BUILDING.md), in one line. It defines `refuse_machine` for Node itself not running. `what` is
 * the subject of that line, in the syntax of a text in double quotes.
 */
export function machineCheck(arch: Arch, what: string): string {
  return `refuse_machine() {
  echo "${what} does not run on this machine: found Linux $kernel on $machine, expected Linux 4.18 or newer on ${MACHINES[arch]} with glibc 2.28 or newer." >&2
  exit 1
}
# As "6.1.0-13-amd64 x86_64". One process, because each start of a program waits for it.
machine=$(uname -rm)
kernel=\${machine%% *}
machine=\${machine##* }
minor=\${kernel#*.}
[ "$machine" = ${MACHINES[arch]} ] || refuse_machine
[ "\${kernel%%.*}" -gt 4 ] || { [ "\${kernel%%.*}" -eq 4 ] && [ "\${minor%%[!0-9]*}" -ge 18 ]; } || refuse_machine
`
}

/**
 * Makes the shell script that starts a program with the Node of its archive. It follows symlinks to itself, so that a link in
 * `/usr/local/bin` works. A machine on which that Node does not run gets one line instead of the dynamic loader's message.
 */
export function launcher(arch: Arch, script: string): string {
  return `#!/bin/sh
set -eu
self=$(readlink -f -- "$0")
home=\${self%/bin/*}
node=$home/node/bin/node
${machineCheck(arch, '$node')}"$node" --version >/dev/null 2>&1 || refuse_machine
exec "$node" "$home/${script}" "$@"
`
}

/** Makes the shell script that starts a program of a Debian package with the Node of the machine. */
export function systemLauncher(product: Product, script: string): string {
  return `#!/bin/sh\nexec /usr/bin/node /usr/lib/${product}/${script} "$@"\n`
}
