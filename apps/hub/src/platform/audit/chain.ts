import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseExact, RawJson } from '@muster/actions/exact-json'
import type { InstanceKey } from '../credentials/instance-key.ts'

/**
 * Hash format of audit rows and of seals (docs/operating.md, "Audit log"). A seal is the signed hash of a batch of rows and of the
 * previous seal, so the seals form a chain. A change of this format would make existing seals invalid.
 */

/** Audit row in the form that is hashed. */
export type SealedRow = {
  id: string
  /** Sort key of the row within its seal (a signed batch of rows): time, then id. */
  place: string
  /** JSON text of all columns. White space and the order of keys do not affect the hash. */
  value: string
}

/**
 * Versions of the hashed texts. Form 1 covers the original columns of audit rows. Form 2 also covers the columns that were added later:
 * resource ids of failed actions, reason, values before a change, IP address and browser. The number of the form is part of each hashed
 * text, so a seal cannot be presented as a seal of another form.
 */
export type SealForm = 1 | 2

/** Form of new seals. */
export const NEWEST_FORM: SealForm = 2

/** Hashed fields of a seal, which signs a batch of audit rows. Times have the format of `timeText`, hashes have 32 bytes. */
export type Seal = {
  /** Number of a `SealForm`. Another number comes from a newer hub or from a manipulated table. */
  form: number
  sealNo: number
  actionCount: number
  eventCount: number
  rowsHash: Buffer
  previousHash: Buffer
  newestAt: string
  sealedAt: string
}

/** Value of `previousHash` in the first seal. */
export const NO_HASH: Buffer = Buffer.alloc(32)

/** DER prefix that turns an Ed25519 seed of 32 bytes into a PKCS #8 private key (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

/** SQL that formats a time as UTC text with microseconds, independent of server settings. */
export function timeText(expression: string): string {
  return `to_char(${expression} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
}

const ACTION_COLUMNS = [
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
]
const ACTION_FACTS = [
  'organization_id',
  'project_id',
  'repository_id',
  'device_id',
  'user_id',
  'reason',
  'address',
  'browser',
]
const EVENT_COLUMNS = [
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
]
const EVENT_FACTS = ['old_data', 'address', 'browser']

/** SQL column lists that select a kind of audit rows as `SealedRow`. */
export type SealedColumns = {
  /** Column list for rows that a new seal will cover. */
  newest: string
  /** Column list for rows of existing seals. The query must also select from the row's seal, because the list uses its column `form`. */
  byForm: string
}

/** SQL column lists that select audit actions as `SealedRow`. */
export const SEALED_ACTION = sealedColumns('action', ACTION_COLUMNS, ACTION_FACTS)

/** SQL column lists that select audit events as `SealedRow`. */
export const SEALED_EVENT = sealedColumns('event', EVENT_COLUMNS, EVENT_FACTS)

/** SQL column list that selects a row of `audit_seal` as `Seal`. */
export const SEAL = `form, seal_no::float8 as "sealNo", action_count as "actionCount", event_count as "eventCount",
  rows_hash as "rowsHash", previous_hash as "previousHash",
  ${timeText('newest_at')} as "newestAt", ${timeText('sealed_at')} as "sealedAt"`

function sealedColumns(kind: 'action' | 'event', columns: string[], facts: string[]): SealedColumns {
  const [id] = columns
  const place = `${id} as id, ${timeText('created_at')} || ' ' || ${id} as place`
  const first = `json_build_array('${kind}', ${columns.join(', ')})::text`
  const second = `json_build_array('${kind} 2', ${[...columns, ...facts].join(', ')})::text`
  return {
    newest: `${place}, ${second} as value`,
    byForm: `${place}, case form when 2 then ${second} else ${first} end as value`,
  }
}

/** Number of rows hashed per event-loop turn. Hashing them takes a few milliseconds. */
const HASHED_PER_TURN = 100

/**
 * Hashes rows in the order of a seal: actions, then events, each by time and id. Hashing thousands of rows takes a tenth of a
 * second, so the function yields to the event loop after every `HASHED_PER_TURN` rows.
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

/** True if this version of the hub can verify seals of the given form. */
export function isKnownForm(form: number): form is SealForm {
  return form === 1 || form === 2
}

/** Hash of all fields of a seal, including the hash of its rows and the hash of the previous seal. */
export function hashSeal(seal: Seal): Buffer {
  const { form, sealNo, actionCount, eventCount, rowsHash, previousHash, newestAt, sealedAt } = seal
  return sha256(
    canonical([
      `muster audit seal ${form}`,
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

/** Hash of the note that the rows of a seal were removed because they were older than the retention time. The note is signed. */
export function hashRemoval(sealHash: Buffer, removedAt: string): Buffer {
  return sha256(canonical(['muster audit removal 1', sealHash.toString('hex'), removedAt]))
}

/** Ed25519 key pair for signatures of seals (hashes of batches of audit rows). Derived from the instance key. The public key verifies. */
export class SealKeys {
  readonly #private: KeyObject
  readonly #public: KeyObject
  readonly #previous: KeyObject | undefined

  /** `previous` is the former instance key, if any. Signatures made with that key are valid too. */
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

/** Serializes JSON without white space, with keys sorted by UTF-16 code units. Numbers keep their original notation. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (value instanceof RawJson) return value.text
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`
}

/** Returns the SHA-256 digest of `data`. */
export function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest()
}
