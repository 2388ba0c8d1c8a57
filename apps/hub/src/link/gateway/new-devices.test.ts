import { X509Certificate } from 'node:crypto'
import { publicIdOf } from '@muster/actions'
import {
  connectDevice,
  type DatabaseSession,
  type DeviceIdentity,
  databaseSession,
  deviceIdentity,
  type FakeDevice,
  liveStream,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { PreparingClient } from '../../platform/database/client/preparing-client.ts'
import type { CommandParts } from '../../platform/pipeline/command-transaction.ts'
import { NewDevices } from './new-devices.ts'

type Fleet = Awaited<ReturnType<TestHub['fleet']>>

/** Devices for a full batch, beside the one that the database holds up. */
const MANY = 41

const hub = await testHub()
let identities: DeviceIdentity[]
beforeAll(async () => {
  identities = await Promise.all(Array.from({ length: MANY }, () => deviceIdentity()))
})
afterAll(() => hub[Symbol.asyncDispose]())

/**
 * Connects a device for each identity, as the first connections of new devices, while the session keeps the hub from storing any. Runs
 * `meanwhile` in the transaction of the session, when all devices wait. Resolves to the connected devices, or the errors of those refused.
 */
async function connectTogether(
  wanted: { fleet: Fleet; identity: DeviceIdentity }[],
  meanwhile: (session: DatabaseSession) => Promise<unknown> = async () => {},
): Promise<{ outcomes: (FakeDevice | Error)[] } & AsyncDisposable> {
  await using session = await databaseSession(hub)
  await session.query('begin')
  await session.query('lock table device in share row exclusive mode')
  const before = await takenBudgets()
  const connecting = Promise.all(
    wanted.map(({ fleet: { token }, identity }) =>
      connectDevice({ url: hub.url, token, identity }).catch((error: Error) => error),
    ),
  )
  await until('all devices wait', async () => (await takenBudgets()) === before + wanted.length)
  await session.waitingStatements(1)
  await meanwhile(session)
  await session.query('commit')
  const outcomes = await connecting
  const connected = outcomes.filter((one): one is FakeDevice => !(one instanceof Error))
  return {
    outcomes,
    [Symbol.asyncDispose]: async () =>
      void (await Promise.all(connected.map(one => one[Symbol.asyncDispose]()))),
  }
}

async function takenBudgets(): Promise<number> {
  const { rows } = await sql<{ taken: number }>`
    select coalesce(sum(enrolled_devices), 0)::int as taken from deployment_token`.execute(hub.db)
  return rows[0]!.taken
}

/** Runs `work` and returns the numbers of statements in each transaction that inserted devices meanwhile, with its begin and commit. */
async function enrolments(work: () => Promise<unknown>): Promise<number[]> {
  const queries = vi.spyOn(PreparingClient.prototype, 'query')
  try {
    await work()
    const counts: number[] = []
    const open = new Map<unknown, { count: number; isEnrolment: boolean }>()
    for (const [at, [query]] of queries.mock.calls.entries()) {
      const client = queries.mock.contexts[at]
      const text = typeof query === 'string' ? query : (query.text as string)
      if (text === 'begin') open.set(client, { count: 0, isEnrolment: false })
      const transaction = open.get(client)
      if (!transaction) continue
      transaction.count++
      transaction.isEnrolment ||= /insert into "?device"? /.test(text)
      if (text === 'commit' && transaction.isEnrolment) counts.push(transaction.count)
      if (text === 'commit' || text === 'rollback') open.delete(client)
    }
    return counts
  } finally {
    queries.mockRestore()
  }
}

const fingerprintOf = ({ certificatePem }: DeviceIdentity): string =>
  new X509Certificate(certificatePem).fingerprint256

const namesOf = (outcomes: (FakeDevice | Error)[]) =>
  outcomes.map(one => (one instanceof Error ? (one as Error & { status: number }).status : 'connected'))

describe('a new device', () => {
  it('is enrolled with six statements, and with many others at once with less than one', async () => {
    const fleet = await hub.fleet()
    const alone = await enrolments(async () => {
      await using _ = await connectDevice({ url: hub.url, token: fleet.token })
    })
    expect(alone).toEqual([6])
    const together = await enrolments(async () => {
      await using all = await connectTogether(identities.map(identity => ({ fleet, identity })))
      expect(new Set(namesOf(all.outcomes))).toEqual(new Set(['connected']))
    })
    const statements = together.reduce((sum, count) => sum + count, 0)
    expect(statements / MANY).toBeLessThan(0.8)
    const { owner, projectId } = fleet
    const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
    expect(devices).toHaveLength(MANY + 1)
  })

  it('leaves the rows and notices of its own organization when devices of others are stored with it', async () => {
    const fleets = [await hub.fleet(), await hub.fleet()]
    const streams = await Promise.all(fleets.map(({ owner }) => liveStream(hub, owner)))
    await using all = await connectTogether(
      identities.slice(0, 6).map((identity, at) => ({ fleet: fleets[at % 2]!, identity })),
    )
    for (const [at, { organizationId, projectId, tokenId }] of fleets.entries()) {
      const ids = all.outcomes
        .filter((_, device) => device % 2 === at)
        .map(one => (one as FakeDevice).deviceId)
      const { rows } = await sql<{ deviceId: string }>`
        select d.device_id as "deviceId", c.status, c.fingerprint, c.token_id as "tokenId", c.remote_address as "address",
               c.expires_at as "expiresAt", h.status as "change", h.actor
          from device d join device_certificate c using (device_id) join device_certificate_change h using (device_id)
         where d.project_id = ${projectId} order by d.device_id`.execute(hub.db)
      expect(rows.map(({ deviceId }) => deviceId)).toEqual(ids.toSorted())
      for (const [device, row] of rows.entries()) {
        const actor = { actor: 'Device', deviceId: row.deviceId, tokenId }
        expect(row).toMatchObject({
          status: 'Active',
          tokenId,
          address: '127.0.0.1',
          change: 'Active',
          actor,
        })
        expect(row).toMatchObject({
          expiresAt: new Date('4096-01-01T00:00:00Z'),
          fingerprint: expect.any(String),
        })
        const events = await hub.db
          .selectFrom('audit_event')
          .where('device_id', '=', rows[device]!.deviceId)
          .selectAll()
          .orderBy('created_at')
          .execute()
        const shared = {
          actor,
          actor_id: row.deviceId,
          organization_id: organizationId,
          project_id: projectId,
          address: '127.0.0.1',
          browser: null,
          action_id: null,
          old_data: null,
        }
        expect(events).toMatchObject([
          { ...shared, event: 'devices_Created', data: { deviceId: row.deviceId, projectId } },
          {
            ...shared,
            event: 'devices_CertificateAdded',
            data: { deviceId: row.deviceId, status: 'Active' },
          },
        ])
      }
      const { changes } = streams[at]!
      for (const topic of ['tokens', 'devices', 'certificates', 'log'])
        await until(`a notice of ${topic}`, async () => changes.some(change => change.topic === topic))
      expect(new Set(changes.map(change => change.organizationId))).toEqual(new Set([organizationId]))
      await streams[at]![Symbol.asyncDispose]()
    }
  })
})

describe('among new devices that are stored together', () => {
  it('only the one whose row the database rejects is refused', async () => {
    const fleet = await hub.fleet()
    const bad = publicIdOf(identities[5]!.fingerprint)
    await sql`create function refuse_device() returns trigger language plpgsql
      as $$ begin raise exception 'bad row' using errcode = '23514'; end $$`.execute(hub.db)
    await sql`create trigger refuse_device before insert on device for each row
      when (new.fingerprint_id = ${sql.lit(bad)}) execute function refuse_device()`.execute(hub.db)
    try {
      await using all = await connectTogether(identities.slice(0, 12).map(identity => ({ fleet, identity })))
      const expected = Array.from({ length: 12 }, (_, at) => (at === 5 ? 503 : 'connected'))
      expect(namesOf(all.outcomes)).toEqual(expected)
    } finally {
      await sql`drop function refuse_device cascade`.execute(hub.db)
    }
  })

  it('only the one that was blocked meanwhile is refused, by its fingerprint or by its certificate', async () => {
    const fleet = await hub.fleet()
    const { projectId } = fleet
    const [first, second] = identities as [DeviceIdentity, DeviceIdentity]
    await using all = await connectTogether(
      identities.slice(0, 6).map(identity => ({ fleet, identity })),
      async session => {
        const block = (blockId: string, fingerprint: string) =>
          session.query(
            `insert into device_block (block_id, project_id, device_id, fingerprint_id, fingerprint_hash, actor)
             values ($1, $2, 'd_x', $3, sha256($4::bytea), '{}')`,
            [blockId, projectId, publicIdOf(fingerprint), Buffer.from(fingerprint)],
          )
        await block('d_block_1', first.fingerprint)
        await block('d_block_2', (await deviceIdentity()).fingerprint)
        await session.query(
          `insert into device_block_certificate (block_id, project_id, fingerprint)
           values ('d_block_2', $1, $2)`,
          [projectId, fingerprintOf(second)],
        )
      },
    )
    expect(namesOf(all.outcomes)).toEqual([403, 403, 'connected', 'connected', 'connected', 'connected'])
    expect(all.outcomes[0]).toMatchObject({ body: expect.stringContaining('this device is blocked') })
    expect(all.outcomes[1]).toMatchObject({ body: expect.stringContaining('this device is blocked') })
  })

  it('only those of a token that is being deleted wait, and are refused after it', async () => {
    const [fleet, deleted] = [await hub.fleet(), await hub.fleet()]
    await using deletion = await databaseSession(hub)
    await deletion.query('begin')
    const outcomes = connectTogether(
      identities.slice(0, 6).map((identity, at) => ({ fleet: at % 2 === 0 ? fleet : deleted, identity })),
      () => deletion.query('delete from deployment_token where token_id = $1', [deleted.tokenId]),
    )
    await until('the devices of the other token are connected', async () => {
      const { owner, projectId } = fleet
      const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
      return devices.filter(({ isConnected }) => isConnected).length === 3
    })
    await deletion.query('commit')
    await using all = await outcomes
    expect(namesOf(all.outcomes)).toEqual(['connected', 401, 'connected', 401, 'connected', 401])
  })

  it('only those with a certificate that another transaction has locked wait', async () => {
    const fleet = await hub.fleet()
    const { projectId, owner } = fleet
    await using other = await databaseSession(hub)
    await other.query('begin')
    await other.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
      `${projectId} ${fingerprintOf(identities[1]!)}`,
    ])
    const outcomes = connectTogether(identities.slice(0, 4).map(identity => ({ fleet, identity })))
    await until('the others are connected', async () => {
      const { devices } = await owner.invoke('projects_QueryDevices', { projectId })
      return devices.filter(({ isConnected }) => isConnected).length === 3
    })
    await other.waitingStatements(1)
    await other.query('commit')
    await using all = await outcomes
    expect(new Set(namesOf(all.outcomes))).toEqual(new Set(['connected']))
  })

  it('one that connects twice, and one with a certificate that must be its own, are decided as if they came alone', async () => {
    const fleet = await hub.fleet()
    const { owner, projectId } = fleet
    const own = await owner.invoke('projects_CreateDeploymentToken', {
      projectId,
      name: 'Own',
      flags: { autoAccept: true, ownCertificate: true },
    })
    const [first, second, third] = identities as [DeviceIdentity, DeviceIdentity, DeviceIdentity]
    const copy = { ...third, certificatePem: second.certificatePem }
    await using all = await connectTogether([
      { fleet, identity: first },
      { fleet, identity: first },
      ...[second, copy].map(identity => ({ fleet: { ...fleet, ...own }, identity })),
    ])
    const [one, again, ...sharing] = all.outcomes
    expect((one as FakeDevice).deviceId).toBe((again as FakeDevice).deviceId)
    expect(namesOf(sharing).toSorted()).toEqual([403, 'connected'])
    expect((await owner.invoke('projects_QueryDevices', { projectId })).devices).toHaveLength(3)
  })
})

it('a new device is refused when 30 s have passed before its batch', async () => {
  const transaction = Promise.withResolvers<never>()
  const parts = { transaction: () => transaction.promise } as unknown as CommandParts
  const device = {
    tokenId: 'deployment_id_a',
    projectId: 'p_a',
    organizationId: 'o_a',
    fingerprint: identities[0]!.fingerprint,
    certificate: { fingerprint: fingerprintOf(identities[0]!), expiresAt: undefined },
    address: '192.0.2.1',
    hasLeft: () => false,
  }
  vi.useFakeTimers()
  try {
    const newDevices = new NewDevices(parts)
    const outcomes = [newDevices.add(device).catch((error: unknown) => error)]
    await vi.advanceTimersByTimeAsync(50)
    outcomes.push(newDevices.add(device).catch((error: unknown) => error))
    await vi.advanceTimersByTimeAsync(31_000)
    transaction.reject(Object.assign(new Error('gone'), { code: 'ECONNREFUSED' }))
    await vi.advanceTimersByTimeAsync(50)
    expect(await Promise.all(outcomes)).toMatchObject([
      { code: 'ECONNREFUSED' },
      { status: 503, message: 'too many devices connect at once' },
    ])
  } finally {
    vi.useRealTimers()
  }
})
