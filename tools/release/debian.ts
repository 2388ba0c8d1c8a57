import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { VERSION } from '@muster/actions/version'
import { sourceDate } from './archive.ts'
import { machineCheck, systemLauncher } from './launcher.ts'
import type { Arch, Product } from './product.ts'
import { ROOT, run, runBeside } from './run.ts'
import { writeNodelessNotices } from './tree.ts'

/** Architectures as Debian names them. */
const DEBIAN_ARCHES: Record<Arch, string> = { x64: 'amd64', arm64: 'arm64' }
/** Libraries that Node and the embedded PostgreSQL need. */
const LIBRARIES = 'libc6 (>= 2.28), libgcc-s1, libstdc++6'

type Package = {
  section: string
  depends: string
  description: string
  /** Program in `/usr/bin`, and the file of the package that it leads to. */
  program: [name: string, file: string]
  /** systemd units of this checkout. */
  units?: string[]
  /** Configuration file below `deploy/debian/PACKAGE`, and its path on the machine. */
  conffile?: [from: string, to: string]
  /** Empty folders with their modes. */
  folders?: Record<string, number>
}

const PACKAGES: Record<Product, Package> = {
  'muster-hub': {
    section: 'net',
    depends: `${LIBRARIES}, adduser, init-system-helpers, systemd (>= 247)`,
    description: 'self-hosted hub for fleets of connected devices',
    program: ['muster-hub', 'deploy/systemd/muster-hub'],
    units: [
      'deploy/systemd/muster-hub.service',
      'deploy/systemd/muster-hub-backup.service',
      'deploy/systemd/muster-hub-backup.timer',
    ],
    conffile: ['hub.toml', '/etc/muster/hub.toml'],
    folders: { '/etc/muster': 0o750, '/etc/muster/secrets': 0o750 },
  },
  'muster-agent': {
    section: 'net',
    depends: `${LIBRARIES}, init-system-helpers, systemd (>= 247)`,
    description: 'agent that connects this device to a Muster hub',
    program: ['muster-agent', 'bin/muster-agent'],
    units: ['apps/agent/examples/muster-agent.service'],
    folders: { '/etc/nexigon': 0o755, '/etc/nexigon/agent': 0o700 },
  },
  'muster-cli': {
    section: 'utils',
    depends: LIBRARIES,
    description: 'command line of a Muster hub',
    program: ['muster', 'bin/muster'],
  },
}

/** Version of the packages. Debian sorts `1.0~rc.1` before `1.0`. */
const DEBIAN_VERSION = VERSION.replace('-', '~')

/**
 * Makes the Debian packages of a program in `out` from the folder that `writeTree` wrote, which is moved away. Returns their files. The
 * agent has a second, small package for devices that have Node 24 or newer.
 */
export async function writeDebianPackages(
  product: Product,
  arch: Arch,
  tree: string,
  out: string,
  downloads: string,
): Promise<string[]> {
  const root = `${tree}.debian`
  const lib = join(root, 'usr/lib', product)
  mkdirSync(dirname(lib), { recursive: true })
  renameSync(tree, lib)
  const { depends } = PACKAGES[product]
  const files = [await writePackage(product, product, arch, depends, root, out)]
  if (product === 'muster-agent') {
    rmSync(join(lib, 'node'), { recursive: true })
    writeNodelessNotices(product, arch, lib, downloads)
    writeFileSync(join(lib, 'bin/muster-agent'), systemLauncher('muster-agent', 'lib/muster-agent.mjs'))
    const needs = 'nodejs (>= 24), init-system-helpers, systemd (>= 247)'
    files.push(await writePackage(product, 'muster-agent-nodeless', 'all', needs, root, out))
  }
  rmSync(root, { recursive: true })
  return files
}

