import type { ActionInput } from '@muster/actions'
import {
  connectDevice,
  deviceRow,
  failed,
  type TestHub,
  type TestUser,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeUpdate } from '../../link/telemetry/device-updates.ts'

const OTA_STATUS = 'dev.nexigon.ota.status'

type Filter = NonNullable<ActionInput<'projects_QueryDevices'>['filter']>
type Software = NonNullable<Filter['software']>

let hub: TestHub
let owner: TestUser
let otherTenant: TestUser
let organizationId: string
let repositoryId: string
let packageId: string
/** Versions of the package `gateway` by their `imageVersion`. */
const versions: Record<string, string> = {}

beforeAll(async () => {
  hub = await testHub()
  owner = await hub.user()
  otherTenant = await hub.user()
  organizationId = await hub.organization(owner)
  await hub.organization(otherTenant)
  repositoryId = await hub.repository(owner, organizationId, { name: 'fleet' })
  packageId = await hub.package(owner, repositoryId, 'gateway')
  for (const word of ['2.21.4', '2.22.4', '2.23.0', '2.24.0'])
    versions[word] = await newVersion(packageId, word)
  await tag('2.22.4', 'stable')
  await tag('2.23.0', 'stable')
  await tag('2.23.0', 'canary')
})
afterAll(() => hub[Symbol.asyncDispose]())

async function newVersion(of: string, imageVersion: string): Promise<string> {
  const { versionId } = await owner.invoke('repositories_CreateVersion', {
    packageId: of,
    tags: [{ tag: imageVersion, locked: true }],
    metadata: { imageVersion },
  })
  return versionId
}

const tag = (word: string, name: string) =>
  owner.invoke('repositories_TagVersion', { versionId: versions[word]!, tags: [{ tag: name }] })

/** Creates a project that is linked to the repositories. */
async function newProject(...linked: string[]): Promise<string> {
  const projectId = await hub.project(owner, organizationId)
  for (const id of linked) await owner.invoke('projects_LinkRepository', { projectId, repositoryId: id })
  return projectId
}

type Status = {
  path?: string
  current?: string
  target?: string
  state?: string
  failures?: number
  error?: string
}

/** Adds devices with the same update status. */
async function addDevices(projectId: string, count: number, status?: Status): Promise<void> {
  for (let i = 0; i < count; i++) {
    const deviceId = await deviceRow(hub, projectId)
    if (!status) continue
    const { path, current, target, state, failures, error } = status
    const value = {
      ...(path && { config: { path } }),
      currentVersion: current,
      targetVersion: target,
      state,
      failureCount: failures,
      lastError: error,
    }
    await hub.db
      .insertInto('device_property')
      .values({ device_id: deviceId, name: OTA_STATUS, value: JSON.stringify(value) as never })
      .execute()
    await hub.db.transaction().execute(tx => writeUpdate(tx, deviceId))
  }
}

const softwareOf = (projectId: string) => owner.invoke('projects_GetSoftware', { projectId })
const usageOf = (word: string, user = owner, input: object = {}) =>
  user.invoke('repositories_GetVersionUsage', { versionId: versions[word]!, ...input })

async function listed(projectId: string, software: object): Promise<number | undefined> {
  const { total } = await owner.invoke('projects_QueryDevices', {
    projectId,
    limit: 1,
    filter: { software: software as Software },
  })
  return total
}

const STABLE = 'fleet/gateway/stable'

