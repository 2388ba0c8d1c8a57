import { spawnSync } from 'node:child_process'
import { copyFile, mkdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadDeviceCertificate } from './certificate.ts'
import { temporaryFolder } from './testing/temporary-folder.ts'

/** Mounts a file system image. Returns undefined where mounting is not permitted. */
function mount(image: string, path: string): AsyncDisposable | undefined {
  if (spawnSync('/usr/bin/mount', ['-o', 'loop', image, path]).status !== 0) return undefined
  return { [Symbol.asyncDispose]: async () => void spawnSync('/usr/bin/umount', ['-l', path]) }
}

it('a certificate that a hub may have seen survives a power failure', async context => {
  await using folder = await temporaryFolder()
  const [image, crashed] = [join(folder.path, 'disk'), join(folder.path, 'crashed')]
  const [before, after] = [join(folder.path, 'before'), join(folder.path, 'after')]
  for (const path of [before, after]) await mkdir(path)
  await writeFile(image, '')
  await truncate(image, 16 * 1024 * 1024)
  spawnSync('/usr/sbin/mkfs.ext4', ['-q', '-F', image])
  await using disk = mount(image, before)
  if (!disk) return context.skip()
  const ssl = (path: string) => [join(path, 'agent/ssl/cert.pem'), join(path, 'agent/ssl/key.pem')] as const
  const { certificatePem, keyPem } = await loadDeviceCertificate(...ssl(before))
  // The image file contains only what has reached the simulated disk, so a copy of it is the state after a power failure.
  await copyFile(image, crashed)
  await using _found = mount(crashed, after)
  expect(await readFile(ssl(after)[0], 'utf8')).toBe(certificatePem)
  expect(await readFile(ssl(after)[1], 'utf8')).toBe(keyPem)
})
