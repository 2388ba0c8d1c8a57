import { ActionError, type ActionName, newId, publicIdOf } from '@muster/actions'
import {
  auditEvents,
  auditRows,
  capturedLog,
  clearAudit,
  databaseSession,
  deviceRow,
  failed,
  type LogLine,
  liveStream,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { handlers } from '../../features/index.ts'
import { sweepOrphanedActions } from '../audit/actions.ts'
import { type Caller, SYSTEM } from './caller.ts'
import type { CommandContext } from './command-context.ts'
import type { Handlers } from './handler.ts'
import { createPipeline, type Pipeline } from './invoke.ts'

const captured = capturedLog()
let hub: TestHub
let owner: TestUser
let outsider: TestUser
let caller: Caller
let projectId: string

beforeAll(async () => {
  hub = await testHub({}, captured.log)
  owner = await hub.user()
  outsider = await hub.user()
  caller = await hub.sessions.callerOf({ cookie: owner.cookie.split('=')[1]! })
})
afterAll(() => hub[Symbol.asyncDispose]())
beforeEach(async () => {
  const organizationId = await hub.organization(owner)
  projectId = await hub.project(owner, organizationId)
  await clearAudit(hub)
  captured.lines.length = 0
})

/** A pipeline that uses the hub's services and replaces some handlers. */
function pipelineWith(replaced: Partial<Handlers>): Pipeline {
  const { db, databaseShares, live, limits, services } = hub
  return createPipeline({
    db,
    shares: databaseShares,
    live,
    log: captured.log,
    handlers: { ...handlers, ...replaced },
    limits,
    services,
  })
}

type Rename = (
  context: CommandContext,
  input: { projectId: string; name: string },
) => Promise<Record<string, never>>

/** Renames the project through a handler of the test. Rejects like the pipeline. */
function rename(handler: Rename, name = 'New name'): Promise<unknown> {
  return pipelineWith({ projects_SetName: handler }).run(caller, 'projects_SetName', { projectId, name })
}

/** A handler that renames the project and then runs a function of the test. */
function afterRenaming(then: (context: CommandContext) => unknown): Rename {
  return async (context, input) => {
    await (handlers.projects_SetName as Rename)(context, input)
    await then(context)
    return {}
  }
}

async function nameNow(): Promise<string> {
  return (await owner.invoke('projects_GetDetails', { projectId })).name
}

describe('a command', () => {
  it('that succeeds writes its audit row, its audit event and its change', async () => {
    await owner.invoke('projects_SetName', { projectId, name: 'New name' })
    const actor = { actor: 'User', userId: owner.userId }
    expect(await auditRows(hub)).toEqual([
      { action: 'projects_SetName', actor, data: { projectId, name: 'New name' }, status: 'Succeeded' },
    ])
    expect(await auditEvents(hub)).toMatchObject([
      {
        event: 'projects_NameChanged',
        actor,
        data: { projectId, name: 'New name' },
        action: 'projects_SetName',
        projectId,
      },
    ])
    expect(await nameNow()).toBe('New name')
  })

  it('has a Pending audit row while it runs, which becomes Succeeded in the transaction of the change', async () => {
    const seen: unknown[] = []
    await rename(
      afterRenaming(async ({ tx }) => {
        seen.push(
          (await auditRows(hub)).map(row => row.status),
          await nameNow(),
        )
        const inside = await tx
          .selectFrom('project')
          .where('project_id', '=', projectId)
          .select('name')
          .execute()
        seen.push(inside)
      }),
    )
    expect(seen).toEqual([['Pending'], 'Test project', [{ name: 'New name' }]])
    const { rows } = await sql`
      select a.xmin = p.xmin as "isSameTransaction" from audit_action a, project p
       where a.action = 'projects_SetName' and p.project_id = ${projectId}`.execute(hub.db)
    expect(rows).toEqual([{ isSameTransaction: true }])
  })

  it('that is not permitted is Rejected before its handler runs', async () => {
    const outsiderCaller = await hub.sessions.callerOf({ cookie: outsider.cookie.split('=')[1]! })
    let hasRun = false
    const pipeline = pipelineWith({
      projects_SetName: async () => {
        hasRun = true
        return {}
      },
    })
    const error = await failed(pipeline.run(outsiderCaller, 'projects_SetName', { projectId, name: 'x' }))
    expect(error).toMatchObject({ kind: 'Forbidden', status: 403 })
    expect(hasRun).toBe(false)
    expect(await auditRows(hub)).toMatchObject([
      { action: 'projects_SetName', actor: { userId: outsider.userId }, status: 'Rejected' },
    ])
    expect(await auditEvents(hub)).toEqual([])
  })

  it('without credentials is Rejected for the anonymous actor', async () => {
    const error = await failed(hub.anonymous('projects_SetName', { projectId, name: 'x' }))
    expect(error).toMatchObject({ kind: 'Forbidden', status: 401 })
    expect(await auditRows(hub)).toMatchObject([{ actor: { actor: 'Anonymous' }, status: 'Rejected' }])
  })

  it('whose handler throws an ActionError is Failed and rolled back', async () => {
    const refuse = (): never => {
      throw new ActionError('Invalid', 'Not like this.', { status: 409 })
    }
    const error = await failed(rename(afterRenaming(refuse)))
    expect(error).toMatchObject({ kind: 'Invalid', message: 'Not like this.', status: 409 })
    expect(await auditRows(hub)).toMatchObject([{ status: 'Failed' }])
    expect(await auditEvents(hub)).toEqual([])
    expect(await nameNow()).toBe('Test project')
    expect(captured.named('action panicked')).toEqual([])
  })

  it('with a bug is Panicked, rolled back, and logged with its stack, which the answer does not contain', async () => {
    const bug = (): never => {
      throw new TypeError('secret detail of the hub')
    }
    const error = await failed(rename(afterRenaming(bug)))
    expect(error).toMatchObject({
      kind: 'Internal',
      status: 500,
      message: 'Something went wrong on the hub.',
    })
    expect(error.requestId).toMatch(/^internal-/)
    expect(await auditRows(hub)).toMatchObject([{ status: 'Panicked' }])
    expect(await auditEvents(hub)).toEqual([])
    expect(await nameNow()).toBe('Test project')
    const [line] = captured.named('action panicked')
    expect(line).toMatchObject({ level: 'error', action: 'projects_SetName', requestId: error.requestId })
    expect((line as LogLine & { err: { stack: string } }).err.stack).toContain('secret detail')
  })

  it('whose output does not match its schema is Panicked', async () => {
    const pipeline = pipelineWith({ projects_Create: async () => ({ result: 'Created', projectId: 'p_1' }) })
    const { organizationId } = await owner.invoke('projects_GetDetails', { projectId })
    const error = await failed(pipeline.run(caller, 'projects_Create', { organizationId, name: 'x' }))
    expect(error).toMatchObject({ kind: 'Internal', status: 500 })
    expect(await auditRows(hub)).toMatchObject([{ status: 'Panicked' }])
  })

  it('does not commit when another node took this node for dead and closed its audit row', async () => {
    const closeAsDead = () =>
      hub.db.updateTable('audit_action').set({ status: 'Panicked', finished_at: new Date() }).execute()
    const error = await failed(rename(afterRenaming(closeAsDead)))
    expect(error).toMatchObject({ kind: 'Internal', status: 503 })
    expect(await auditRows(hub)).toMatchObject([{ status: 'Panicked' }])
    expect(await nameNow()).toBe('Test project')
  })

  it('is tried again after a deadlock, and runs its effects once', async () => {
    let attempts = 0
    const effects: number[] = []
    await rename(
      afterRenaming(({ afterCommit }) => {
        const attempt = ++attempts
        afterCommit(() => void effects.push(attempt))
        if (attempt < 3) throw Object.assign(new Error('deadlock detected'), { code: '40P01' })
      }),
    )
    expect(effects).toEqual([3])
    expect(await auditRows(hub)).toMatchObject([{ status: 'Succeeded' }])
    expect(await auditEvents(hub)).toHaveLength(1)
  })

  it('is tried at most three times', async () => {
    let attempts = 0
    const conflict = (): never => {
      attempts++
      throw Object.assign(new Error('could not serialize access'), { code: '40001' })
    }
    expect(await failed(rename(afterRenaming(conflict)))).toMatchObject({ kind: 'Internal', status: 500 })
    expect(attempts).toBe(3)
  })

  it('is Failed and answers 503 when the database connection is lost', async () => {
    const gone = (): never => {
      throw Object.assign(new Error('terminating connection'), { code: '57P01' })
    }
    expect(await failed(rename(afterRenaming(gone)))).toMatchObject({ kind: 'Internal', status: 503 })
    expect(await auditRows(hub)).toMatchObject([{ status: 'Failed' }])
  })

  it('is Failed, not Rejected or Panicked, when the database connection is lost during the permission check', async () => {
    await using session = await databaseSession(hub)
    await session.lock('organization_member')
    const renaming = failed(rename(async () => ({})))
    await session.waitingStatements(1)
    await session.terminateOthers()
    await session.release()
    expect(await renaming).toMatchObject({ kind: 'Internal', status: 503 })
    // The rows are read over `session`, because the hub's own connections were terminated.
    const rows = await until('its row is closed', async () => {
      const rows = await session.query('select status from audit_action')
      return rows.every(({ status }) => status !== 'Pending') && rows
    })
    expect(rows).toEqual([{ status: 'Failed' }])
  })

  it('notifies consoles of a change after the commit only', async () => {
    await using console = await liveStream(hub, owner)
    let notified: unknown
    await rename(
      afterRenaming(async () => {
        // Notices are delivered 200 ms after a change. A later notice about another project shows that this time has passed.
        const other = await hub.project(
          owner,
          (await owner.invoke('projects_GetDetails', { projectId })).organizationId,
        )
        await until('the notice about the other project arrives', () =>
          console.changes.some(change => change.projectId === other),
        )
        notified = console.changes.filter(change => change.projectId === projectId)
      }),
    )
    expect(notified).toEqual([])
    await until('the notice arrives', () => console.changes.some(change => change.projectId === projectId))
  })

  it('does not notify consoles of a change that was rolled back', async () => {
    await using console = await liveStream(hub, owner)
    const refuse = (): never => {
      throw new ActionError('Invalid', 'no')
    }
    await failed(rename(afterRenaming(refuse)))
    const { organizationId } = await owner.invoke('projects_GetDetails', { projectId })
    const other = await hub.project(owner, organizationId)
    await until('another notice arrives', () => console.changes.some(change => change.projectId === other))
    // A failed action changes only the log of the project, which lists failed actions.
    const topics = console.changes.filter(change => change.projectId === projectId).map(({ topic }) => topic)
    expect(topics.filter(topic => topic !== 'log')).toEqual([])
  })

  it('is Succeeded even when an effect after the commit fails', async () => {
    let hasFollowed = false
    await rename(
      afterRenaming(({ afterCommit }) => {
        afterCommit(() => Promise.reject(new Error('the device did not listen')))
        afterCommit(() => {
          hasFollowed = true
        })
      }),
    )
    expect(hasFollowed).toBe(true)
    expect(await auditRows(hub)).toMatchObject([{ status: 'Succeeded' }])
    expect(captured.named('an effect after a commit failed')).toHaveLength(1)
  })

  it('by the hub itself is audited for its organization and notifies its consoles', async () => {
    await using console = await liveStream(hub, owner)
    await hub.pipeline.run(SYSTEM, 'projects_SetName', { projectId, name: 'By the hub' })
    const { organizationId } = await owner.invoke('projects_GetDetails', { projectId })
    expect(await auditRows(hub)).toMatchObject([{ actor: { actor: 'System' }, status: 'Succeeded' }])
    expect(await auditEvents(hub)).toMatchObject([{ actor: { actor: 'System' }, projectId, organizationId }])
    await until('a notice arrives', () => console.changes.some(change => change.projectId === projectId))
    const missing = hub.pipeline.run(SYSTEM, 'projects_SetName', { projectId: newId('p'), name: 'x' })
    expect(await failed(missing)).toMatchObject({ kind: 'Forbidden' })
  })
})

describe('a row deleted between the permission check and its use', () => {
  type Ids = { organizationId: string; projectId: string; deviceId: string; certificateId: string }
  // Deleting a project removes the rows of its devices only later, in a job. So the `device` cases delete the row of the device
  // itself.
  const raced: ['organization' | 'device', ActionName, (ids: Ids) => object][] = [
    ['organization', 'projects_Create', ({ organizationId }) => ({ organizationId, name: 'x' })],
    ['organization', 'projects_CreateDeploymentToken', ({ projectId }) => ({ projectId, name: 'x' })],
    [
      'device',
      'devices_AddCertificate',
      ({ deviceId }) => ({ deviceId, fingerprint: Array(32).fill('0A').join(':') }),
    ],
    ['device', 'devices_SetProperty', ({ deviceId }) => ({ deviceId, name: 'a', value: 1 })],
    ['device', 'devices_SetCertificateStatus', ({ certificateId }) => ({ certificateId, status: 'Active' })],
    ['device', 'devices_DeleteCertificate', ({ certificateId }) => ({ certificateId })],
  ]

  it.each(raced)('of kind %s counts as missing for %s', async (kind, name, inputOf) => {
    const { organizationId } = await owner.invoke('projects_GetDetails', { projectId })
    const deviceId = await deviceRow(hub, projectId)
    const { certificateId } = await owner.invoke('devices_AddCertificate', {
      deviceId,
      fingerprint: Array(32).fill('0B').join(':'),
    })
    await using deletion = await databaseSession(hub)
    await deletion.query('begin')
    const id = kind === 'device' ? deviceId : organizationId
    await deletion.query(`delete from ${kind} where ${kind}_id = $1`, [id])
    const ids = { organizationId, projectId, deviceId, certificateId }
    const outcome = failed(owner.invoke(name, inputOf(ids) as never))
    await deletion.waitingStatements(1)
    await deletion.query('commit')
    expect(await outcome).toMatchObject({
      kind: 'Forbidden',
      status: 403,
      message: 'You are not permitted to do this.',
    })
    expect((await auditRows(hub, name)).at(-1)).toMatchObject({ action: name, status: 'Failed' })
    expect(captured.named('action panicked')).toEqual([])
  })
})

describe('a query', () => {
  it('by a member of the organization is not audited', async () => {
    await owner.invoke('projects_GetDetails', { projectId })
    await owner.invoke('projects_QueryDevices', { projectId })
    expect(await auditRows(hub)).toEqual([])
  })

  it('by an administrator of the instance in a foreign organization is audited with the ids of its input', async () => {
    const admin = await hub.user({ isAdmin: true })
    await admin.invoke('projects_QueryDevices', { projectId, filter: { text: 'x' } })
    expect(await auditRows(hub)).toEqual([
      {
        action: 'projects_QueryDevices',
        actor: { actor: 'User', userId: admin.userId },
        data: { projectId },
        status: 'Succeeded',
      },
    ])
  })

  it('by an administrator of the instance in an organization of their own is not audited', async () => {
    const admin = await hub.user({ isAdmin: true })
    const { organizationId } = await owner.invoke('projects_GetDetails', { projectId })
    await hub.db
      .insertInto('organization_member')
      .values({ organization_id: organizationId, user_id: admin.userId })
      .execute()
    await admin.invoke('projects_QueryDevices', { projectId })
    await admin.invoke('users_GetDetails', { userId: admin.userId })
    expect(await auditRows(hub)).toEqual([])
  })

  it('that is refused is not audited', async () => {
    await failed(outsider.invoke('projects_GetDetails', { projectId }))
    expect(await auditRows(hub)).toEqual([])
  })
})

describe('an input', () => {
  it('that is invalid is refused with every issue and its path, without an audit row', async () => {
    const error = await failed(
      owner.invoke('projects_CreateDeploymentToken', {
        projectId: 'p_1',
        name: ' ',
        flags: { autoAccept: 'yes' },
      } as never),
    )
    expect(error).toMatchObject({
      kind: 'Invalid',
      status: 400,
      issues: [
        { path: 'projectId', message: 'expected a project id: p_ and 22 base-58 characters' },
        { path: 'name', message: 'must not be empty' },
        { path: 'flags.autoAccept', message: expect.stringContaining('expected boolean') },
      ],
    })
    expect(error.message).toContain('projectId: expected a project id')
    expect(await auditRows(hub)).toEqual([])
  })

  it('may be empty text if no field is required', async () => {
    for (const text of ['', ' ', '\n']) {
      const output = await hub.pipeline.invoke(caller, 'actor_GetActor', text, 'r')
      expect(JSON.parse(output)).toMatchObject({ actor: { actor: 'User', userId: owner.userId } })
    }
  })

  it('of an unknown action is Invalid with 404, and the error shortens a long name', async () => {
    for (const name of ['devices_Rename', 'constructor', '__proto__', '', 'x'.repeat(10_000)]) {
      const error = await failed(hub.pipeline.invoke(caller, name, '{}', 'r'))
      expect(error).toMatchObject({ kind: 'Invalid', status: 404 })
      expect(error.message.length).toBeLessThan(130)
    }
  })

  it('under an older name of an action runs the action and is audited under its current name', async () => {
    const invoke = owner.invoke as (name: string, input: unknown) => Promise<unknown>
    const { organizationId } = await owner.invoke('projects_GetDetails', { projectId })
    await invoke('projects_CreateProject', { organizationId, name: 'x' })
    expect(await auditRows(hub)).toMatchObject([{ action: 'projects_Create', status: 'Succeeded' }])
  })

  it('is audited with the fields of the allow-list only', async () => {
    const { token, tokenId } = await owner.invoke('projects_CreateDeploymentToken', {
      projectId,
      name: 'Line 4',
      flags: { autoAccept: true },
      more: 'not ours',
    } as never)
    const [row] = await auditRows(hub)
    expect(row?.data).toEqual({ projectId, name: 'Line 4', flags: { autoAccept: true } })
    const everything = JSON.stringify([await auditRows(hub), await auditEvents(hub)])
    expect(everything).toContain(tokenId)
    expect(everything).not.toContain(token)
    expect(publicIdOf(token)).toBe(tokenId)
  })
})

it('closes Pending audit rows of dead nodes', async () => {
  const { db, pool } = hub
  const action_id = `audit_act_20261121-1203-${'1'.repeat(8)}`
  await db
    .insertInto('audit_action')
    .values({
      action_id,
      action: 'projects_SetName',
      actor: JSON.stringify({ actor: 'System' }),
      data: '{}',
      status: 'Pending',
      node_id: newId('cluster_node'),
      request_id: 'r',
    })
    .execute()
  await sweepOrphanedActions(db, [])
  expect(await auditRows(hub)).toMatchObject([{ status: 'Pending' }])
  const { rows } = await pool.query<{ node_id: string }>('select node_id from audit_action')
  await sweepOrphanedActions(db, [rows[0]!.node_id])
  expect(await auditRows(hub)).toMatchObject([{ status: 'Panicked' }])
})

it('O21: calls a full disk of the database a full disk', async () => {
  await using hub = await testHub()
  const { owner, projectId } = await hub.fleet()
  await hub.pool.query(
    `create function refuse() returns trigger language plpgsql
       as $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$;
     create trigger refuse before update on project execute function refuse()`,
  )
  await expect(owner.invoke('projects_SetName', { projectId, name: 'Renamed' })).rejects.toMatchObject({
    kind: 'Internal',
    status: 503,
    message: 'The disk of the database is full; nothing was changed.',
  })
})