describe('software of a project', () => {
  let projectId: string
  let second: string

  beforeAll(async () => {
    projectId = await newProject(repositoryId)
    second = await newProject(repositoryId)
    await addDevices(projectId, 3, { path: STABLE, current: '2.23.0', state: 'completed', failures: 2 })
    await addDevices(projectId, 1, {
      path: 'fleet/gateway/canary',
      current: '2.23.0',
      target: '2.24.0',
      state: 'Installing',
    })
    await addDevices(projectId, 2, {
      path: STABLE,
      current: '2.21.4',
      target: '2.23.0',
      state: 'failed',
      failures: 6,
      error: 'no space left on device 7',
    })
    await addDevices(projectId, 1, { current: '2.22.4', target: '2.23.0', state: 'rebooting' })
    await addDevices(projectId, 1, { path: STABLE, current: '9.9', state: 'idle' })
    await addDevices(projectId, 2, { path: 'other/gateway/stable', current: '2.23.0' })
    await addDevices(projectId, 1, { path: STABLE, target: '2.23.0', state: 'installing' })
    await addDevices(projectId, 1, { path: STABLE })
    await addDevices(projectId, 1, { path: 'other/gateway/stable' })
    await addDevices(projectId, 2)
    await addDevices(second, 1, { path: `${repositoryId}/${packageId}/2.23.0`, current: '2.23.0' })
    await addDevices(second, 1, {
      path: STABLE,
      current: '2.22.4',
      target: '2.23.0',
      state: 'failed',
      failures: 2,
      error: 'no space left on device 9',
    })
  })

  it('counts versions and states by package', async () => {
    const software = await softwareOf(projectId)
    expect(software).toMatchObject({ deviceCount: 15, unknown: 5, packageCount: 1 })
    const [gateway] = software.packages
    expect(gateway).toMatchObject({
      name: 'gateway',
      repositoryName: 'fleet',
      deviceCount: 8,
      latest: { name: '2.24.0' },
      stable: { name: '2.23.0' },
      reported: [{ version: '9.9', running: 1, updating: 0, failed: 0 }],
    })
    expect(
      gateway!.versions.map(({ name, tags, running, updating, failed: fails }) => [
        name,
        tags,
        running,
        updating,
        fails,
      ]),
    ).toEqual([
      ['2.23.0', ['canary', 'stable'], 3, 1, 0],
      ['2.22.4', [], 0, 1, 0],
      ['2.21.4', [], 0, 0, 2],
    ])
    expect(software.reported).toEqual([{ version: '2.23.0', running: 2, updating: 0, failed: 0 }])
    expect(software.otherReported).toBeUndefined()
  })

  it('counts the devices of a version over the projects that the caller can see', async () => {
    const usage = await usageOf('2.23.0')
    expect(usage.counts).toEqual({
      deviceCount: 14,
      reportCount: 10,
      runs: 5,
      installs: 2,
      fails: 3,
      others: 1,
      unknown: 3,
    })
    expect(usage).toMatchObject({
      reportedAs: '2.23.0',
      newer: { name: '2.24.0' },
      before: { name: '2.22.4', fails: 0 },
      projectCount: 2,
      countedProjectCount: 2,
    })
    expect(usage.projects.map(({ counts }) => counts?.deviceCount)).toEqual([12, 2])
    expect(usage.failures).toMatchObject([
      {
        error: 'no space left on device #',
        deviceCount: 3,
        maxFailureCount: 6,
        projects: [
          { projectId, deviceCount: 2 },
          { projectId: second, deviceCount: 1 },
        ],
        versions: [
          { version: '2.21.4', deviceCount: 2 },
          { version: '2.22.4', deviceCount: 1 },
        ],
      },
    ])
    expect(usage.failures[0]!.lastReportedAt).toBeDefined()
    const tags = Object.fromEntries(usage.tags.map(one => [one.tag, one]))
    expect(tags.stable).toMatchObject({
      locked: false,
      version: { name: '2.23.0' },
      before: { name: '2.22.4' },
      followers: {
        deviceCount: 9,
        projects: [
          { projectId, deviceCount: 8 },
          { projectId: second, deviceCount: 1 },
        ],
      },
    })
    expect(tags['2.23.0']).toMatchObject({ locked: true, followers: { deviceCount: 1 } })
    expect(Object.keys(tags)).toEqual(['2.23.0', 'canary', 'stable'])
    expect(usage.moves.map(move => [move.tag, move.isHere])).toEqual([
      ['canary', true],
      ['stable', true],
    ])
  })

  it('C19: divides by the devices that report the package, the same number in every answer', async () => {
    const ids = [projectId, second]
    const software = await Promise.all(ids.map(softwareOf))
    const reporting = software.map(({ packages }) => packages[0]!.deviceCount)
    expect(reporting).toEqual([8, 2])
    const usage = await usageOf('2.23.0')
    expect(usage.projects.map(({ counts }) => counts?.reportCount)).toEqual(reporting)
    expect(usage.counts?.reportCount).toBe(10)
    const { packages } = await owner.invoke('repositories_QueryPackageUsage', { repositoryId })
    expect(packages[0]!.deviceCount).toBe(10)
    const filter = { packageId, versions: 'any' }
    expect(await Promise.all(ids.map(id => listed(id, filter)))).toEqual(reporting)
  })

  it('C20: counts each device whose update failed, as the preset of the device list', async () => {
    const failing = await newProject(repositoryId)
    await addDevices(failing, 2, { path: STABLE, current: '2.21.4', target: '2.23.0', state: 'failed' })
    await addDevices(failing, 1, { path: STABLE, target: '2.23.0', state: 'failed' })
    await addDevices(failing, 1, { path: STABLE, current: '2.23.0', state: 'completed' })
    expect((await softwareOf(failing)).failed).toBe(3)
    const filter = { preset: 'updateFailed' } as const
    const { total } = await owner.invoke('projects_QueryDevices', { projectId: failing, limit: 1, filter })
    expect(total).toBe(3)
    await owner.invoke('projects_Delete', { projectId: failing as never })
  })

  it('lists the devices behind every number', async () => {
    const versionId = versions['2.23.0']!
    const numbers = { runs: 4, stays: 3, leaves: 1, stuck: 0, installs: 2, fails: 2, others: 1, unknown: 3 }
    for (const [is, total] of Object.entries(numbers))
      expect([is, await listed(projectId, { versionId, is })]).toEqual([is, total])
    expect(await listed(projectId, { versionId: versions['2.21.4']!, is: 'stuck' })).toBe(2)
    expect(await listed(projectId, { packageId, followsTag: 'stable' })).toBe(8)
    expect(await listed(projectId, { packageId, reports: '9.9' })).toBe(1)
    expect(await listed(projectId, { packageId, reports: '9.9', is: 'stuck' })).toBe(0)
    expect(await listed(projectId, { reports: '2.23.0', is: 'stays' })).toBe(2)
    expect(await listed(projectId, { packageId, versions: 'any' })).toBe(8)
    expect(await listed(projectId, { packageId, versions: 'any', is: 'stuck' })).toBe(2)
    expect(await listed(projectId, { packageId, versions: 'other' })).toBe(0)
    const filter = {
      updateError: 'no space left on device #',
      software: { versionId, is: 'fails' },
    } as Filter
    expect((await owner.invoke('projects_QueryDevices', { projectId, limit: 1, filter })).total).toBe(2)
    // Numbers of failures by version and error, as cards of projects and pages of versions show them.
    const failures: [NonNullable<Filter['updateFailure']>, number][] = [
      [{ targetVersion: '2.23.0', error: 'no space left on device #' }, 2],
      [{ targetVersion: '2.23.0' }, 0],
      [{ targetVersion: '2.24.0', error: 'no space left on device #' }, 0],
      [{ targetVersion: '2.24.0' }, 1],
      [{ error: 'no space left on device #' }, 0],
      [{}, 1],
    ]
    const failing = await newProject()
    await addDevices(failing, 2, { target: '2.23.0', state: 'failed', error: 'no space left on device 7' })
    await addDevices(failing, 1, { target: '2.24.0', failures: 1 })
    await addDevices(failing, 1, { state: 'failed' })
    await addDevices(failing, 1, { state: 'completed', failures: 1 })
    for (const [updateFailure, total] of failures) {
      const ask = { projectId: failing, limit: 1, filter: { updateFailure } }
      const answer = await owner.invoke('projects_QueryDevices', ask)
      expect([updateFailure, answer.total]).toEqual([updateFailure, total])
    }
    expect(await failed(listed(projectId, { versionId, is: 'elsewhere' }))).toMatchObject({ kind: 'Invalid' })
  })

  it('counts the devices that run the latest version of a package', async () => {
    await hub.package(owner, repositoryId, 'empty')
    expect(await owner.invoke('repositories_QueryPackageUsage', { repositoryId })).toEqual({
      projectCount: 2,
      packages: [
        {
          packageId,
          deviceCount: 10,
          latest: { versionId: versions['2.24.0'], name: '2.24.0', runs: 0, fails: 0 },
        },
      ],
      otherPackages: 0,
    })
    const page = { repositoryId, limit: 10 }
    const { packages } = await owner.invoke('repositories_QueryPackages', page)
    expect(packages.find(one => one.packageId === packageId)).toMatchObject({
      latest: { versionId: versions['2.24.0'], name: '2.24.0', tags: [] },
      stable: { versionId: versions['2.23.0'], name: '2.23.0' },
    })
    const whole = await owner.invoke('repositories_QueryPackages', { repositoryId })
    expect(whole.packages).toEqual(packages)
  })

  it('keeps counts for 2 s', async () => {
    const fresh = await newProject(repositoryId)
    expect((await softwareOf(fresh)).isKept).toBeUndefined()
    await addDevices(fresh, 1)
    expect(await softwareOf(fresh)).toMatchObject({ deviceCount: 0, isKept: true })
    await expect.poll(async () => (await softwareOf(fresh)).deviceCount).toBe(1)
  })

  it('samples the versions of each project once an hour and removes samples after 14 days', async () => {
    expect((await usageOf('2.23.0', owner, { history: true })).series).toBeUndefined()
    const run = async () =>
      expect(await hub.runJob('projects_SampleSoftware', {})).toMatchObject({ status: 'Completed' })
    await run()
    await run()
    const { series } = await usageOf('2.23.0', owner, { history: true })
    expect(series).toMatchObject({ stepSecs: 3600, counts: [5], compared: { name: '2.22.4', counts: [2] } })
    await hub.pool.query(
      `insert into software_sample (project_id, sampled_at, counts)
       select $1, date_trunc('hour', now()) - n * interval '1 hour', jsonb_build_object($2::text, n)
         from unnest(array[2, 4, 24 * 14, 24 * 15]) n`,
      [projectId, versions['2.23.0']],
    )
    await run()
    const later = (await usageOf('2.23.0', owner, { history: true })).series!
    expect(later.counts).toHaveLength(24 * 14 + 1)
    expect(later.counts.slice(-5)).toEqual([4, null, 2, null, 5])
    const { rows } = await hub.pool.query(`select count(*)::int from software_sample where project_id = $1`, [
      projectId,
    ])
    expect(rows[0].count).toBe(4)
  })

  it('samples the other projects when the count of one is cancelled', async () => {
    const projectIds = [await newProject(repositoryId), await newProject(repositoryId)]
    for (const id of projectIds) await addDevices(id, 1, { current: '2.22.4' })
    // The job counts every project with a linked repository that has no sample of this hour. Projects of other tests whose devices run no
    // known version never get a sample, so they are counted as well.
    const { rows: counted } = await hub.pool.query(
      `select project_id as id from project p where exists (select from project_repository l where l.project_id = p.project_id)
          and not exists (select from software_sample s where s.project_id = p.project_id and s.sampled_at = date_trunc('hour', now()))
        order by project_id`,
    )
    const ids: string[] = counted.map(row => row.id)
    const [first, second] = ids.filter(id => projectIds.includes(id))
    const lock = await hub.pool.connect()
    try {
      await lock.query('begin')
      await lock.query('lock table device_update in access exclusive mode')
      await hub.db.transaction().execute(tx => hub.jobs.enqueue(tx, 'projects_SampleSoftware', {}))
      hub.jobs.wake('projects_SampleSoftware')
      // The job first counts all projects in one statement. When that is cancelled, it counts each project in a statement of its own.
      const cancelled: string[] = []
      for (const which of ['all projects', ...ids.slice(0, ids.indexOf(first!) + 1)])
        await until(`the count of ${which}`, async () => {
          const { rows } = await hub.pool.query(
            `select pg_cancel_backend(a.pid), a.query_start::text as "startedAt"
               from pg_locks l join pg_stat_activity a on a.pid = l.pid
              where l.relation = 'device_update'::regclass and not l.granted and a.query_start::text <> all ($1)`,
            [cancelled],
          )
          cancelled.push(...rows.map(row => row.startedAt))
          return rows.length > 0
        })
    } finally {
      await lock.query('rollback')
      lock.release()
    }
    await expect
      .poll(async () => {
        const { rows } = await hub.pool.query(
          'select project_id from software_sample where project_id = any ($1)',
          [projectIds],
        )
        return rows
      })
      .toEqual([{ project_id: second }])
  })
})

