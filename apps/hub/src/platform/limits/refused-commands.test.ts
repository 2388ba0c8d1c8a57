import { auditEvents, auditRows, capturedLog, connectDevice, testHub } from '@muster/testkit'
import { afterAll, expect, it } from 'vitest'
import { loadConfig } from '../config/config.ts'

const { limits } = loadConfig({})
const { log, named } = capturedLog()
const hub = await testHub(
  {
    limits: {
      ...limits,
      'device-refused-commands': 5,
      'person-refused-commands': 5,
      'address-refused-commands': 60,
    },
  },
  log,
)
afterAll(() => hub[Symbol.asyncDispose]())

/** Runs commands at the same time and returns the messages of their refusals. */
async function refusals(count: number, run: () => Promise<unknown>): Promise<string[]> {
  const results = await Promise.allSettled(Array.from({ length: count }, run))
  return results.map(result =>
    result.status === 'rejected' ? (result.reason as Error).message : 'permitted',
  )
}

it('S30: refused commands of a device leave no rows beyond its limit, then one report; permitted ones go on', async () => {
  const { organizationId, token } = await hub.fleet()
  await using device = await connectDevice({ url: hub.url, token })
  const { deviceId } = device
  const invoke = () => device.invoke('projects_Create', { organizationId, name: 'Not permitted' })
  const messages = await refusals(40, invoke)
  const named6 =
    'Limit device-refused-commands: found 6, expected at most 5 refused commands in 10 min. Stop commands that are not permitted; they are counted and no longer logged one by one.'
  expect(messages.filter(message => message.includes(named6))).toHaveLength(35)
  const rows = (await auditRows(hub, 'projects_Create')).filter(
    ({ actor }) => (actor as { deviceId?: string }).deviceId === deviceId,
  )
  expect(rows.map(({ status }) => status)).toEqual(Array(5).fill('Rejected'))
  const reports = async () =>
    (await auditEvents(hub, 'limits_Reached')).filter(
      ({ data }) => (data as { deviceId?: string }).deviceId === deviceId,
    )
  await expect.poll(async () => (await reports()).length).toBe(1)
  expect(named('a limit was hit').filter(line => line.deviceId === deviceId)).toMatchObject([
    { limit: 'device-refused-commands', count: 1 },
  ])

  expect(
    await device.invoke('devices_IssueDeviceToken', { deviceId, validForSecs: 60, claims: null }),
  ).toBeDefined()
  // Another device of the same project and address is not affected.
  await using other = await connectDevice({ url: hub.url, token })
  const [message] = await refusals(1, () =>
    other.invoke('projects_Create', { organizationId, name: 'Not permitted' }),
  )
  expect(message).not.toContain('Limit')
})

it('S30: refused commands of a person in the name of another organization are bounded; their own commands go on', async () => {
  const { organizationId, owner } = await hub.fleet()
  const person = await hub.user()
  const messages = await refusals(30, () =>
    person.invoke('projects_Create', { organizationId, name: 'Not permitted' }),
  )
  expect(
    messages.filter(message => message.startsWith('Limit person-refused-commands: found 6')),
  ).toHaveLength(25)
  const rows = (await auditRows(hub, 'projects_Create')).filter(
    ({ actor }) => (actor as { userId?: string }).userId === person.userId,
  )
  expect(rows).toHaveLength(5)
  const own = await hub.organization(person)
  expect(await person.invoke('projects_Create', { organizationId: own, name: 'Permitted' })).toMatchObject({
    result: 'Created',
  })
  // Permitted commands leave no count behind.
  for (let count = 0; count < 8; count++)
    await owner.invoke('projects_Create', { organizationId, name: `${count}` })
  const [message] = await refusals(1, () =>
    owner.invoke('projects_Create', { organizationId: own, name: 'No' }),
  )
  expect(message).not.toContain('Limit')
})

it('S30: refusals of one person beyond their limit do not use up that of the address, so those of others keep their rows', async () => {
  const { organizationId } = await hub.fleet()
  const [loud, quiet] = [await hub.user(), await hub.user()]
  await refusals(100, () => loud.invoke('projects_Create', { organizationId, name: 'Not permitted' }))
  const [message] = await refusals(1, () =>
    quiet.invoke('projects_Create', { organizationId, name: 'Not permitted' }),
  )
  expect(message).not.toContain('Limit')
  const rows = (await auditRows(hub, 'projects_Create')).filter(
    ({ actor }) => (actor as { userId?: string }).userId === quiet.userId,
  )
  expect(rows.map(({ status }) => status)).toEqual(['Rejected'])
})
