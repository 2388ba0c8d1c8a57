import type pg from 'pg'
import {
  hashRemoval,
  hashRows,
  hashSeal,
  isKnownForm,
  NO_HASH,
  SEAL,
  SEALED_ACTION,
  SEALED_EVENT,
  type Seal,
  type SealedColumns,
  type SealedRow,
  type SealKeys,
  sha256,
  timeText,
} from './chain.ts'

/** Result of a verification. */
export type AuditReport = {
  isIntact: boolean
  /** Describes the first difference between the rows and their seals. Absent for an intact log. */
  problem?: string
  /**
   * Numbers of seals and rows up to the first difference. `seals` includes `removedSeals`, whose rows were removed after the retention
   * time.
   */
  seals: number
  removedSeals: number
  actions: number
  events: number
  /** Rows without a seal: the newest rows, and actions that are still `Pending`. */
  unsealed: { rows: number; oldestAt?: string }
  /** Newest verified seal. Its hash can be the `anchor` of a later verification. */
  head?: { seal: number; hash: string; sealedAt: string }
  publicKey: string
}

type StoredSeal = Seal & {
  rowHashes: Buffer | null
  hash: Buffer
  signature: Buffer
  removedAt: string | null
  removalSignature: Buffer | null
}

type NumberedRow = SealedRow & { sealNo: number }

/** Number of rows per fetch from a cursor. */
const ROWS_AT_ONCE = 2_000
/** Limit of row ids in a message. */
const MAX_NAMED_ROWS = 5

/** A mismatch between the rows and their seal. Its message is shown to the operator. */
class Difference extends Error {
  override readonly name = 'Difference'
}

/**
 * Verifies every row and seal of the audit log in one read-only snapshot. `anchor` is the hash of an earlier seal, noted outside of
 * the database. When no seal has that hash any more, the log is not intact.
 */
export async function verifyAuditLog(
  client: pg.ClientBase,
  keys: SealKeys,
  anchor?: string,
): Promise<AuditReport> {
  await client.query('begin transaction isolation level repeatable read read only')
  try {
    const report: AuditReport = {
      isIntact: true,
      seals: 0,
      removedSeals: 0,
      actions: 0,
      events: 0,
      unsealed: await unsealedRows(client),
      publicKey: keys.publicKey,
    }
    try {
      await verifyChain(client, keys, report, anchor)
    } catch (error) {
      if (!(error instanceof Difference)) throw error
      return { ...report, isIntact: false, problem: error.message }
    }
    return report
  } finally {
    await client.query('rollback')
  }
}

/**
 * Newest seal up to which the chain was verified. `hash` is hexadecimal. Seal 0 with an empty hash stands for the beginning of the chain.
 */
export type VerifiedUpTo = { seal: number; hash: string }

/** Result of verifying a part of the chain. `isAtEnd` is true if no further seal exists. */
export type PartReport = { upTo: VerifiedUpTo; isAtEnd: boolean; problem?: string }

/**
 * Verifies up to `atMost` seals after an earlier verified seal, with their rows, in one read-only snapshot. `upTo` in the result is the
 * last intact seal.
 */
export async function verifySealsAfter(
  client: pg.ClientBase,
  keys: SealKeys,
  after: VerifiedUpTo,
  atMost: number,
): Promise<PartReport> {
  await client.query('begin transaction isolation level repeatable read read only')
  const report: Progress = { seals: 0, removedSeals: 0, actions: 0, events: 0 }
  const upTo = (): VerifiedUpTo => report.head ?? after
  try {
    if (after.seal > 0) await requireSeal(client, after)
    await verifyChain(client, keys, report, undefined, { after, atMost })
    return { upTo: upTo(), isAtEnd: report.seals < atMost }
  } catch (error) {
    if (!(error instanceof Difference)) throw error
    return { upTo: upTo(), isAtEnd: true, problem: error.message }
  } finally {
    await client.query('rollback')
  }
}

/**
 * Checks that a seal verified in an earlier run still has the same hash. A different hash means that earlier rows may have been changed
 * and sealed again.
 */
