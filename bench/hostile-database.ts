import { MAX_COLUMN_PATH_PARTS, newId } from '@muster/actions'
import { ask, forked, median } from './child.ts'
import type { HttpLoad, HttpRun } from './http-client.ts'
import { type BenchHub, requestTo, signIn, startBenchHub } from './hub-process.ts'
import { seedDevices } from './list-seed.ts'
import { runText } from './people.ts'
import { report, reportGoal } from './yardsticks.ts'

const ROUNDS = 3
const SECS = 8
const DEVICES = 10_000
/** Devices with a large property, and its size in bytes. */
const LARGE_DEVICES = 1_000
const LARGE_BYTES = 60 * 1024
/** People who wait for a locked table together. */
const WAITING_PEOPLE = 12
/** Commands of the other tenant. */
const COMMANDS_PER_SEC = 20

/** Calls of a hostile member of an organization. */
type DatabaseAttack = {
  url: string
  cookie: string
  /** Cookies of further members. */
  others: string[]
  projectId: string
  deviceId: string
  /** Locks the table of properties during a round. */
  lock: () => Promise<unknown>
  run: DatabaseRun
  isOver: () => boolean
}
/** Number of calls that the hub answered and refused, with the message of the first refusal. */
type DatabaseRun = { answered: number; refused: number; refusal?: string }

/** Attacks with which a person, or several together, take the database from all tenants, by kind. */
const DATABASE_KINDS = {
  'previews deletions with eight conditions on a property of 60 KB': attack =>
    inParallel(attack, 24, 'devices_CreateBulkDeletion', ({ projectId }) => {
      const properties = Array.from({ length: 8 }, (_, at) => ({
        property: 'large',
        operator: 'contains',
        value: `absent ${at}`,
      }))
      return { projectId, selection: { kind: 'filter', filter: { properties } } }
    }),
  'lists all devices with eight columns of 255 dots': attack =>
    inParallel(attack, 40, 'projects_QueryDevices', ({ projectId }) => ({
      projectId,
      columns: columns(256),
    })),
  'lists all devices with eight columns of the most parts': attack =>
    inParallel(attack, 40, 'projects_QueryDevices', ({ projectId }) => ({
      projectId,
      columns: columns(MAX_COLUMN_PATH_PARTS),
    })),
  'reads pages of 500 devices over 12 connections': attack =>
    inParallel(attack, 12, 'projects_QueryDevices', ({ projectId }) => ({ projectId, limit: 500 })),
  'reads pages of 50 devices over 60 connections': attack =>
    inParallel(attack, 60, 'projects_QueryDevices', ({ projectId }) => ({ projectId, limit: 50 })),
  'waits with 11 others for a locked table': async attack => {
    const locked = attack.lock()
    const people = [attack.cookie, ...attack.others].map(cookie => ({ ...attack, cookie }))
    await Promise.all(
      people.flatMap(one => [
        inParallel(one, 4, 'devices_QueryProperties', ({ deviceId }) => ({ deviceId, limit: 10 })),
        inParallel(one, 4, 'devices_SetProperty', ({ deviceId }) => ({ deviceId, name: 'n', value: 1 })),
      ]),
    )
    await locked
  },
} satisfies Record<string, (attack: DatabaseAttack) => Promise<void>>

/** Eight paths of columns with as many parts. */
function columns(parts: number): string[] {
  const rest = Array.from({ length: parts - 1 }, () => '').join('.')
  return Array.from({ length: 8 }, (_, at) => `${at}${rest && `.${rest}`}`.slice(0, 256))
}

/** Sends one call after the other on each of `parallel` connections. */
async function inParallel(
  attack: DatabaseAttack,
  parallel: number,
  action: string,
  input: (attack: DatabaseAttack) => object,
): Promise<void> {
  const { url, cookie, run, isOver } = attack
  const body = JSON.stringify(input(attack))
  const headers = { 'content-type': 'application/json', origin: url, cookie }
  const call = async (): Promise<void> => {
    while (!isOver()) {
      const response = await fetch(`${url}/api/v1/actions/invoke/${action}`, {
        method: 'POST',
        headers,
        body,
      })
      const text = await response.text()
      if (response.ok) run.answered++
      else {
        run.refused++
        run.refusal ??= `${response.status}: ${text.slice(0, 200)}`
      }
    }
  }
  await Promise.all(Array.from({ length: parallel }, call))
}

/**
 * Runs each attack of one member of an organization beside the commands of another tenant. Their p99 may be at most twice the p99 without
 * the attack, none of them may be refused, and the hub must stay ready. `part` is a part of the names of the attacks to run.
 */
