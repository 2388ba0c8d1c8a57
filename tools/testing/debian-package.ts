import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../release/run.ts'

/** Copies a Debian package with other control fields, such as another version. The files in it stay as they are. */
export function copyPackageAs(file: string, to: string, fields: Record<string, string>): void {
  const folder = mkdtempSync(join(tmpdir(), 'muster-package-'))
  try {
    run('dpkg-deb', ['--control', file, join(folder, 'control')])
    const path = join(folder, 'control/control')
    let text = readFileSync(path, 'utf8')
    for (const [name, value] of Object.entries(fields))
      text = text.replace(new RegExp(`^${name}: .*$`, 'm'), `${name}: ${value}`)
    writeFileSync(path, text)
    const archive = join(folder, 'control.tar.gz')
    run('tar', [
      '--create',
      '--gzip',
      '--owner=0',
      '--group=0',
      `--file=${archive}`,
      `--directory=${folder}/control`,
      '.',
    ])
    const [version, , data] = membersOf(readFileSync(file))
    const control: Member = { name: 'control.tar.gz', content: readFileSync(archive) }
    writeFileSync(to, Buffer.concat([Buffer.from(MAGIC), ...[version!, control, data!].map(packed)]))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** File in an `ar` archive, which a Debian package is. */
type Member = { name: string; content: Buffer }

const MAGIC = '!<arch>\n'
/** Bytes of the header of a member, of which 16 hold its name and 10 the size of its content. */
const HEADER = { size: 60, name: 16, sizeAt: 48, sizeLength: 10 }

function membersOf(archive: Buffer): Member[] {
  const members: Member[] = []
  for (let at = MAGIC.length; at < archive.length; ) {
    const header = archive.toString('latin1', at, at + HEADER.size)
    const size = Number(header.slice(HEADER.sizeAt, HEADER.sizeAt + HEADER.sizeLength))
    const from = at + HEADER.size
    members.push({ name: header.slice(0, HEADER.name).trim(), content: archive.subarray(from, from + size) })
    // Members begin at even offsets.
    at = from + size + (size % 2)
  }
  return members
}

function packed({ name, content }: Member): Buffer {
  const size = String(content.length).padEnd(HEADER.sizeLength)
  const header = `${name.padEnd(HEADER.name)}${'0'.padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${size}\`\n`
  return Buffer.concat([Buffer.from(header), content, Buffer.from(content.length % 2 ? '\n' : '')])
}
