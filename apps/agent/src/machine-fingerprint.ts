import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from './config-error.ts'
import { codeOf } from './describe-error.ts'
import { createFileOnce } from './file-once.ts'
import { fingerprintOf } from './fingerprint.ts'

type Identity = { salt: string; machineId?: string }

/**
 * The fingerprint of a device without a fingerprint script: its machine id, salted with random bytes that the data folder keeps.
 *
 * What goes in and why:
 * - the machine id, so that a copied disk image becomes a device of its own as soon as the copy has its own machine id;
 * - the salt, because every user of a machine may read the machine id, while a fingerprint is a secret; and so that two data folders on
 *   one machine are two devices instead of one whose connections replace each other for ever;
 * - neither the token nor the hub's address: a rotated token or a moved hub must not make a new device. Devices are looked up within
 *   the token's project, so that another project gets a device of its own all the same.
 */
export async function machineFingerprint(
  dataDir: string,
  machineIdPath = '/etc/machine-id',
): Promise<string> {
  const path = join(dataDir, 'identity.json')
  const identity = (await readIdentity(path)) ?? (await createIdentity(path, machineIdPath))
  const machineId = identity.machineId ?? (await readMachineId(machineIdPath))
  if (machineId === undefined) {
    throw new ConfigError(
      `${machineIdPath}: found no machine id, expected the one that this device's identity in ${path} was made with`,
    )
  }
  return fingerprintOf(Buffer.from(`muster-agent ${machineId} ${identity.salt}\n`))
}

async function createIdentity(path: string, machineIdPath: string): Promise<Identity> {
  const salt = randomBytes(32).toString('hex')
  // A machine id that appears later must not change the fingerprint: whether there was one is decided once, here.
  const hasMachineId = (await readMachineId(machineIdPath)) !== undefined
  const identity: Identity = hasMachineId ? { salt } : { salt, machineId: randomBytes(16).toString('hex') }
  await createFileOnce(path, `${JSON.stringify(identity)}\n`)
  return (await readIdentity(path)) ?? identity
}

async function readIdentity(path: string): Promise<Identity | undefined> {
  const text = await readIfThere(path)
  if (text === undefined) return undefined
  try {
    const { salt, machineId } = JSON.parse(text) as Partial<Identity>
    if (isHex(salt, 64) && (machineId === undefined || isHex(machineId, 32))) {
      return machineId === undefined ? { salt } : { salt, machineId }
    }
  } catch {
    // Told below, like every other content that is not ours.
  }
  throw new ConfigError(
    `${path}: found something unreadable, expected the identity of this device; restore it, or delete it to become a new device`,
  )
}

async function readMachineId(path: string): Promise<string | undefined> {
  // Empty or "uninitialized" until the first boot is over (machine-id(5)).
  const text = (await readIfThere(path))?.trim()
  return isHex(text, 32) ? text : undefined
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw new ConfigError(`${path}: found ${codeOf(error)}, expected a readable file`, { cause: error })
  }
}

function isHex(value: unknown, length: number): value is string {
  return typeof value === 'string' && value.length === length && /^[0-9a-f]+$/.test(value)
}
