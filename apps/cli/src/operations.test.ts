import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  connectDevice,
  type FakeDevice,
  type Muster,
  muster,
  type TestHub,
  testHub,
  until,
} from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

let hub: TestHub
let device: FakeDevice
let cli: Muster

beforeAll(async () => {
  hub = await testHub()
  const { owner, token } = await hub.fleet()
  device = await connectDevice({ url: hub.url, token })
  cli = await muster({ MUSTER_HUB: hub.url, MUSTER_TOKEN: await hub.userToken(owner) })
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await device[Symbol.asyncDispose]()
  await hub[Symbol.asyncDispose]()
})

/** Writes a file with steps. Returns its path. */
async function stepsFile(text: string): Promise<string> {
  const path = join(cli.folder, 'steps.json')
  await writeFile(path, text)
  return path
}

it('creates, starts, lists, shows, watches and cancels operations', async () => {
  const { deviceId } = device
  const steps = await stepsFile(
    '[{"kind":"SetDeviceProperty","name":"limit","value":12345678901234567890},{"kind":"DeviceCommand","command":"restart","input":null}]',
  )
  const made = await cli.run(['operations', 'create', deviceId, 'Restart', '--steps', steps, '--start'])
  expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^d_op_\w{22}\n$/) })
  const id = made.out.trim()
  const { rows } = await hub.pool.query("select value::text from device_property where name = 'limit'")
  expect(rows).toEqual([{ value: '12345678901234567890' }])
  expect((await cli.run(['operations', 'list', deviceId])).out).toMatch(/Restart +Running +1 of 2/)
  const shown = JSON.parse((await cli.run(['operations', 'info', id, '--json'])).out)
  expect(shown).toMatchObject({ summary: { status: 'Running' }, stepStates: [{ status: 'Succeeded' }, {}] })

  const { out, err, ended } = cli.start(['operations', 'watch', id])
  await until('it watches', () => out().includes('has not asked for the command restart'))
  expect(await cli.run(['operations', 'cancel', id])).toMatchObject({ code: 0, out: 'Cancelled.\n' })
  await ended
  expect(out()).toContain('Cancelled, step 1 of 2: The operation was cancelled.')
  expect(err()).toContain('The operation ended as Cancelled.')
  expect(await cli.run(['operations', 'start', id])).toMatchObject({
    code: 1,
    err: expect.stringContaining('Found an operation with the status Cancelled'),
  })
})

it('refuses files without steps, and operations that it does not find', async () => {
  for (const text of ['{}', 'no JSON']) {
    const steps = await stepsFile(text)
    expect(await cli.run(['operations', 'create', device.deviceId, 'x', '--steps', steps])).toMatchObject({
      code: 1,
      err: expect.stringContaining('expected a list of steps'),
    })
  }
  expect(await cli.run(['operations', 'info', 'd_op_z7L73xZdkkMgwbAmTVcyXu'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('Found no operation'),
  })
})