describe('what callers see', () => {
  it('counts no devices of projects of other organizations, and no history for readers from outside', async () => {
    const open = await hub.repository(owner, organizationId, { name: 'open', visibility: 'Public' })
    const image = await hub.package(owner, open, 'image')
    const versionId = await hub.version(owner, image, 'stable')
    await owner.invoke('repositories_SetVersionMetadata', { versionId, metadata: { imageVersion: '1.0' } })
    const own = await newProject(open)
    await addDevices(own, 2, { path: 'open/image/stable', current: '1.0' })
    const foreign = await hub.project(otherTenant, await hub.organization(otherTenant))
    await otherTenant.invoke('projects_LinkRepository', { projectId: foreign, repositoryId: open })
    await addDevices(foreign, 1, { path: 'open/image/stable', current: '1.0' })

    const ask = { versionId, history: true }
    const mine = await owner.invoke('repositories_GetVersionUsage', ask)
    expect(mine).toMatchObject({ counts: { deviceCount: 2, runs: 2 }, projectCount: 1 })
    expect(mine.tags[0]!.since).toBeDefined()
    const theirs = await otherTenant.invoke('repositories_GetVersionUsage', ask)
    expect(theirs).toMatchObject({ counts: { deviceCount: 1, runs: 1 }, projectCount: 1, moves: [] })
    expect(theirs.projects).toMatchObject([{ projectId: foreign }])
    expect(theirs.tags).toMatchObject([{ tag: 'stable', followers: { deviceCount: 1 } }])
    expect(theirs.tags[0]!.since).toBeUndefined()
    expect(JSON.stringify(theirs)).not.toContain(own)
    // Reads of a public repository are not audited. The answers therefore show an administrator of the instance no projects of
    // organizations in which the administrator is no member.
    const root = await hub.user({ isAdmin: true })
    expect(await root.invoke('repositories_GetVersionUsage', ask)).toMatchObject({
      counts: { deviceCount: 0 },
      projects: [],
    })
    expect(await root.invoke('repositories_QueryPackageUsage', { repositoryId: open })).toMatchObject({
      packages: [],
      projectCount: 0,
    })
    await owner.invoke('repositories_SetVisibility', { repositoryId: open, visibility: 'Private' })
    expect(await root.invoke('repositories_GetVersionUsage', ask)).toMatchObject({
      counts: { deviceCount: 2 },
      projects: [{ projectId: own }],
    })
  })

  it('does not follow the path of a device into a repository that is not linked', async () => {
    const secret = await hub.repository(otherTenant, await hub.organization(otherTenant), { name: 'secret' })
    const image = await hub.package(otherTenant, secret, 'image')
    const versionId = await hub.version(otherTenant, image, 'stable')
    await otherTenant.invoke('repositories_SetVersionMetadata', {
      versionId,
      metadata: { imageVersion: '7.0' },
    })
    const projectId = await newProject(repositoryId)
    for (const path of ['secret/image/stable', `${secret}/${image}/stable`])
      await addDevices(projectId, 1, { path, current: '7.0' })
    const software = await softwareOf(projectId)
    expect(software.packages.map(({ name }) => name)).not.toContain('image')
    expect(software.reported).toEqual([{ version: '7.0', running: 2, updating: 0, failed: 0 }])
    expect((await otherTenant.invoke('repositories_GetVersionUsage', { versionId })).counts).toMatchObject({
      deviceCount: 0,
    })
    expect(await listed(projectId, { versionId, is: 'runs' })).toBe(0)
  })
})

