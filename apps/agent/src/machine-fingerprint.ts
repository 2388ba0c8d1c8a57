import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from './config-error.ts'
import { codeOf } from './describe-error.ts'
import { createFileOnce } from './file-once.ts'
import { fingerprintOf } from './fingerprint.ts'
import { pickSource, SOURCES, type Source, valuesOf } from './machine-sources.ts'

/**
 * Identity of a device in its data folder. `source` names what identifies the machine, and `value` is what it said when the folder was
 * made. `others` are further values of that time, such as the addresses of other network adapters: one that is still there shows that the
 * machine is the same. Without a source the folder is of an earlier version, which always took the machine id. `machineId` is random, for a machine
 * without any source.
 */
type Identity = { salt: string; machineId?: string; source?: Source; value?: string; others?: string[] }

/**
 * The fingerprint of a device without a fingerprint script: something that its machine has, salted with random bytes stored in the data
 * folder. Reasons:
 *
 * - A value of the machine is included, so that a copied disk image becomes another device on another machine.
 * - The salt keeps the fingerprint secret, because every user of a machine may read most of these values. With different salts, two
 * data folders on one machine are two devices. As one device they would replace each other's connections for ever.
 * - Token and address of the hub are not included: a rotated token or a moved hub must not make a new device. Devices
 * are looked up within the token's project, so another project still gets a device of its own.
 *
 * The source is picked once and stored, because a source that appears later must not change the fingerprint. `root` is the folder in which
 * `sys`, `proc` and `etc` are.
 */
export async function machineFingerprint(dataDir: string, root = '/'): Promise<string> {
  const path = join(dataDir, 'identity.json')
  const identity = (await readIdentity(path)) ?? (await createIdentity(path, root))
  return fingerprintOf(
    Buffer.from(`muster-agent ${await machineValue(identity, path, root)} ${identity.salt}\n`),
  )
}

/** Value of the machine for its identity. */
async function machineValue(identity: Identity, path: string, root: string): Promise<string> {
  if (identity.machineId !== undefined) return identity.machineId
  if (identity.source !== undefined && identity.value !== undefined) {
    const values = await valuesOf(identity.source, root)
    // On another machine, such as one with a copy of this disk, the source has only other values. A network adapter that is absent at this
    // start, or a value that cannot be read, is no other machine.
    const known = [identity.value, ...(identity.others ?? [])]
    const isSame = values.length === 0 || values.some(value => known.includes(value))
    return isSame ? identity.value : values[0]!
  }
  const machineIdPath = join(root, 'etc/machine-id')
  const machineId = await readMachineId(machineIdPath)
  if (machineId === undefined) {
    throw new ConfigError(
      `${machineIdPath}: found no machine id, expected the one that this device's identity in ${path} was made with`,
    )
  }
  return machineId
}

async function createIdentity(path: string, root: string): Promise<Identity> {
  const salt = randomBytes(32).toString('hex')
  const picked = await pickSource(root)
  const identity: Identity =
    picked === undefined
      ? { salt, machineId: randomBytes(16).toString('hex') }
      : // Every program may read the machine id again, so it is not copied.
        picked.source === 'machine-id'
        ? { salt, source: picked.source }
        : { salt, ...picked }
  await createFileOnce(path, `${JSON.stringify(identity)}\n`)
  return (await readIdentity(path)) ?? identity
}

async function readIdentity(path: string): Promise<Identity | undefined> {
  const text = await readIfThere(path)
  if (text === undefined) return undefined
  try {
    const { salt, machineId, source, value, others } = JSON.parse(text) as Record<keyof Identity, unknown>
    const hasSource = source === undefined || SOURCES.some(one => one === source)
    const hasValue = value === undefined || (typeof value === 'string' && value !== '')
    const hasOthers =
      others === undefined || (Array.isArray(others) && others.every(other => typeof other === 'string'))
    const needsValue = source !== undefined && source !== 'machine-id'
    if (
      isHex(salt, 64) &&
      (machineId === undefined || isHex(machineId, 32)) &&
      hasSource &&
      hasValue &&
      hasOthers
    ) {
      if (!needsValue || value !== undefined) return JSON.parse(text) as Identity
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