async function requireSeal(client: pg.ClientBase, { seal, hash }: VerifiedUpTo): Promise<void> {
  const { rows } = await client.query<{ hash: Buffer }>('select hash from audit_seal where seal_no = $1', [
    seal,
  ])
  if (rows[0]?.hash.toString('hex') !== hash)
    throw new Difference(`Seal ${seal} has not the hash that it had when it was verified.`)
}

/** Part of the chain: up to `atMost` seals after a verified one. */
type SealRange = { after: VerifiedUpTo; atMost: number }

type Progress = Pick<AuditReport, 'seals' | 'removedSeals' | 'actions' | 'events' | 'head'>

async function verifyChain(
  client: pg.ClientBase,
  keys: SealKeys,
  report: Progress,
  anchor: string | undefined,
  range?: SealRange,
): Promise<void> {
  const actions = new RowReader(client, 'audit_action', SEALED_ACTION, range)
  const events = new RowReader(client, 'audit_event', SEALED_EVENT, range)
  let isAnchored = anchor === undefined
  let { seal: previousNo, hash: previousHash } = range
    ? { ...range.after, hash: Buffer.from(range.after.hash, 'hex') }
    : { seal: 0, hash: NO_HASH }
  if (previousNo === 0) previousHash = NO_HASH
  for await (const seal of sealsOf(client, range)) {
    verifySeal(seal, previousNo + 1, previousHash, keys)
    const found = { actions: await actions.of(seal.sealNo), events: await events.of(seal.sealNo) }
    await verifyRows(seal, found, keys)
    report.seals++
    if (seal.removedAt === null) {
      report.actions += seal.actionCount
      report.events += seal.eventCount
    } else report.removedSeals++
    previousNo = seal.sealNo
    previousHash = seal.hash
    const hash = seal.hash.toString('hex')
    report.head = { seal: seal.sealNo, hash, sealedAt: seal.sealedAt }
    isAnchored ||= hash === anchor
  }
  const orphan = (await actions.ahead()) ?? (await events.ahead())
  if (orphan) throw new Difference(`${orphan.id} belongs to seal ${orphan.sealNo}, which is not there.`)
  if (!isAnchored)
    throw new Difference(
      `No seal has the hash of the anchor: seals after number ${report.seals} were removed, or the chain was sealed again.`,
    )
}

/** Condition on the column `seal_no` for a part of the chain, or for the whole chain. */
function isInRange(range: SealRange | undefined): string {
  if (!range) return 'seal_no is not null'
  const { after, atMost } = range
  return `seal_no > ${after.seal} and seal_no <= ${after.seal + atMost}`
}

/** Checks the number of a seal, its reference to the previous seal, its hash and its signature. */
function verifySeal(seal: StoredSeal, expectedNo: number, previousHash: Buffer, keys: SealKeys): void {
  const { sealNo } = seal
  if (sealNo !== expectedNo) throw new Difference(`Seal ${expectedNo} is missing; the next one is ${sealNo}.`)
  if (!seal.previousHash.equals(previousHash))
    throw new Difference(
      expectedNo === 1
        ? 'Seal 1 does not begin the chain: it names a seal before it.'
        : `Seal ${sealNo} does not follow seal ${sealNo - 1}: it names another hash.`,
    )
  if (!isKnownForm(seal.form))
    throw new Difference(
      `Seal ${sealNo} has form ${seal.form}, which this version does not know: verify with a newer hub.`,
    )
  if (!seal.hash.equals(hashSeal(seal)))
    throw new Difference(`Seal ${sealNo} was changed: its fields do not match its hash.`)
  if (!keys.isSigned(seal.hash, seal.signature))
    throw new Difference(`Seal ${sealNo} is not signed with the key of this instance.`)
}

/**
 * Checks that the rows of a seal are exactly the rows that were sealed. If they were removed after the retention time, checks that none
 * is left and that the note of the removal is signed.
 */