it('counts the 200 projects with the most devices, and says of how many', async () => {
  const wide = await hub.repository(owner, organizationId, { name: 'wide' })
  const image = await hub.package(owner, wide, 'image')
  const versionId = await newVersion(image, '5.0')
  const used = await newProject(wide)
  await addDevices(used, 1, { path: 'wide/image/stable', current: '5.0' })
  await hub.pool.query(
    `with added as (
       insert into project (project_id, organization_id, name)
       select 'p_wide' || translate(lpad(i::text, 18, 'z'), '0', 'A'), $1, 'Wide ' || i from generate_series(1, 200) i returning project_id
     ) insert into project_repository (project_id, repository_id) select project_id, $2 from added`,
    [organizationId, wide],
  )
  const usage = await owner.invoke('repositories_GetVersionUsage', { versionId })
  expect(usage).toMatchObject({ projectCount: 201, countedProjectCount: 200, counts: { runs: 1 } })
  expect(usage.projects).toHaveLength(100)
  // The job that samples projects would count them in later tests.
  await hub.pool.query(`delete from project where project_id like 'p_wide%'`)
})

describe('odd reports', () => {
  it('match a version without a path only if exactly one linked package has it', async () => {
    const second = await hub.repository(owner, organizationId, { name: 'second' })
    const camera = await hub.package(owner, second, 'camera')
    const shared = await newVersion(camera, '2.23.0')
    const only = await newVersion(camera, 'camera-1')
    const projectId = await newProject(repositoryId, second)
    await addDevices(projectId, 2, { current: '2.23.0' })
    await addDevices(projectId, 1, { current: 'camera-1' })
    await addDevices(projectId, 1, { path: 'second/camera/stable', current: '2.23.0' })
    const software = await softwareOf(projectId)
    expect(software.reported).toEqual([{ version: '2.23.0', running: 2, updating: 0, failed: 0 }])
    const found = software.packages.find(one => one.name === 'camera')!
    expect(found.versions.map(one => one.versionId).sort()).toEqual([shared, only].sort())
    expect(await listed(projectId, { versionId: only, is: 'runs' })).toBe(1)
    expect(await listed(projectId, { versionId: shared, is: 'runs' })).toBe(1)
  })

  it('count towards the newest of versions with the same text', async () => {
    const image = await hub.package(owner, repositoryId, 'twins')
    const older = await newVersion(image, 'a')
    const { versionId: newer } = await owner.invoke('repositories_CreateVersion', {
      packageId: image,
      metadata: { imageVersion: 'a' },
    })
    const projectId = await newProject(repositoryId)
    await addDevices(projectId, 1, { path: 'fleet/twins/a', current: 'a' })
    const [twins] = (await softwareOf(projectId)).packages
    expect(twins!.versions.map(one => one.versionId)).toEqual([newer])
    expect(await listed(projectId, { versionId: older, is: 'runs' })).toBe(0)
    expect(await listed(projectId, { versionId: newer, is: 'runs' })).toBe(1)
  })

  it('are grouped and bounded: 200 made-up versions, 10,000 different errors', async () => {
    const projectId = await newProject(repositoryId)
    await hub.pool.query(
      `insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
       select 'd_' || translate(lpad(i::text, 22, 'z'), '0', 'A'), $1, 'd_pk_odd' || i, convert_to('odd' || i, 'UTF8') from generate_series(1, 10200) i`,
      [projectId],
    )
    await hub.pool.query(
      `insert into device_update (device_id, property_version, path, current_version, target_version, state, failure_count, error)
       select 'd_' || translate(lpad(i::text, 22, 'z'), '0', 'A'), 1, 'fleet/gateway/stable', case when i <= 200 then 'made-up-' || i else '2.22.4' end, '2.24.0',
              case when i > 200 then 'failed' end, case when i > 200 then 1 end,
              case when i > 200 then translate('error ' || i, '0123456789', 'ghijklmnop') end
         from generate_series(1, 10200) i`,
    )
    const software = await softwareOf(projectId)
    const [gateway] = software.packages
    expect(gateway!.reported).toHaveLength(50)
    expect(software.otherReported).toEqual({ running: 150, updating: 0, failed: 0 })
    expect(software.deviceCount).toBe(10_200)
    expect(await listed(projectId, { versions: 'other' })).toBe(150)
    expect(await listed(projectId, { versions: 'other', is: 'stuck' })).toBe(0)
    // On a busy machine the first counts may exceed their time limit of 2 s. The answer then has no counts.
    await expect.poll(() => usageOf('2.24.0')).toMatchObject({ counts: { fails: 10_000 } })
    const usage = await usageOf('2.24.0')
    expect(usage.failures).toHaveLength(50)
    expect(usage.otherFailures).toEqual({ reasonCount: 9_950, deviceCount: 9_950 })
  })

  it('are folded beyond the 200 newest versions of a package', async () => {
    const many = await hub.package(owner, repositoryId, 'many')
    const projectId = await newProject(repositoryId)
    await hub.pool.query(
      `with named as (select i, translate(lpad(i::text, 22, 'y'), '0', 'A') as id from generate_series(1, 203) i), made as (
         insert into package_version (version_id, package_id, metadata, created_at)
         select 'pkg_v_' || id, $2, jsonb_build_object('imageVersion', 'many-' || i), now() - i * interval '1 hour' from named
       ), added as (
         insert into device (device_id, project_id, fingerprint_id, fingerprint_hash)
         select 'd_' || id, $1, 'd_pk_' || id, sha256(id::bytea) from named
       )
       insert into device_update (device_id, property_version, path, current_version)
       select 'd_' || id, 1, 'fleet/many/stable', 'many-' || i from named`,
      [projectId, many],
    )
    const found = (await softwareOf(projectId)).packages.find(one => one.packageId === many)!
    expect(found.versions).toHaveLength(200)
    expect(found.otherVersions).toEqual({ running: 3, updating: 0, failed: 0 })
    const { devices } = await owner.invoke('projects_QueryDevices', {
      projectId,
      filter: { software: { packageId: many, versions: 'other' } as Software },
    })
    expect(devices.map(({ currentVersion }) => currentVersion).sort()).toEqual([
      'many-201',
      'many-202',
      'many-203',
    ])
  })

  it('come from real devices as texts of any script', async () => {
    const { owner: person, projectId, token } = await hub.fleet()
    await using device = await connectDevice({ url: hub.url, token })
    const version = 'גרסה \u202e 한국어 <b>'
    await device.invoke('devices_SetProperty', {
      deviceId: device.deviceId,
      name: OTA_STATUS,
      value: { config: { path: '///' }, currentVersion: version, state: 7, failureCount: -1 },
    })
    const software = await person.invoke('projects_GetSoftware', { projectId })
    expect(software.reported).toEqual([{ version, running: 1, updating: 0, failed: 0 }])
  })
})
