import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseExact, RawJson } from '@muster/actions/exact-json'
import type { InstanceKey } from '../credentials/instance-key.ts'

/**
 * How audit rows become hashes, and seals a chain (docs/operating.md, "Audit log"): what is written here must never change for
 * rows that are sealed.
 */

/** An audit row in the form that is hashed. */
export type SealedRow = {
  id: string
  /** Time and id: the order of rows in a seal. */
  place: string
  /** JSON text of all its values; formatting and order of keys do not count. */
  value: string
}

/** What a seal says about its rows; times as `timeText` gives them, hashes of 32 bytes. */
export type Seal = {
  sealNo: number
  actionCount: number
  eventCount: number
  rowsHash: Buffer
  previousHash: Buffer
  newestAt: string
  sealedAt: string
}

/** What the first seal follows. */
export const NO_HASH: Buffer = Buffer.alloc(32)

/** An Ed25519 private key around its seed of 32 bytes (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

/** SQL that tells a time to the microsecond, the same on every server. */
export function timeText(expression: string): string {
  return `to_char(${expression} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
}

/** SQL of the columns of `SealedRow` for an audit action. */
export const SEALED_ACTION = sealedColumns('action_id', [
  "'action'",
  'action_id',
  'action',
  'actor',
  'actor_id',
  'data',
  'status',
  'node_id',
  'request_id',
  timeText('created_at'),
  timeText('finished_at'),
])

/** SQL of the columns of `SealedRow` for an audit event. */
export const SEALED_EVENT = sealedColumns('event_id', [
  "'event'",
  'event_id',
  'event',
  'actor',
  'actor_id',
  'data',
  'action_id',
  'job_id',
  'user_id',
  'organization_id',
  'project_id',
  'repository_id',
  'device_id',
  timeText('created_at'),
])

/** SQL of the columns of `Seal`. */
export const SEAL = `seal_no::float8 as "sealNo", action_count as "actionCount", event_count as "eventCount",
  rows_hash as "rowsHash", previous_hash as "previousHash",
  ${timeText('newest_at')} as "newestAt", ${timeText('sealed_at')} as "sealedAt"`

function sealedColumns(id: string, values: string[]): string {
  return `${id} as id, ${timeText('created_at')} || ' ' || ${id} as place, json_build_array(${values.join(', ')})::text as value`
}

/** Rows hashed in one turn of the event loop: a few milliseconds of it. */
const HASHED_PER_TURN = 100

/**
 * Each row's hash, in the order of a seal: the actions, then the events, each by time and id. Thousands of rows take a tenth of a
 * second; others have their turns meanwhile.
 */
export async function hashRows(
  actions: SealedRow[],
  events: SealedRow[],
): Promise<{ id: string; hash: Buffer }[]> {
  const hashes: { id: string; hash: Buffer }[] = []
  for (const { id, value } of [...inOrder(actions), ...inOrder(events)]) {
    if (hashes.length % HASHED_PER_TURN === 0) await nextTurn()
    hashes.push({ id, hash: sha256(canonical(parseExact(value))) })
  }
  return hashes
}

/** Hash of a seal: of its rows' hash, the hash of the seal before and what else it says. */
export function hashSeal(seal: Seal): Buffer {
  const { sealNo, actionCount, eventCount, rowsHash, previousHash, newestAt, sealedAt } = seal
  return sha256(
    canonical([
      'muster audit seal 1',
      sealNo,
      actionCount,
      eventCount,
      rowsHash.toString('hex'),
      previousHash.toString('hex'),
      newestAt,
      sealedAt,
    ]),
  )
}

/** Hash of the removal of a seal's rows by retention, which is signed like the seal. */
export function hashRemoval(sealHash: Buffer, removedAt: string): Buffer {
  return sha256(canonical(['muster audit removal 1', sealHash.toString('hex'), removedAt]))
}

/** The keys of an instance's seals: who has the public one can check them, who has the instance key can make them. */
export class SealKeys {
  readonly #private: KeyObject
  readonly #public: KeyObject
  readonly #previous: KeyObject | undefined

  /** `previous` was the instance's key before: what it signed counts too. */
  constructor(key: InstanceKey, previous?: InstanceKey) {
    this.#private = privateKey(key)
    this.#public = createPublicKey(this.#private)
    this.#previous = previous && createPublicKey(privateKey(previous))
  }

  sign(hash: Buffer): Buffer {
    return sign(null, hash, this.#private)
  }

  isSigned(hash: Buffer, signature: Buffer): boolean {
    return [this.#public, this.#previous].some(key => key && verify(null, hash, key, signature))
  }

  /** The public key as base64 of its DER form. */
  get publicKey(): string {
    return this.#public.export({ format: 'der', type: 'spki' }).toString('base64')
  }
}

function privateKey(key: InstanceKey): KeyObject {
  const der = Buffer.concat([PKCS8_PREFIX, key('audit seal')])
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

function inOrder(rows: SealedRow[]): SealedRow[] {
  return rows.toSorted((a, b) => (a.place < b.place ? -1 : 1))
}

/** JSON without white space, keys in the order of their UTF-16 code units, numbers as they are written. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (value instanceof RawJson) return value.text
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`
}

/** SHA-256, in 32 bytes. */
export function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}