async function verifyRows(
  seal: StoredSeal,
  { actions, events }: { actions: SealedRow[]; events: SealedRow[] },
  keys: SealKeys,
): Promise<void> {
  const { sealNo } = seal
  const found = await hashRows(actions, events)
  if (seal.removedAt !== null) {
    const hash = hashRemoval(seal.hash, seal.removedAt)
    if (!seal.removalSignature || !keys.isSigned(hash, seal.removalSignature))
      throw new Difference(
        `The rows of seal ${sealNo} are marked as removed by retention, which this instance did not sign.`,
      )
    if (found.length > 0)
      throw new Difference(`In seal ${sealNo}, added after its rows were removed: ${namesOf(found)}.`)
    return
  }
  if (seal.rowHashes === null || !sha256(seal.rowHashes).equals(seal.rowsHash))
    throw new Difference(`Seal ${sealNo} was changed: the hashes of its rows are not those that were sealed.`)
  if (Buffer.concat(found.map(({ hash }) => hash)).equals(seal.rowHashes)) return
  const sealed = new Set<string>(seal.rowHashes.toString('hex').match(/.{64}/g))
  const unsealed = found.filter(({ hash }) => !sealed.has(hash.toString('hex')))
  const missing = sealed.size - (found.length - unsealed.length)
  const counts = `found ${countsOf(actions.length, events.length)}, expected ${countsOf(seal.actionCount, seal.eventCount)}`
  if (unsealed.length === 0) throw new Difference(`In seal ${sealNo}, rows were removed: ${counts}.`)
  throw new Difference(
    `In seal ${sealNo}, ${missing === 0 ? 'added' : 'changed'}: ${namesOf(unsealed)} (${counts}).`,
  )
}

/** Reads the seals in the order of their numbers. */
function sealsOf(client: pg.ClientBase, range: SealRange | undefined): AsyncGenerator<StoredSeal> {
  return readAll<StoredSeal>(
    client,
    'seals',
    `select ${SEAL}, row_hashes as "rowHashes", hash, signature,
            ${timeText('removed_at')} as "removedAt", removal_signature as "removalSignature"
       from audit_seal where ${isInRange(range)} order by seal_no`,
  )
}

/** Reads the sealed rows of a table seal by seal. Memory holds the rows of one seal and one fetched batch. */
class RowReader {
  readonly #rows: AsyncGenerator<NumberedRow>
  #ahead: NumberedRow | undefined

  constructor(client: pg.ClientBase, table: string, { byForm }: SealedColumns, range: SealRange | undefined) {
    this.#rows = readAll<NumberedRow>(
      client,
      `rows_of_${table}`,
      `select seal_no::float8 as "sealNo", ${byForm} from ${table} left join audit_seal using (seal_no)
        where ${isInRange(range)} order by seal_no`,
    )
  }

  /** Returns the rows of a seal. Must be called for each seal in ascending order. */
  async of(sealNo: number): Promise<SealedRow[]> {
    const rows: SealedRow[] = []
    for (let row = await this.ahead(); row?.sealNo === sealNo; row = await this.ahead()) {
      rows.push(row)
      this.#ahead = undefined
    }
    return rows
  }

  /** Returns the next row without consuming it. Undefined at the end. */
  async ahead(): Promise<NumberedRow | undefined> {
    this.#ahead ??= (await this.#rows.next()).value as NumberedRow | undefined
    return this.#ahead
  }
}

async function* readAll<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  cursor: string,
  query: string,
): AsyncGenerator<Row, undefined> {
  await client.query(`declare ${cursor} no scroll cursor for ${query}`)
  for (;;) {
    const { rows } = await client.query<Row>(`fetch ${ROWS_AT_ONCE} from ${cursor}`)
    yield* rows
    if (rows.length < ROWS_AT_ONCE) return undefined
  }
}

async function unsealedRows(client: pg.ClientBase): Promise<AuditReport['unsealed']> {
  const { rows } = await client.query<{ rows: number; oldestAt: string | null }>(
    `select count(*)::float8 as rows, ${timeText('min(created_at)')} as "oldestAt" from (
       select created_at from audit_action where seal_no is null
       union all select created_at from audit_event where seal_no is null) as unsealed`,
  )
  const { rows: count, oldestAt } = rows[0]!
  return { rows: count, ...(oldestAt !== null && { oldestAt }) }
}

function countsOf(actions: number, events: number): string {
  return `${actions} ${actions === 1 ? 'action' : 'actions'} and ${events} ${events === 1 ? 'event' : 'events'}`
}

function namesOf(rows: { id: string }[]): string {
  const names = rows.slice(0, MAX_NAMED_ROWS).map(({ id }) => id)
  return rows.length > names.length
    ? `${names.join(', ')} and ${rows.length - names.length} more`
    : names.join(', ')
}