async function writePackage(
  product: Product,
  name: string,
  arch: Arch | 'all',
  depends: string,
  root: string,
  out: string,
): Promise<string> {
  const { section, description, program, units = [], conffile, folders = {} } = PACKAGES[product]
  const scripts = join(ROOT, 'deploy/debian', product)
  const put = (path: string, content: string | Buffer): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  const link = (path: string, target: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    rmSync(join(root, path), { force: true })
    symlinkSync(target, join(root, path))
  }
  for (const folder of ['DEBIAN', 'usr/share/doc'])
    rmSync(join(root, folder), { recursive: true, force: true })

  link(`usr/bin/${program[0]}`, `../lib/${product}/${program[1]}`)
  for (const unit of units) put(`usr/lib/systemd/system/${basename(unit)}`, readFileSync(join(ROOT, unit)))
  put(`usr/share/doc/${name}/copyright`, readFileSync(join(ROOT, 'LICENSE')))
  put(`usr/share/doc/${name}/changelog.gz`, gzipSync(readFileSync(join(ROOT, 'CHANGELOG.md'))))
  link(`usr/share/doc/${name}/THIRD-PARTY-LICENSES.txt`, `../../../lib/${product}/THIRD-PARTY-LICENSES.txt`)
  if (product === 'muster-hub')
    link(`usr/share/doc/${name}/operating.md`, `../../../lib/${product}/docs/operating.md`)
  if (product === 'muster-agent') {
    const examples = join(ROOT, 'apps/agent/examples')
    put('usr/lib/muster-agent/fingerprint', readFileSync(join(examples, 'fingerprint')))
    chmodSync(join(root, 'usr/lib/muster-agent/fingerprint'), 0o755)
    put(`usr/share/doc/${name}/agent.toml`, readFileSync(join(examples, 'agent.toml')))
    link(`usr/share/doc/${name}/examples`, `../../../lib/${product}/examples`)
  }
  if (conffile) put(conffile[1], readFileSync(join(scripts, conffile[0])))
  for (const folder of Object.keys(folders)) mkdirSync(join(root, folder), { recursive: true })
  run('chmod', ['-R', 'u=rwX,go=rX', root])
  if (conffile) chmodSync(join(root, conffile[1]), 0o640)
  for (const [folder, mode] of Object.entries(folders)) chmodSync(join(root, folder), mode)

  const installed = readdirSync(root, { recursive: true, withFileTypes: true }).filter(entry =>
    entry.isFile(),
  )
  const paths = installed.map(entry => join(entry.parentPath, entry.name)).sort()
  const sizeBytes = paths.reduce((sum, path) => sum + statSync(path).size, 0)
  const isNodeless = arch === 'all'
  const debianArch = isNodeless ? arch : DEBIAN_ARCHES[arch]
  put(
    'DEBIAN/control',
    [
      `Package: ${name}`,
      `Version: ${DEBIAN_VERSION}`,
      `Architecture: ${debianArch}`,
      'Maintainer: The Muster project',
      `Section: ${section}`,
      'Priority: optional',
      `Installed-Size: ${Math.ceil(sizeBytes / 1024)}`,
      `Depends: ${depends}`,
      ...(isNodeless ? [`Provides: ${product} (= ${DEBIAN_VERSION})`] : []),
      ...(product === 'muster-agent'
        ? [`Conflicts: nexigon-agent, ${isNodeless ? product : `${product}-nodeless`}`]
        : []),
      ...(product === 'muster-agent' ? [`Replaces: ${isNodeless ? product : `${product}-nodeless`}`] : []),
      `Description: ${description}`,
      isNodeless ? ' This package uses the Node of the machine.' : ' This package brings its own Node.',
      '',
    ].join('\n'),
  )
  const md5 = (path: string): string => createHash('md5').update(readFileSync(path)).digest('hex')
  put('DEBIAN/md5sums', paths.map(path => `${md5(path)}  ${relative(root, path)}\n`).join(''))
  if (conffile) put('DEBIAN/conffiles', `${conffile[1]}\n`)
  // When a preinst fails, dpkg leaves the version before in place and running.
  const check = isNodeless ? '' : machineCheck(arch, name)
  for (const script of ['preinst', 'postinst', 'prerm', 'postrm']) {
    const from = join(scripts, script)
    const text = existsSync(from) ? readFileSync(from, 'utf8') : undefined
    const code = script === 'preinst' ? withCheck(text, check) : text
    if (code === undefined) continue
    put(
      `DEBIAN/${script}`,
      code.replace('@NEWEST_MIGRATION@', () => newestMigration(root)),
    )
    chmodSync(join(root, 'DEBIAN', script), 0o755)
  }
  const file = join(out, `${name}_${DEBIAN_VERSION}_${debianArch}.deb`)
  // Level 1 of xz makes a package that is 5 % larger than the default level, in a third of the time.
  await runBeside('dpkg-deb', ['--build', '--root-owner-group', '-Zxz', '-z1', root, file], {
    SOURCE_DATE_EPOCH: sourceDate(),
  })
  return file
}

/** Puts the check of the machine at the beginning of a preinst; undefined if there is neither. */
function withCheck(preinst: string | undefined, check: string): string | undefined {
  if (check === '') return preinst
  const head = '#!/bin/sh\nset -e\n'
  return `${head}${check}${preinst?.slice(head.length) ?? ''}`
}

/** Name of the newest migration of the hub. */
function newestMigration(root: string): string {
  return readdirSync(join(root, 'usr/lib/muster-hub/apps/hub/src/platform/database/migrations'))
    .sort()
    .at(-1)!
}
