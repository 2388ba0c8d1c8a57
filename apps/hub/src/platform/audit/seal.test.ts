import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { capturedLog, scratchDatabase, until } from '@muster/testkit'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadInstanceKey } from '../credentials/instance-key.ts'
import { type Database, openDatabase } from '../database/client/connection.ts'
import { SYSTEM } from '../pipeline/caller.ts'
import { type FinalStatus, openAuditAction, recordAuditAction } from './actions.ts'
import { hashRows, hashSeal, type Seal, SealKeys, sha256 } from './chain.ts'
import { recordEvents } from './events.ts'
import { removeSealed, sealFinishedRows } from './seal.ts'
import { VERIFICATION, type Verification } from './sealing.ts'
import { verifyNewSeals } from './verification.ts'
import { type AuditReport, verifyAuditLog } from './verify.ts'

const SECRET = 'ab'.repeat(32)
const key = await loadInstanceKey('', SECRET)
const { log, named } = capturedLog()

const IN_SEAL_2 = 'where seal_no = 2'
const ONE_ACTION = `where action_id = (select min(action_id) from audit_action ${IN_SEAL_2})`
const ONE_EVENT = `where event_id = (select min(event_id) from audit_event ${IN_SEAL_2})`

/** Migrated database without a hub, so that no job of a hub seals rows during the test. */
type Log = AsyncDisposable &
  Database & {
    connection: pg.PoolConfig
    /** Writes `count` audit actions with one event each, moves them `daysAgo` days into the past, and seals. */
    sealed(count?: number, daysAgo?: number): Promise<void>
    seal(): Promise<void>
    /** Moves all unsealed rows into the past by a PostgreSQL interval. */
    age(interval: string): Promise<void>
    change(statement: string): Promise<void>
    verify(anchor?: string): Promise<AuditReport>
    problem(anchor?: string): Promise<string | undefined>
  }

async function newLog(): Promise<Log> {
  const scratch = await scratchDatabase('muster')
  const { connection } = scratch
  const database = openDatabase(connection, () => {})
  const { db } = database
  const change: Log['change'] = async statement => void (await database.pool.query(statement))
  const seal: Log['seal'] = () => sealFinishedRows(db, key, log)
  const age: Log['age'] = async interval => {
    for (const table of ['audit_action', 'audit_event'])
      await change(
        `update ${table} set created_at = created_at - interval '${interval}' where seal_no is null`,
      )
  }
  const verify: Log['verify'] = async anchor => {
    const client = await database.pool.connect()
    try {
      return await verifyAuditLog(client, new SealKeys(key), anchor)
    } finally {
      client.release()
    }
  }
  return {
    ...database,
    connection,
    change,
    seal,
    age,
    verify,
    problem: async anchor => (await verify(anchor)).problem,
    async sealed(count = 3, daysAgo = 1) {
      for (let made = 0; made < count; made++) await write(database, 'Succeeded')
      await age(`${daysAgo} days`)
      await seal()
    },
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]()
      await scratch[Symbol.asyncDispose]()
    },
  }
}

async function write({ db }: Database, status: FinalStatus | 'Pending'): Promise<void> {
  const data = { name: 'Ünicode "x"', size: 12345678901234567890n.toString(), flags: { b: 1, a: [null, 2] } }
  const entry = { action: 'projects_Create', caller: SYSTEM, data, nodeId: 'n', requestId: 'r' }
  if (status === 'Pending') await openAuditAction(db, entry)
  else await recordAuditAction(db, entry, status)
  await db
    .transaction()
    .execute(tx =>
      recordEvents(tx, { caller: SYSTEM, scope: {} }, 'users_Deleted', [
        { data: { userId: 'u' }, old: { email: 'a@b.example' } },
      ]),
    )
}