export async function hostileDatabase(part = ''): Promise<void> {
  await using hub = await startBenchHub({ MUSTER_LOG_LEVEL: 'error' })
  const { child: client } = await forked('http-client.ts')
  const { member, commands } = await prepare(hub)
  const load: HttpLoad = { ...commands, connections: 8, secs: SECS, perSec: COMMANDS_PER_SEC }
  await ask<HttpRun>(client, { ...load, secs: 2 })
  const alone: number[] = []
  for (let round = 0; round < ROUNDS; round++) alone.push((await ask<HttpRun>(client, load)).p99Ms)
  report('commands of another tenant alone', `p99 ${median(alone).toFixed(1)} ms`)
  for (const [kind, start] of Object.entries(DATABASE_KINDS).filter(([name]) => name.includes(part))) {
    const runs: HttpRun[] = []
    const run: DatabaseRun = { answered: 0, refused: 0 }
    let unready = 0
    for (let round = 0; round < ROUNDS; round++) {
      let isOver = false
      const lock = (): Promise<unknown> =>
        hub.query(`begin; lock table device_property; select pg_sleep(${SECS}); rollback`)
      const attack = start({ ...member, url: hub.url, lock, run, isOver: () => isOver })
      const measured = ask<HttpRun>(client, load)
      for (let secs = 0; secs < SECS; secs++) {
        await new Promise(done => setTimeout(done, 1_000))
        if (!(await fetch(`${hub.url}/readyz`)).ok) unready++
      }
      runs.push(await measured)
      isOver = true
      await attack
    }
    const p99Ms = median(runs.map(one => one.p99Ms))
    const refused = runs.flatMap(({ statuses }) =>
      Object.entries(statuses).flatMap(([status, count]) => (status === '200' ? [] : [count])),
    )
    const refusedCount = refused.reduce((sum, count) => sum + count, 0)
    report(`a member who ${kind}`, `${run.answered} answered, ${run.refused} refused`)
    if (run.refusal) report('', run.refusal)
    report('', runText(runs.at(-1)!))
    const ratio = p99Ms / median(alone)
    reportGoal(
      '',
      'another tenant during the attack',
      `p99 ${p99Ms.toFixed(1)} ms, x${ratio.toFixed(2)}, ${refusedCount} refused, ${unready} times not ready`,
      '<= x2.00, 0 refused, always ready',
      ratio <= 2 && refusedCount === 0 && unready === 0,
    )
  }
  client.disconnect()
}

/** Makes people with an organization of many devices, and a command of the first person of the hub in an organization of their own. */
async function prepare(hub: BenchHub) {
  const cookie = await signIn(hub)
  const newPerson = async (name: string): Promise<{ userId: string; cookie: string }> => {
    const [userId, email] = [newId('u'), `${name}@bench.example`]
    await hub.query(
      `insert into "user" (user_id, email, password_hash, is_admin) select $1, $2, password_hash, false from "user" limit 1`,
      [userId, email],
    )
    return { userId, cookie: await signIn({ ...hub, signIn: { ...hub.signIn, email } }) }
  }
  const { cookie: memberCookie } = await newPerson('member')
  const invoke = async (caller: string, action: string, input: object): Promise<Record<string, string>> => {
    const { path, headers, body } = requestTo(hub, `/api/v1/actions/invoke/${action}`, input, caller)
    const response = await fetch(hub.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
    if (!response.ok) throw new Error(`${action} answered ${response.status}: ${await response.text()}`)
    return (await response.json()) as Record<string, string>
  }
  const { organizationId } = await invoke(memberCookie, 'organizations_Create', { name: 'Hostile' })
  const { projectId } = await invoke(memberCookie, 'projects_Create', { organizationId, name: 'Hostile' })
  const others: string[] = []
  for (let count = 1; count < WAITING_PEOPLE; count++) {
    const other = await newPerson(`member-${count}`)
    await hub.query('insert into organization_member (organization_id, user_id) values ($1, $2)', [
      organizationId,
      other.userId,
    ])
    others.push(other.cookie)
  }
  await seedDevices(hub, projectId!, DEVICES)
  const [device] = await hub.query('select device_id from device where project_id = $1 limit 1', [projectId])
  await hub.query(
    `insert into device_property (device_id, name, value, value_json)
     select d.device_id, 'large', to_json(t.text), to_jsonb(t.text)
       from (select device_id from device where project_id = $1 order by device_id limit ${LARGE_DEVICES}) d,
            lateral (select string_agg(md5(d.device_id || n), '') as text from generate_series(1, ${LARGE_BYTES / 32}) n) t`,
    [projectId],
  )
  const own = await invoke(cookie, 'organizations_Create', { name: 'Other' })
  const rename = { organizationId: own.organizationId, name: 'Other' }
  return {
    member: {
      cookie: memberCookie,
      others,
      projectId: projectId!,
      deviceId: device!.device_id as string,
    },
    commands: requestTo(hub, '/api/v1/actions/invoke/organizations_SetName', rename, cookie),
  }
}
