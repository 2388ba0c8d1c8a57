import { existsSync } from 'node:fs'
import { join } from 'node:path'

type Program = {
  path: string
  /** Debian packages that contain the program. */
  debian: readonly string[]
}

/** External programs that tests run. `npm run test:setup` installs them. Tests never install programs. */
export const PROGRAMS = {
  adduser: { path: '/usr/sbin/adduser', debian: ['adduser'] },
  'apt-get': { path: '/usr/bin/apt-get', debian: ['apt'] },
  caddy: { path: '/usr/bin/caddy', debian: ['caddy'] },
  curl: { path: '/usr/bin/curl', debian: ['curl'] },
  'deb-systemd-helper': { path: '/usr/bin/deb-systemd-helper', debian: ['init-system-helpers'] },
  'dpkg-deb': { path: '/usr/bin/dpkg-deb', debian: ['dpkg'] },
  haproxy: { path: '/usr/sbin/haproxy', debian: ['haproxy'] },
  ip: { path: '/usr/sbin/ip', debian: ['iproute2'] },
  jq: { path: '/usr/bin/jq', debian: ['jq'] },
  'mkfs.ext4': { path: '/usr/sbin/mkfs.ext4', debian: ['e2fsprogs'] },
  'nats-server': { path: '/usr/sbin/nats-server', debian: ['nats-server'] },
  nginx: { path: '/usr/sbin/nginx', debian: ['nginx-light'] },
  'libraries for arm64': {
    path: '/usr/aarch64-linux-gnu/lib/libstdc++.so.6',
    debian: ['libstdc++6-arm64-cross'],
  },
  openssl: { path: '/usr/bin/openssl', debian: ['openssl'] },
  pgbouncer: { path: '/usr/sbin/pgbouncer', debian: ['pgbouncer'] },
  promtool: { path: '/usr/bin/promtool', debian: ['prometheus'] },
  'qemu-aarch64': { path: '/usr/bin/qemu-aarch64-static', debian: ['qemu-user-static'] },
  'swift-account': { path: '/usr/bin/swift-account-server', debian: ['swift-account'] },
  'swift-container': { path: '/usr/bin/swift-container-server', debian: ['swift-container'] },
  'swift-object': { path: '/usr/bin/swift-object-server', debian: ['swift-object'] },
  'swift-proxy': { path: '/usr/bin/swift-proxy-server', debian: ['swift-proxy'] },
  'systemd-analyze': { path: '/usr/bin/systemd-analyze', debian: ['systemd'] },
  useradd: { path: '/usr/sbin/useradd', debian: ['passwd'] },
} as const satisfies Record<string, Program>

/** Python environment that `npm run test:setup` makes for schemathesis, the fuzzer of OpenAPI documents. */
export const SCHEMATHESIS_FOLDER = join(import.meta.dirname, '../../node_modules/.cache/schemathesis')

/** Returns whether all these programs are installed. Tests that need a missing program are skipped. */
export function hasPrograms(...names: (keyof typeof PROGRAMS)[]): boolean {
  return names.every(name => existsSync(PROGRAMS[name].path))
}
