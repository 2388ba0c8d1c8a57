import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { MAX_BULK_ITEMS, newDatedId, newId } from '@muster/actions'
import {
  auditEvents,
  clearAudit,
  connectDevice,
  databaseSession,
  deviceIdentity,
  deviceRow,
  failed,
  liveStream,
  randomFingerprint,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

let hub: TestHub
let owner: TestUser
let colleague: TestUser
let organizationId: string
let projectId: string

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user({ displayName: 'Olga' })
  colleague = await hub.user({ displayName: 'Carl' })
  organizationId = await hub.organization(owner, [colleague])
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(async () => {
  projectId = await hub.project(owner, organizationId)
  await clearAudit(hub)
})

/** Inserts devices with one pending certificate each; resolves to the ids of the certificates, in the order of their devices. */
async function pendingDevices(count: number, of = projectId): Promise<string[]> {
  const { rows } = await hub.pool.query<{ id: string }>(
    `with made as (
       insert into device (device_id, project_id, fingerprint_id, fingerprint_hash, pending_certificates, first_seen)
       select 'd_' || translate(left(md5($1 || i), 22), '0', 'z'), $1, 'd_pk_' || md5($1 || i), decode(md5($1 || i), 'hex'), 1,
              now() - make_interval(secs => i)
         from generate_series(1, $2::int) i returning device_id, first_seen
     )
     insert into device_certificate (certificate_id, device_id, fingerprint, status, first_seen)
     select 'd_c_' || substr(device_id, 3), device_id, upper(md5(device_id)), 'Pending', first_seen from made
     returning certificate_id as id`,
    [of, count],
  )
  return rows.map(({ id }) => id)
}

/**
 * Value of `askedBy` for a deletion: the person and the session in which the deletion was clicked. The hub refuses the deletion in any
 * other session.
 */
async function askedBy(person: TestUser) {
  const { sessionId } = await person.invoke('actor_GetActor', {})
  return { userId: person.userId, sessionId: sessionId! }
}

const certificates = (certificateIds: string[]) => ({ kind: 'certificates' as const, certificateIds })

function preview(decision: 'Accept' | 'Reject', certificateIds: string[], person = owner) {
  return person.invoke('devices_CreateBulkDecision', {
    projectId,
    decision,
    selection: certificates(certificateIds),
  })
}

async function decide(
  decision: 'Accept' | 'Reject',
  certificateIds: string[],
  person = owner,
): Promise<string> {
  const { bulkActionId } = await preview(decision, certificateIds, person)
  await person.invoke('devices_StartBulkDecision', { projectId, bulkActionId })
  return bulkActionId
}

const stateOf = (bulkActionId: string) => owner.invoke('devices_GetBulkAction', { projectId, bulkActionId })

async function itemsOf(bulkActionId: string, outcome?: 'Succeeded' | 'Refused' | 'Open') {
  const { items } = await owner.invoke('devices_QueryBulkActionItems', {
    projectId,
    bulkActionId,
    outcome,
  })
  return items
}

/** Locks the device of an item until the session releases it. */
async function lockDeviceAt(position: number, bulkActionId: string) {
  const session = await databaseSession(hub)
  await session.query('begin')
  await session.query(
    `select from device d join bulk_action_item i using (device_id)
      where i.bulk_action_id = $1 and i.position = $2 for update of d`,
    [bulkActionId, position],
  )
  return session
}

function ended(bulkActionId: string) {
  return until(
    'the bulk action ends',
    async () => {
      const state = await stateOf(bulkActionId)
      return !['Waiting', 'Running'].includes(state.status) && state
    },
    30_000,
  )
}

/** Number of certificates of the project by status. */
async function statuses(): Promise<Record<string, number>> {
  const { rows } = await hub.pool.query<{ status: string; count: number }>(
    `select c.status, count(*)::int as count from device_certificate c join device d using (device_id)
      where d.project_id = $1 group by 1`,
    [projectId],
  )
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

async function deviceCount(): Promise<number> {
  return (await owner.invoke('projects_GetDetails', { projectId })).deviceCount
}

/** Makes a bulk action due that is not due yet, so that the job continues with it immediately. */
async function dueNow(bulkActionId: string): Promise<void> {
  await hub.pool.query('update bulk_action set due_at = now() where bulk_action_id = $1', [bulkActionId])
  await hub.services.bulkActions.resume()
}

describe('a decision on several certificates', () => {
  it('is made for each certificate with an event of its own, before the request is answered', async () => {
    const ids = await pendingDevices(20)
    const preparation = await preview('Accept', ids)
    expect(preparation).toMatchObject({ itemCount: 20, deviceCount: 20, connectedCount: 0, leftOutCount: 0 })
    expect(preparation.first).toHaveLength(5)
    expect(await statuses()).toEqual({ Pending: 20 })
    const { bulkActionId } = preparation
    await owner.invoke('devices_StartBulkDecision', { projectId, bulkActionId })
    expect(await statuses()).toEqual({ Active: 20 })
    expect(await stateOf(bulkActionId)).toMatchObject({
      kind: 'Accept',
      status: 'Completed',
      actorName: 'Olga',
      itemCount: 20,
      succeededCount: 20,
      skippedCount: 0,
      failedCount: 0,
    })
    const events = await auditEvents(hub, 'devices_CertificateStatusChanged')
    expect(events).toHaveLength(20)
    for (const event of events)
      expect(event).toMatchObject({
        action: 'devices_StartBulkDecision',
        actor: { actor: 'User', userId: owner.userId },
        organizationId,
        projectId,
        data: { status: 'Active' },
      })
    expect(new Set(events.map(({ deviceId }) => deviceId)).size).toBe(20)
    expect(await auditEvents(hub, 'devices_BulkActionStarted')).toMatchObject([
      { data: { bulkActionId, kind: 'Accept', itemCount: 20 } },
    ])
    const { devices } = await owner.invoke('projects_QueryDevices', {
      projectId,
      filter: { status: 'pending' },
    })
    expect(devices).toEqual([])
  })

  it('refreshes the logs of its devices that are open', async () => {
    const ids = await pendingDevices(2)
    const { bulkActionId } = await preview('Accept', ids)
    await using console = await liveStream(hub, owner)
    await owner.invoke('devices_StartBulkDecision', { projectId, bulkActionId })
    const logs = () =>
      console.changes.filter(({ topic, deviceId }) => topic === 'log' && deviceId !== undefined)
    await until('both logs are refreshed', () => logs().length > 0)
    const devices = (await itemsOf(bulkActionId)).map(({ deviceId }) => deviceId).sort()
    expect(
      logs()
        .map(({ deviceId }) => deviceId)
        .sort(),
    ).toEqual(devices)
    expect(logs()[0]).toMatchObject({ organizationId, projectId })
  })

  it('means the certificates of the preview only: a later one of the same device stays pending', async () => {
    const [certificateId] = await pendingDevices(1)
    const { rows } = await hub.pool.query('select device_id from device where project_id = $1', [projectId])
    const deviceIds = rows.map(row => row.device_id as string)
    const made = await owner.invoke('devices_CreateBulkDecision', {
      projectId,
      decision: 'Reject',
      selection: { kind: 'filter', filter: { status: 'pending' } },
    })
    const fingerprint = Array.from({ length: 32 }, () => 'AB').join(':')
    await owner.invoke('devices_AddCertificate', { deviceId: deviceIds[0]!, fingerprint })
    await owner.invoke('devices_StartBulkDecision', { projectId, bulkActionId: made.bulkActionId })
    expect(await itemsOf(made.bulkActionId)).toMatchObject([{ certificateId, outcome: 'Succeeded' }])
    const state = await statuses()
    expect(state.Rejected).toBe(1)
    expect(state.Pending).toBeGreaterThanOrEqual(1)
  })

  it('skips certificates that others have decided or deleted meanwhile, with actor and time', async () => {
    const ids = await pendingDevices(5)
    const { bulkActionId } = await preview('Accept', ids)
    const items = await itemsOf(bulkActionId, 'Open')
    const [accepted, rejected, gone, deleted] = items.map(({ certificateId }) => certificateId!)
    const setStatus = (certificateId: string, status: 'Active' | 'Rejected') =>
      colleague.invoke('devices_SetCertificateStatus', { certificateId, status })
    await setStatus(accepted!, 'Active')
    await setStatus(rejected!, 'Rejected')
    await colleague.invoke('devices_DeleteCertificate', { certificateId: gone! })
    const deletedId = items.find(({ certificateId }) => certificateId === deleted)!.deviceId
    await colleague.invoke('devices_Delete', { deviceId: deletedId })
    await owner.invoke('devices_StartBulkDecision', { projectId, bulkActionId })
    const refused = await itemsOf(bulkActionId, 'Refused')
    const by = { outcome: 'Skipped', actorName: 'Carl', actor: { userId: colleague.userId } }
    expect(refused).toMatchObject([
      { ...by, reason: 'AlreadyAccepted', certificateId: accepted, exists: true },
      { ...by, reason: 'AlreadyRejected', certificateId: rejected, exists: true },
      { ...by, reason: 'CertificateDeleted', certificateId: gone, exists: true },
      { ...by, reason: 'DeviceDeleted', certificateId: deleted, exists: false },
    ])
    for (const { actedAt } of refused) expect(Date.parse(actedAt!)).toBeGreaterThan(Date.now() - 60_000)
    expect(await itemsOf(bulkActionId, 'Succeeded')).toHaveLength(1)
    expect(await stateOf(bulkActionId)).toMatchObject({ succeededCount: 1, skippedCount: 4 })
  })

  it('is made once when two people decide the same certificates at once', async () => {
    const ids = await pendingDevices(40)
    const one = await preview('Accept', ids)
    const other = await preview('Reject', ids, colleague)
    await Promise.all([
      owner.invoke('devices_StartBulkDecision', { projectId, bulkActionId: one.bulkActionId }),
      colleague.invoke('devices_StartBulkDecision', { projectId, bulkActionId: other.bulkActionId }),
    ])
    const [accepted, rejected] = await Promise.all([stateOf(one.bulkActionId), stateOf(other.bulkActionId)])
    expect(accepted.succeededCount + rejected.succeededCount).toBe(40)
    expect(accepted.succeededCount + accepted.skippedCount).toBe(40)
    expect(rejected.succeededCount + rejected.skippedCount).toBe(40)
    const state = await statuses()
    expect([state.Active ?? 0, state.Rejected ?? 0]).toEqual([
      accepted.succeededCount,
      rejected.succeededCount,
    ])
    const { rows } = await hub.pool.query(
      `select certificate_id from device_certificate_change h join device d using (device_id)
        where d.project_id = $1 group by 1 having count(*) > 1`,
      [projectId],
    )
    expect(rows).toEqual([])
  })

  it('lets an accepted device connect', async () => {
    const { token } = await hub.token(owner, projectId, false)
    const identity = await deviceIdentity()
    await connectDevice({ url: hub.url, token, identity }).catch(() => {})
    const { certificates: found } = await owner.invoke('projects_QueryPendingCertificates', { projectId })
    await decide(
      'Accept',
      found.map(({ certificateId }) => certificateId),
    )
    await using device = await connectDevice({ url: hub.url, token, identity })
    expect(device.deviceId).toBe(found[0]!.deviceId)
  })

  it('leaves out absent certificates and those of other organizations alike', async () => {
    const stranger = await hub.user()
    const foreignProject = await hub.project(stranger, await hub.organization(stranger))
    const foreign = await pendingDevices(2, foreignProject)
    const own = await pendingDevices(1)
    const made = await preview('Accept', [...foreign, ...own, newId('d_c')])
    expect(made).toMatchObject({ itemCount: 1, leftOutCount: 3 })
    await owner.invoke('devices_StartBulkDecision', { projectId, bulkActionId: made.bulkActionId })
    const { certificates: still } = await stranger.invoke('projects_QueryPendingCertificates', {
      projectId: foreignProject,
    })
    expect(still).toHaveLength(2)
  })
})

describe('a bulk action', () => {
  it('is started once, within an hour, and runs with the rights of the person who starts it', async () => {
    const ids = await pendingDevices(2)
    const { bulkActionId } = await preview('Accept', ids)
    await hub.pool.query(
      `update bulk_action set created_at = now() - interval '61 min' where bulk_action_id = $1`,
      [bulkActionId],
    )
    const late = failed(owner.invoke('devices_StartBulkDecision', { projectId, bulkActionId }))
    expect(await late).toMatchObject({ kind: 'Invalid', message: expect.stringContaining('60 min') })
    const { bulkActionId: second } = await preview('Accept', ids)
    await colleague.invoke('devices_StartBulkDecision', { projectId, bulkActionId: second })
    expect(await stateOf(second)).toMatchObject({ actorName: 'Carl', succeededCount: 2 })
    const again = failed(owner.invoke('devices_StartBulkDecision', { projectId, bulkActionId: second }))
    expect(await again).toMatchObject({ kind: 'Invalid', status: 409 })
    const asDeletion = owner.invoke('devices_StartBulkDeletion', { projectId, bulkActionId: second })
    expect(await failed(asDeletion)).toMatchObject({ kind: 'Forbidden' })
  })

  it('needs a session, not a user token', async () => {
    const invoke = hub.withToken(await hub.userToken(owner))
    const selection = certificates(await pendingDevices(1))
    const error = await failed(
      invoke('devices_CreateBulkDecision', { projectId, decision: 'Accept', selection }),
    )
    expect(error).toMatchObject({ kind: 'Forbidden', message: expect.stringContaining('signed in') })
  })

  it('is refused above the largest number of items, with that number', async () => {
    const deviceIds = Array.from({ length: MAX_BULK_ITEMS + 1 }, () => newId('d'))
    const named = owner.invoke('devices_CreateBulkDeletion', {
      projectId,
      selection: { kind: 'devices', deviceIds },
    })
    expect(await failed(named)).toMatchObject({ kind: 'Invalid' })
    await hub.pool.query(
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
       select 'd_' || i || $1, $1, 'd_pk_' || i, convert_to(i::text, 'UTF8') from generate_series(1, $2::int) i`,
      [projectId, MAX_BULK_ITEMS + 1],
    )
    const filtered = owner.invoke('devices_CreateBulkDeletion', { projectId, selection: { kind: 'filter' } })
    expect(await failed(filtered)).toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('20,000'),
    })
    const { rows } = await hub.pool.query('select from bulk_action where project_id = $1', [projectId])
    expect(rows).toEqual([])

    // Only devices with a pending certificate count for a decision.
    await pendingDevices(12)
    const decision = await owner.invoke('devices_CreateBulkDecision', {
      projectId,
      decision: 'Accept',
      selection: { kind: 'filter' },
    })
    expect(decision).toMatchObject({ itemCount: 12, leftOutCount: 0 })
  })

  it('is not started while five of the project are unfinished', async () => {
    const ids = await pendingDevices(2)
    await hub.pool.query(
      `insert into bulk_action (bulk_action_id, project_id, kind, status, user_id, session_id, due_at)
       select 'bulk_' || $1 || i, $1, 'Accept', 'Running', 'none', 'none', now() + interval '1 h' from generate_series(1, 5) i`,
      [projectId],
    )
    const { bulkActionId } = await preview('Accept', ids)
    const start = () => owner.invoke('devices_StartBulkDecision', { projectId, bulkActionId })
    expect(await failed(start())).toMatchObject({ kind: 'Invalid', status: 409 })
    await hub.pool.query("update bulk_action set status = 'Completed' where user_id = 'none'")
    await start()
    expect(await statuses()).toEqual({ Active: 2 })
  })

  it('replaces the previews that its person did not start', async () => {
    const ids = await pendingDevices(2)
    const { bulkActionId } = await preview('Accept', ids)
    await preview('Accept', ids)
    expect(await failed(stateOf(bulkActionId))).toMatchObject({ kind: 'Forbidden' })
  })

  it('counts the devices and certificates of a selection', async () => {
    await pendingDevices(3)
    const connected = await deviceRow(hub, projectId, { isConnected: true, name: 'gate' })
    const count = (selection: object) =>
      owner.invoke('devices_GetBulkCounts', { projectId, selection: selection as never })
    expect(await count({ kind: 'filter' })).toEqual({
      deviceCount: 4,
      pendingCertificateCount: 3,
      connectedCount: 1,
    })
    expect(await count({ kind: 'filter', filter: { text: 'gate' } })).toMatchObject({ deviceCount: 1 })
    expect(await count({ kind: 'devices', deviceIds: [connected, newId('d')] })).toEqual({
      deviceCount: 1,
      pendingCertificateCount: 0,
      connectedCount: 1,
    })
  })
})

describe('a deletion of several devices', () => {
  async function previewed(selection: object): Promise<string> {
    const made = await owner.invoke('devices_CreateBulkDeletion', {
      projectId,
      selection: selection as never,
    })
    return made.bulkActionId
  }

  it('deletes each device with an event of its own, and skips those that no longer match the filter', async () => {
    const stays = await deviceRow(hub, projectId, { name: 'obsolete gate' })
    const goes = await deviceRow(hub, projectId, { name: 'obsolete door' })
    const bulkActionId = await previewed({ kind: 'filter', filter: { text: 'obsolete' } })
    await owner.invoke('devices_SetName', { deviceId: stays, name: 'new gate' })
    await owner.invoke('devices_StartBulkDeletion', {
      projectId,
      bulkActionId,
      askedBy: await askedBy(owner),
    })
    expect(await itemsOf(bulkActionId, 'Refused')).toMatchObject([
      { deviceId: stays, reason: 'NoLongerMatches' },
    ])
    expect(await itemsOf(bulkActionId, 'Succeeded')).toMatchObject([
      { deviceId: goes, name: 'obsolete door', exists: false },
    ])
    expect(await auditEvents(hub, 'devices_Deleted')).toMatchObject([
      { deviceId: goes, action: 'devices_StartBulkDeletion', organizationId, projectId },
    ])
  })

  it('C30: is refused from any session but that of the click, as a held decision is', async () => {
    const deviceId = await deviceRow(hub, projectId)
    const fingerprint = randomFingerprint()
    const { certificateId } = await owner.invoke('devices_AddCertificate', { deviceId, fingerprint })
    const { bulkActionId: decisionId } = await preview('Reject', [certificateId])
    const foreign = await askedBy(colleague)
    const status = owner.invoke('devices_SetCertificateStatus', {
      certificateId,
      status: 'Active',
      askedBy: foreign,
    })
    expect(await failed(status)).toMatchObject({ kind: 'Forbidden' })
    const decision = owner.invoke('devices_StartBulkDecision', {
      projectId,
      bulkActionId: decisionId,
      askedBy: foreign,
    })
    expect(await failed(decision)).toMatchObject({ kind: 'Forbidden' })
    const own = { certificateId, status: 'Active' as const, askedBy: await askedBy(owner) }
    expect(await owner.invoke('devices_SetCertificateStatus', own)).toEqual({})
    await owner.invoke('devices_Delete', { deviceId })
    const bulkActionId = await previewed({ kind: 'devices', deviceIds: [await deviceRow(hub, projectId)] })
    const start = owner.invoke('devices_StartBulkDeletion', {
      projectId,
      bulkActionId,
      askedBy: await askedBy(colleague),
    })
    expect(await failed(start)).toMatchObject({ kind: 'Forbidden' })
    expect(await deviceCount()).toBe(1)
  })

  it('closes the connections of the devices', async () => {
    const { token } = await hub.token(owner, projectId)
    await using device = await connectDevice({ url: hub.url, token })
    const bulkActionId = await previewed({ kind: 'devices', deviceIds: [device.deviceId] })
    await owner.invoke('devices_StartBulkDeletion', { projectId, bulkActionId })
    expect((await device.link.ended).reason).toBe('this device was deleted')
  })

  it('of more than 200 devices waits for 10 s, and deletes no device if it is cancelled', async () => {
    await pendingDevices(201)
    const bulkActionId = await previewed({ kind: 'filter' })
    await owner.invoke('devices_StartBulkDeletion', { projectId, bulkActionId })
    const state = await stateOf(bulkActionId)
    expect(state).toMatchObject({ status: 'Waiting', itemCount: 201 })
    expect(Date.parse(state.dueAt!) - Date.parse(state.startedAt!)).toBe(10_000)
    await colleague.invoke('devices_CancelBulkAction', { projectId, bulkActionId })
    expect(await stateOf(bulkActionId)).toMatchObject({
      status: 'Cancelled',
      cancelledByName: 'Carl',
      succeededCount: 0,
    })
    await hub.runJob('devices_RunBulkActions', {})
    expect(await deviceCount()).toBe(201)
    const again = owner.invoke('devices_CancelBulkAction', { projectId, bulkActionId })
    expect(await failed(again)).toMatchObject({ kind: 'Invalid', status: 409 })
    expect(await auditEvents(hub, 'devices_BulkActionCancelled')).toMatchObject([{ data: { doneCount: 0 } }])
  })

  it('that a newer release started is shown and cancelled by this one', async () => {
    await pendingDevices(2)
    const bulkActionId = await previewed({ kind: 'filter' })
    await hub.pool.query('alter table bulk_action drop constraint bulk_action_kind_check')
    await hub.pool.query(
      `update bulk_action set kind = 'Update', status = 'Running', due_at = now() where bulk_action_id = $1`,
      [bulkActionId],
    )
    await hub.pool.query(
      `update bulk_action_item set outcome = 'Succeeded' where bulk_action_id = $1 and position = 0`,
      [bulkActionId],
    )
    expect(await stateOf(bulkActionId)).toMatchObject({ kind: 'Update', status: 'Running' })
    await owner.invoke('devices_CancelBulkAction', { projectId, bulkActionId })
    expect(await stateOf(bulkActionId)).toMatchObject({ status: 'Cancelled', succeededCount: 1 })
    expect(await auditEvents(hub, 'devices_BulkActionCancelled')).toMatchObject([
      { data: { kind: 'Update', doneCount: 1 } },
    ])
  })

  it('of more than 200 devices runs as a job, with events of the person', async () => {
    await pendingDevices(230)
    const bulkActionId = await previewed({ kind: 'filter' })
    await owner.invoke('devices_StartBulkDeletion', { projectId, bulkActionId })
    await dueNow(bulkActionId)
    expect(await ended(bulkActionId)).toMatchObject({ status: 'Completed', succeededCount: 230 })
    expect(await deviceCount()).toBe(0)
    const { rows } = await hub.pool.query(
      `select count(*)::int as events, count(job_id)::int as jobs, count(distinct actor_id)::int as actors
         from audit_event where event = 'devices_Deleted' and project_id = $1`,
      [projectId],
    )
    expect(rows).toEqual([{ events: 230, jobs: 230, actors: 1 }])
  })

  it.each([
    ['session', () => hub.pool.query('delete from session where user_id = $1', [colleague.userId])],
    [
      'membership',
      () => hub.pool.query('delete from organization_member where user_id = $1', [colleague.userId]),
    ],
    [
      'account',
      () => hub.pool.query('update "user" set is_active = false where user_id = $1', [colleague.userId]),
    ],
  ])('stops when the %s of its person ends', async (_what, end) => {
    colleague = await hub.user({ displayName: 'Carl' })
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: colleague.userId })
      .execute()
    await pendingDevices(201)
    const selection = { kind: 'filter' as const }
    const { bulkActionId } = await colleague.invoke('devices_CreateBulkDeletion', { projectId, selection })
    await colleague.invoke('devices_StartBulkDeletion', { projectId, bulkActionId })
    await end()
    await dueNow(bulkActionId)
    expect(await ended(bulkActionId)).toMatchObject({ status: 'Stopped', succeededCount: 0 })
    expect(await deviceCount()).toBe(201)
    expect(await auditEvents(hub, 'devices_BulkActionStopped')).toMatchObject([{ data: { bulkActionId } }])
  })

  it('stops after the 50 items during which the membership of its person ends', async () => {
    colleague = await hub.user({ displayName: 'Carl' })
    const membership = { organization_id: organizationId, user_id: colleague.userId }
    await hub.db.insertInto('organization_member').values(membership).execute()
    await pendingDevices(201)
    const selection = { kind: 'filter' as const }
    const { bulkActionId } = await colleague.invoke('devices_CreateBulkDeletion', { projectId, selection })
    await colleague.invoke('devices_StartBulkDeletion', { projectId, bulkActionId })
    const sweeps = async () =>
      (await hub.pool.query(`select from pgboss.job where name = 'devices_SweepHistory'`)).rowCount!
    const before = await sweeps()
    // The lock of the 20th device holds up the first portion of 50 items after the rights for it were read.
    await using session = await lockDeviceAt(19, bulkActionId)
    const running = dueNow(bulkActionId)
    await session.waitingStatements(1)
    await hub.pool.query('delete from organization_member where user_id = $1', [colleague.userId])
    await session.release()
    await running
    expect(await ended(bulkActionId)).toMatchObject({ status: 'Stopped', succeededCount: 50 })
    expect(await deviceCount()).toBe(151)
    expect(await sweeps()).toBe(before + 1)
  })
})

it('continues a bulk action after its process was killed, and decides nothing twice', async () => {
  const ids = await pendingDevices(230)
  const { bulkActionId } = await preview('Accept', ids)
  const { rows: sessions } = await hub.pool.query('select session_id from session where user_id = $1', [
    owner.userId,
  ])
  // The time in `due_at` is an hour ahead. Otherwise the hub of this test could continue the bulk action before the other process is
  // killed.
  await hub.pool.query(
    `update bulk_action set status = 'Running', session_id = $2, due_at = now() + interval '1 h' where bulk_action_id = $1`,
    [bulkActionId, sessions[0].session_id],
  )
  const { host, user, password, database, connectionString } = hub.pool.options
  const script = `
    import '${join(import.meta.dirname, '../index.ts')}'
    import { openDatabase } from '${join(import.meta.dirname, '../../platform/database/client/connection.ts')}'
    import { BulkActions } from '${join(import.meta.dirname, 'bulk-actions.ts')}'
    import { Sessions } from '${join(import.meta.dirname, '../../platform/sessions/sessions.ts')}'
    import { createLog } from '${join(import.meta.dirname, '../../platform/runtime/log.ts')}'
    const { db } = openDatabase(${JSON.stringify({ host, user, password, database, connectionString })}, () => {})
    const live = { changed() {} }
    const devices = { endRight() {} }
    await new BulkActions({ db, sessions: new Sessions({ db }), devices, live, log: createLog('silent') }).runWhole('${bulkActionId}')`
  // The lock of a device in the second portion of 200 items holds the other process up until it is killed.
  await using session = await lockDeviceAt(210, bulkActionId)
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const exited = once(child, 'exit')
  await until('the first portion is accepted', async () => ((await statuses()).Active ?? 0) > 0)
  await session.waitingStatements(1)
  child.kill('SIGKILL')
  await exited
  await session.release()
  const before = await statuses()
  expect(before.Pending).toBeGreaterThan(0)
  expect(before.Active).toBeGreaterThan(0)
  await dueNow(bulkActionId)
  expect(await ended(bulkActionId)).toMatchObject({
    status: 'Completed',
    succeededCount: 230,
    skippedCount: 0,
  })
  expect(await statuses()).toEqual({ Active: 230 })
  expect(await auditEvents(hub, 'devices_CertificateStatusChanged')).toHaveLength(230)
})

it('lets an item fail alone whose change the database refuses', async () => {
  const ids = await pendingDevices(230)
  const { bulkActionId } = await preview('Accept', ids)
  await hub.pool.query(
    `alter table device_certificate add constraint one_refused check (certificate_id <> '${ids[7]}' or status = 'Pending')`,
  )
  try {
    await owner.invoke('devices_StartBulkDecision', { projectId, bulkActionId })
    expect(await ended(bulkActionId)).toMatchObject({
      status: 'Completed',
      succeededCount: 229,
      failedCount: 1,
    })
    const { items } = await owner.invoke('devices_QueryBulkActionItems', {
      projectId,
      bulkActionId,
      outcome: 'Refused',
    })
    expect(items).toMatchObject([{ certificateId: ids[7], outcome: 'Failed', reason: 'HubError' }])
    expect(await auditEvents(hub, 'devices_CertificateStatusChanged')).toHaveLength(229)
  } finally {
    await hub.pool.query('alter table device_certificate drop constraint one_refused')
  }
})

it('goes on with what is left of its list when its failed job is retried', async () => {
  const ids = await pendingDevices(230)
  const { bulkActionId } = await preview('Accept', ids)
  const { rows: sessions } = await hub.pool.query('select session_id from session where user_id = $1', [
    owner.userId,
  ])
  const jobId = newDatedId('job')
  await hub.pool.query(
    `insert into pgboss.job (name, data, state, started_on, completed_on, retry_limit, retry_count, expire_seconds, output)
     values ('devices_RunBulkActions', $1, 'failed', now(), now(), 1, 1, 1500, '{"message":"connection lost"}')`,
    [{ jobId }],
  )
  await hub.pool.query(
    `update bulk_action_item set outcome = 'Succeeded' where bulk_action_id = $1 and position < 100`,
    [bulkActionId],
  )
  await hub.pool.query(
    `update bulk_action set status = 'Running', session_id = $2, job_id = $3, due_at = now(), succeeded_count = 100
      where bulk_action_id = $1`,
    [bulkActionId, sessions[0].session_id, jobId],
  )
  const admin = await hub.user({ isAdmin: true })
  const jobOf = async () => {
    const { jobs } = await admin.invoke('jobs_Query', { filter: { job: 'devices_RunBulkActions' } })
    return jobs.find(job => job.jobId === jobId)!
  }
  expect(await jobOf()).toMatchObject({ status: 'Failed', progress: { done: 100, total: 230 } })
  expect(await admin.invoke('jobs_Retry', { jobId })).toEqual({ result: 'Queued' })
  expect(await ended(bulkActionId)).toMatchObject({ status: 'Completed', succeededCount: 230 })
  expect(await auditEvents(hub, 'devices_CertificateStatusChanged')).toHaveLength(130)
  await until('the job ends', async () => (await jobOf()).status === 'Completed')
})