describe('sealing', () => {
  it('covers every finished row once, in chained batches', async () => {
    await using audit = await newLog()
    await audit.sealed(3)
    await audit.sealed(2)
    await audit.seal()
    const report = await audit.verify()
    expect(report).toMatchObject({ isIntact: true, seals: 2, actions: 5, events: 5, unsealed: { rows: 0 } })
    const [first, second] = await audit.db.selectFrom('audit_seal').selectAll().orderBy('seal_no').execute()
    expect(second!.previous_hash).toEqual(first!.hash)
    expect(report.head!.hash).toBe(second!.hash.toString('hex'))
    expect(named('audit rows sealed').at(-1)).toMatchObject({ seal: 2, hash: report.head!.hash })
  })

  it('splits a long backlog into seals of at most 2,000 actions', async () => {
    await using audit = await newLog()
    await write(audit, 'Succeeded')
    await audit.change(`
      insert into audit_action (action_id, action, actor, data, status, node_id, request_id, created_at, finished_at)
      select action_id || n, action, actor, data, status, node_id, request_id, created_at - n * interval '1 minute', now()
        from audit_action, generate_series(1, 4500) n`)
    await audit.sealed(0)
    const seals = await audit.db.selectFrom('audit_seal').select('action_count').orderBy('seal_no').execute()
    expect(seals.map(seal => seal.action_count)).toEqual([2000, 2000, 501])
    expect(await audit.verify()).toMatchObject({ isIntact: true, actions: 4501 })
  })

  it('yields to the event loop while it hashes', async () => {
    const rows = Array.from({ length: 1_000 }, (_, at) => ({ id: `${at}`, place: `${at}`, value: '[1]' }))
    let turns = 0
    const count = (): void => {
      turns++
      next = setImmediate(count)
    }
    let next = setImmediate(count)
    await hashRows(rows, [])
    clearImmediate(next)
    expect(turns).toBeGreaterThanOrEqual(9)
  })

  it('seals Pending and very recent rows later without delaying others', async () => {
    await using audit = await newLog()
    await write(audit, 'Pending')
    await audit.sealed(2)
    expect(await audit.verify()).toMatchObject({ isIntact: true, actions: 2, unsealed: { rows: 1 } })
    await write(audit, 'Failed')
    await audit.seal()
    expect(await audit.verify()).toMatchObject({ seals: 1, unsealed: { rows: 3 } })
    await audit.change(
      `update audit_action set status = 'Panicked', finished_at = now() where status = 'Pending'`,
    )
    await audit.sealed(0)
    expect(await audit.verify()).toMatchObject({ isIntact: true, actions: 4, unsealed: { rows: 0 } })
  })

  it('runs on one node at a time', async () => {
    await using audit = await newLog()
    await audit.sealed(0)
    for (let made = 0; made < 20; made++) await write(audit, 'Rejected')
    await audit.age('1 minute')
    await Promise.all([audit.seal(), audit.seal(), audit.seal(), audit.seal()])
    expect(await audit.verify()).toMatchObject({ isIntact: true, seals: 1, actions: 20 })
  })

  it('is rolled back completely when its process is killed', { timeout: 120_000 }, async () => {
    await using audit = await newLog()
    await audit.sealed(2)
    for (let made = 0; made < 3; made++) await write(audit, 'Succeeded')
    await audit.age('1 minute')
    const blocker = new pg.Client(audit.connection)
    await blocker.connect()
    // The child process seals the audit actions and then waits for the lock on the table of audit events.
    await blocker.query('begin; lock table audit_event in access exclusive mode')
    const { password, ...connection } = audit.connection
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import { createLog } from '${join(import.meta.dirname, '../runtime/log.ts')}'
         import { openDatabase } from '${join(import.meta.dirname, '../database/client/connection.ts')}'
         import { loadInstanceKey } from '${join(import.meta.dirname, '../credentials/instance-key.ts')}'
         import { sealFinishedRows } from '${join(import.meta.dirname, 'seal.ts')}'
         const { db } = openDatabase(JSON.parse(process.env.CONNECTION), () => {})
         await sealFinishedRows(db, await loadInstanceKey('', '${SECRET}'), createLog('silent'))`,
      ],
      {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { CONNECTION: JSON.stringify({ ...connection, password }) },
      },
    )
    const ended = once(child, 'exit')
    const isWaiting = async (): Promise<boolean> => {
      await blocker.query('select pg_stat_clear_snapshot()')
      const { rows } = await blocker.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows.length > 0
    }
    await until('waiting of the child for the lock', isWaiting, 60_000)
    child.kill('SIGKILL')
    await ended
    await blocker.query('rollback')
    await blocker.end()
    expect(await audit.verify()).toMatchObject({ isIntact: true, seals: 1, unsealed: { rows: 6 } })
    await until('sealing after the lock of the killed process is released', async () => {
      await audit.seal()
      return (await audit.verify()).seals === 2
    })
    expect(await audit.verify()).toMatchObject({ isIntact: true, actions: 5, events: 5 })
  })
})

describe('verification', () => {
  const TABLES = ['audit_action', 'audit_event', 'audit_seal']
  let audit: Log

  beforeAll(async () => {
    audit = await newLog()
    for (let made = 0; made < 3; made++) await audit.sealed()
    for (const table of TABLES) await audit.change(`create table ${table}_copy as table ${table}`)
  })
  afterAll(() => audit[Symbol.asyncDispose]())

  it.each([
    [
      'changed data of an action',
      `update audit_action set data = data || '{"name": "x"}' ${ONE_ACTION}`,
      'changed: audit_act_',
    ],
    [
      'changed data of an event',
      `update audit_event set data = '{"userId": "v"}' ${ONE_EVENT}`,
      'changed: audit_ev_',
    ],
    ['a changed status', `update audit_action set status = 'Failed' ${ONE_ACTION}`, 'changed: audit_act_'],
    [
      'a changed actor',
      `update audit_event set actor = '{"actor": "Anonymous"}' ${ONE_EVENT}`,
      'changed: audit_ev_',
    ],
    [
      'an event moved to another log',
      `update audit_event set project_id = 'p' ${ONE_EVENT}`,
      'changed: audit_ev_',
    ],
    [
      'a time that is off by a microsecond',
      `update audit_event set created_at = created_at + interval '1 microsecond' ${ONE_EVENT}`,
      'changed: audit_ev_',
    ],
    ['an added reason', `update audit_action set reason = 'None.' ${ONE_ACTION}`, 'changed: audit_act_'],
    [
      'an action moved to the log of a project',
      `update audit_action set project_id = 'p' ${ONE_ACTION}`,
      'changed: audit_act_',
    ],
    ['a removed old value', `update audit_event set old_data = null ${ONE_EVENT}`, 'changed: audit_ev_'],
    ['a changed address', `update audit_event set address = '10.0.0.1' ${ONE_EVENT}`, 'changed: audit_ev_'],
    [
      'a seal passed off as one of the first form',
      `update audit_seal set form = 1 ${IN_SEAL_2}`,
      'Seal 2 was changed',
    ],
    ['a seal of an unknown form', `update audit_seal set form = 9 ${IN_SEAL_2}`, 'Seal 2 has form 9'],
    [
      'a changed end time of an action',
      `update audit_action set finished_at = finished_at - interval '1 s' ${ONE_ACTION}`,
      'changed: audit_act_',
    ],
    [
      'a row removed from its seal',
      `update audit_action set seal_no = null ${ONE_ACTION}`,
      'rows were removed: found 2 actions and 3 events, expected 3 actions and 3 events',
    ],
    [
      'a row moved to another seal',
      `update audit_action set seal_no = 1 ${ONE_ACTION}`,
      'In seal 1, added: audit_act_',
    ],
    [
      'a deleted row',
      `delete from audit_event ${ONE_EVENT}`,
      'rows were removed: found 3 actions and 2 events',
    ],
    [
      'a seal whose rows were all deleted',
      `delete from audit_event ${IN_SEAL_2}; delete from audit_action ${IN_SEAL_2}`,
      'rows were removed: found 0 actions and 0 events',
    ],
    ['a changed number of rows', `update audit_seal set action_count = 2 ${IN_SEAL_2}`, 'Seal 2 was changed'],
    [
      'changed row hashes of a seal',
      `update audit_seal set row_hashes = substring(row_hashes for 64) ${IN_SEAL_2}`,
      'Seal 2 was changed: the hashes of its rows',
    ],
    [
      'a changed time of a seal',
      `update audit_seal set sealed_at = sealed_at - interval '1 s' ${IN_SEAL_2}`,
      'Seal 2 was changed',
    ],
    [
      'a changed signature',
      `update audit_seal set signature = (select signature from audit_seal where seal_no = 1) ${IN_SEAL_2}`,
      'Seal 2 is not signed',
    ],
    ['a deleted seal', `delete from audit_seal ${IN_SEAL_2}`, 'Seal 2 is missing; the next one is 3.'],
    [
      'a seal deleted with its rows',
      `delete from audit_seal ${IN_SEAL_2}; delete from audit_event ${IN_SEAL_2}; delete from audit_action ${IN_SEAL_2}`,
      'Seal 2 is missing; the next one is 3.',
    ],
    [
      'the first seal deleted with its rows',
      `delete from audit_seal where seal_no = 1; delete from audit_event where seal_no = 1; delete from audit_action where seal_no = 1`,
      'Seal 1 is missing; the next one is 2.',
    ],
    [
      'the last seal deleted without its rows',
      'delete from audit_seal where seal_no = 3',
      'belongs to seal 3, which is not there',
    ],
    [
      'a forged removal note for existing rows',
      `update audit_seal set row_hashes = null, removed_at = now(), removal_signature = signature ${IN_SEAL_2}`,
      'which this instance did not sign',
    ],
    [
      'a forged removal note for deleted rows',
      `delete from audit_event where seal_no = 1; delete from audit_action where seal_no = 1;
       update audit_seal set row_hashes = null, removed_at = now(), removal_signature = signature where seal_no = 1`,
      'The rows of seal 1 are marked as removed by retention, which this instance did not sign',
    ],
    [
      'two swapped seals with their rows',
      ['audit_seal', 'audit_action', 'audit_event']
        .flatMap(table =>
          [
            [2, 9],
            [3, 2],
            [9, 3],
          ].map(([from, to]) => `update ${table} set seal_no = ${to} where seal_no = ${from}`),
        )
        .join(';'),
      'Seal 2 does not follow seal 1',
    ],
    [
      'an inserted row',
      `insert into audit_event (event_id, event, actor, data, created_at, seal_no)
       select event_id || 'x', event, actor, data, created_at, seal_no from audit_event ${ONE_EVENT}`,
      'In seal 2, added: audit_ev_',
    ],
    [
      'a row replaced by another one',
      `update audit_event set event_id = event_id || 'x' ${ONE_EVENT}`,
      'In seal 2, changed: audit_ev_',
    ],
  ])('detects %s', async (_what, statement, expected) => {
    expect(await audit.problem()).toBeUndefined()
    await audit.change(statement)
    const report = await audit.verify()
    for (const table of TABLES)
      await audit.change(`delete from ${table}; insert into ${table} select * from ${table}_copy`)
    expect(report.problem).toContain(expected)
    expect(report.isIntact).toBe(false)
  })
})

describe('verification of a whole log', () => {
  it('detects a chain that was recomputed without the key', async () => {
    await using audit = await newLog()
    await audit.sealed()
    await audit.sealed()
    await audit.change(`delete from audit_event ${ONE_EVENT}`)
    const row = await audit.db
      .selectFrom('audit_seal')
      .selectAll()
      .where('seal_no', '=', 2)
      .executeTakeFirstOrThrow()
    const { rows: kept } = await sql<{ hashes: Buffer }>`
      select substring(row_hashes for 96) || substring(row_hashes from 129) as hashes from audit_seal where seal_no = 2`.execute(
      audit.db,
    )
    const { rows: times } = await sql<{ newestAt: string; sealedAt: string }>`
      select to_char(newest_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "newestAt",
             to_char(sealed_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "sealedAt" from audit_seal where seal_no = 2`.execute(
      audit.db,
    )
    const seal: Seal = {
      form: 2,
      sealNo: 2,
      actionCount: 3,
      eventCount: 2,
      rowsHash: sha256(kept[0]!.hashes),
      previousHash: row.previous_hash,
      ...times[0]!,
    }
    const hash = hashSeal(seal)
    const forged = new SealKeys(await loadInstanceKey('', 'cd'.repeat(32)))
    await audit.db
      .updateTable('audit_seal')
      .set({
        event_count: 2,
        row_hashes: kept[0]!.hashes,
        rows_hash: seal.rowsHash,
        hash,
        signature: forged.sign(hash),
      })
      .where('seal_no', '=', 2)
      .execute()
    expect(await audit.problem()).toBe('Seal 2 is not signed with the key of this instance.')
  })

  it('detects by the anchor that the end was cut off, even if rows were sealed again', async () => {
    await using audit = await newLog()
    await audit.sealed()
    await audit.sealed()
    const anchor = (await audit.verify()).head!.hash
    expect(await audit.problem(anchor)).toBeUndefined()
    await audit.sealed()
    expect(await audit.problem(anchor)).toBeUndefined()
    await audit.change('delete from audit_seal where seal_no > 1')
    await audit.change('delete from audit_action where seal_no > 1')
    await audit.change('update audit_event set seal_no = null where seal_no > 1')
    expect(await audit.problem()).toBeUndefined()
    expect(await audit.problem(anchor)).toContain('No seal has the hash of the anchor: seals after number 1')
    await audit.seal()
    expect(await audit.problem()).toBeUndefined()
    expect(await audit.problem(anchor)).toContain('No seal has the hash of the anchor')
  })

  it('ignores the order of keys in data', async () => {
    await using audit = await newLog()
    await audit.sealed()
    await audit.change(`update audit_action set data = (
      select jsonb_object_agg(key, value order by key desc) from jsonb_each(data))`)
    expect(await audit.problem()).toBeUndefined()
  })

  it('reads one snapshot while the log is being sealed', async () => {
    await using audit = await newLog()
    await audit.sealed()
    let isOver = false
    const sealing = (async () => {
      while (!isOver) await audit.sealed(1)
    })()
    try {
      for (let times = 0; times < 20; times++) expect(await audit.problem()).toBeUndefined()
    } finally {
      isOver = true
      await sealing
    }
  })

  it('reports a log without seals as intact', async () => {
    await using audit = await newLog()
    await write(audit, 'Succeeded')
    expect(await audit.verify()).toMatchObject({ isIntact: true, seals: 0, unsealed: { rows: 2 } })
  })
})

describe('retention', () => {
  it('removes the rows of old seals, and the log can still be verified', async () => {
    await using audit = await newLog()
    await audit.sealed(2, 100)
    await audit.sealed(3, 95)
    const anchor = (await audit.verify()).head!.hash
    await audit.sealed(4, 1)
    await removeSealed(audit.db, key, 90, log)
    expect(await audit.verify(anchor)).toMatchObject({
      isIntact: true,
      seals: 3,
      removedSeals: 2,
      actions: 4,
      events: 4,
    })
    await removeSealed(audit.db, key, 90, log)
    await audit.sealed(1)
    expect(await audit.verify(anchor)).toMatchObject({ isIntact: true, seals: 4, removedSeals: 2 })
  })

  it('stops at the first seal with a row that is too young', async () => {
    await using audit = await newLog()
    await audit.sealed(1, 2)
    await audit.sealed(1, 100)
    await removeSealed(audit.db, key, 90, log)
    expect(await audit.verify()).toMatchObject({ isIntact: true, seals: 2, removedSeals: 0 })
  })

  it('removes no rows when the age of a seal was forged', async () => {
    await using audit = await newLog()
    await audit.sealed(2, 1)
    await audit.sealed(1, 1)
    await audit.change(`update audit_seal set newest_at = newest_at - interval '100 days' where seal_no = 1`)
    await expect(removeSealed(audit.db, key, 90, log)).rejects.toThrow('Seal 1 was changed')
    await audit.change(`update audit_seal set newest_at = newest_at + interval '100 days' where seal_no = 1`)
    await removeSealed(audit.db, key, 90, log)
    expect(await audit.verify()).toMatchObject({ isIntact: true, seals: 2, removedSeals: 0, actions: 3 })
  })

  it('detects rows that were put back, and forged notes of removal', async () => {
    await using audit = await newLog()
    await audit.sealed(1, 100)
    await audit.sealed(1, 100)
    await audit.sealed(1, 1)
    await removeSealed(audit.db, key, 90, log)
    await audit.change(`insert into audit_event (event_id, event, actor, data, seal_no)
      values ('audit_ev_forged', 'users_Deleted', '{}', '{}', 2)`)
    expect(await audit.problem()).toContain('In seal 2, added after its rows were removed: audit_ev_forged')
    await audit.change(
      `delete from audit_event where seal_no in (2, 3); delete from audit_action where seal_no = 3`,
    )
    await audit.change(`update audit_seal set row_hashes = null, removed_at = now(),
      removal_signature = (select removal_signature from audit_seal where seal_no = 2) where seal_no = 3`)
    expect(await audit.problem()).toContain('which this instance did not sign')
    await audit.change(`update audit_seal set removed_at = removed_at + interval '1 s' where seal_no = 1`)
    expect(await audit.problem()).toContain('The rows of seal 1 are marked as removed')
  })
})

describe('verification of new seals', () => {
  const KEYS = new SealKeys(key)
  const result = async ({ db }: Log) =>
    (
      await db
        .selectFrom('instance_setting')
        .where('key', '=', VERIFICATION)
        .select('value')
        .executeTakeFirst()
    )?.value as Verification | undefined
  const verifyNew = (audit: Log) => verifyNewSeals({ ...audit, log }, KEYS, new AbortController().signal)

  it('continues after the last verified seal and stores the result', async () => {
    await using audit = await newLog()
    await verifyNew(audit)
    expect(await result(audit)).toMatchObject({ seal: 0 })
    for (let made = 0; made < 45; made++) await audit.sealed(1)
    await verifyNew(audit)
    const { head } = await audit.verify()
    expect(await result(audit)).toMatchObject({ seal: 45, hash: head!.hash })
    // Rows of a verified seal are not read again, so this change goes unnoticed here; `muster-hub audit verify` finds it.
    await audit.change(`update audit_event set data = '{}' where seal_no = 3`)
    await audit.sealed(1)
    await verifyNew(audit)
    expect(await result(audit)).toEqual({
      verifiedAt: expect.any(String),
      seal: 46,
      hash: (
        await audit.db
          .selectFrom('audit_seal')
          .where('seal_no', '=', 46)
          .select('hash')
          .executeTakeFirstOrThrow()
      ).hash.toString('hex'),
    })
  })

  it.each([
    ['a changed row', `update audit_event set data = '{}' where seal_no = 3`, 'In seal 3, changed', 2],
    ['a missing seal', 'delete from audit_seal where seal_no = 3', 'belongs to seal 3', 2],
    [
      'a chain that was sealed again',
      `update audit_seal set hash = sha256('x') where seal_no = 2`,
      'Seal 2 has not the hash',
      2,
    ],
  ])('stores %s as the problem until it is mended', async (_what, statement, problem, seal) => {
    await using audit = await newLog()
    await audit.sealed(1)
    await audit.sealed(1)
    await verifyNew(audit)
    await audit.sealed(1)
    await audit.change(
      `create table seal_copy as table audit_seal; create table event_copy as table audit_event`,
    )
    await audit.change(statement)
    await verifyNew(audit)
    await verifyNew(audit)
    expect(await result(audit)).toMatchObject({ problem: expect.stringContaining(problem), seal })
    expect(named('the audit log is not intact').at(-1)).toMatchObject({
      problem: expect.stringContaining(problem),
    })
    await audit.change(`delete from audit_seal; insert into audit_seal select * from seal_copy;
      delete from audit_event; insert into audit_event select * from event_copy`)
    await verifyNew(audit)
    expect(await result(audit)).toMatchObject({ seal: 3 })
    expect(await result(audit)).not.toHaveProperty('problem')
  })
})
