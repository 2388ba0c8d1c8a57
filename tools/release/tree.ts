import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { licenceTexts } from '../licences.ts'
import { packApp } from '../pack-app.ts'
import { billOfMaterials } from '../sbom.ts'
import { shippedPackages } from '../shipped-packages.ts'
import { launcher } from './launcher.ts'
import { copyPackage, downloadMissing } from './packages.ts'
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
  ':(exclude)apps/hub/src/database/fixtures',
  ':(exclude)packages/link/bench',
]

/**
 * Writes all files of a program into the folder `to`: the program, the Node that runs it, licences and bill of materials. Packages of
 * other platforms are downloaded below `downloads`. The console must be built.
 */
export async function writeTree(product: Product, arch: Arch, to: string, downloads: string): Promise<void> {
  const platform = { os: 'linux', cpu: arch }
  const all = downloadMissing(shippedPackages(platform, WORKSPACES[product]), downloads)
  const isNode = ({ name }: { name: string }): boolean => name.startsWith('node-linux-')
  copyPackage(all.find(isNode)!, join(to, 'node'))
  cpSync(join(ROOT, 'LICENSE'), join(to, 'LICENSE'))
  writeFileSync(
    join(to, 'THIRD-PARTY-LICENSES.txt'),
    `${licenceTexts(all.map(one => ({ ...one, path: one.folder })))}\n`,
  )
  const bill = billOfMaterials(platform, WORKSPACES[product])
  writeFileSync(join(to, 'sbom.cdx.json'), `${JSON.stringify(bill, undefined, 2)}\n`)

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
    const own = new Set(shippedPackages(platform, ['apps/hub', 'apps/agent']).map(({ id }) => id))
    for (const shipped of all.filter(one => own.has(one.id) && !isNode(one)))
      copyPackage(shipped, join(to, shipped.path))
    mkdirSync(join(to, 'node_modules/@muster'))
    for (const name of ['actions', 'concurrency', 'link'])
      symlinkSync(`../../packages/${name}`, join(to, 'node_modules/@muster', name))
    writeLauncher('muster-hub', arch, to, 'apps/hub/muster-hub.js')
    writeLauncher('muster-agent', arch, to, 'apps/agent/dist/muster-agent')
  }
}

function writeLauncher(name: string, arch: Arch, to: string, script: string): void {
  mkdirSync(join(to, 'bin'), { recursive: true })
  writeFileSync(join(to, 'bin', name), launcher(arch, script))
  chmodSync(join(to, 'bin', name), 0o755)
}
