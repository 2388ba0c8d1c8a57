import type { Arch, Product } from './product.ts'

/** Names of the architectures as `uname -m` prints them. */
const MACHINES: Record<Arch, string> = { x64: 'x86_64', arm64: 'aarch64' }

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
if ! "$node" --version >/dev/null 2>&1; then
  echo "$node does not run on this machine: found Linux $(uname -r) on $(uname -m), expected Linux 4.18 or newer on ${MACHINES[arch]} with glibc 2.28 or newer." >&2
  exit 1
fi
exec "$node" "$home/${script}" "$@"
`
}

/** Makes the shell script that starts a program of a Debian package with the Node of the machine. */
export function systemLauncher(product: Product, script: string): string {
  return `#!/bin/sh\nexec /usr/bin/node /usr/lib/${product}/${script} "$@"\n`
}
