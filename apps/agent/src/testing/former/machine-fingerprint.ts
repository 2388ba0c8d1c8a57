import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from '../../config-error.ts'
import { codeOf } from '../../describe-error.ts'
import { createFileOnce } from '../../file-once.ts'
import { fingerprintOf } from '../../fingerprint.ts'

type Identity = { salt: string; machineId?: string }

/**
 * The fingerprint of a device without a fingerprint script: its machine id, salted with random bytes stored in the data
 * folder. Reasons:
 *
 * - The machine id is included, so that a copied disk image becomes another device once the copy has its own machine
 * id.
 * - The salt keeps the fingerprint secret, because every user of a machine may read the machine id. With different salts, two
 * data folders on one machine are two devices. As one device they would replace each other's connections for ever.
 * - Token and address of the hub are not included: a rotated token or a moved hub must not make a new device. Devices
 * are looked up within the token's project, so another project still gets a device of its own.
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
  // Decides at creation whether the machine id is used, because a machine id that appears later must not change the fingerprint.
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
    // Text that is not JSON is reported below, like any other invalid content.
  }
  throw new ConfigError(
    `${path}: found invalid content, expected the identity of this device; restore it, or delete it to become a new device`,
  )
}

async function readMachineId(path: string): Promise<string | undefined> {
  // The file is empty or contains "uninitialized" until the first boot is complete (machine-id(5)).
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
