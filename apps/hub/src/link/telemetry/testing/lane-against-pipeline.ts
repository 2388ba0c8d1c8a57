import { ActionError } from '@muster/actions'
import { connectDevice, type TestHub, testHub } from '@muster/testkit'
import fc from 'fast-check'
import { expect } from 'vitest'
import { loadConfig } from '../../../platform/config/config.ts'
import type { DeviceCaller } from '../../../platform/pipeline/caller.ts'
import { TelemetryLane } from '../lane.ts'
import { DEVICE_ID, type LaneInput, laneInput } from './lane-inputs.ts'

/** Number of pairs of devices. The devices of a pair send the same inputs, one over the lane and the other over the pipeline. */
const PAIRS = 20

const BUDGETS = [
  'device-property-bytes-per-hour',
  'device-event-bytes-per-hour',
  'project-bytes-per-hour',
  'organization-bytes-per-hour',
  'device-property-bytes',
] as const

/** Queries for the rows of a device in each table that events and properties change. They leave out the times and ids that the hub makes. */
const STORED = [
  `select event_id, event_day::text, severity, category, body::text, attributes::text, emitted_at::text
     from device_event where device_id = $1 order by event_id, event_day, emitted_at`,
  `select name, value::text, value_json::text, value_bytes, version, protected
     from device_property where device_id = $1 order by name`,
  `select name, version, value::text from device_property_change where device_id = $1 order by name, version`,
  `select path, current_version, target_version, state, failure_count, error from device_update where device_id = $1`,
  `select address, is_mac, interface from device_address where device_id = $1 order by address`,
  `select hostname, health, name_key from device where device_id = $1`,
]

/**
 * Sends `count` random inputs twice, over the lane and over the pipeline, and expects the same answers, the same errors and the same rows.
 * Resolves to the number of inputs that the lane has taken.
 */
export async function expectSameAsPipeline(count: number, seed: number): Promise<number> {
  const { limits } = loadConfig({})
  // The devices send more than devices may.
  const unlimited = { ...limits }
  for (const limit of BUDGETS) unlimited[limit] = 1e12
  await using hub = await testHub({ limits: unlimited })
  const { projectId, organizationId, tokenId, token } = await hub.fleet()
  const lane = new TelemetryLane(hub.services.ingest)
  const callerOf = async (): Promise<DeviceCaller> => {
    await using device = await connectDevice({ url: hub.url, token })
    return { actor: 'Device', deviceId: device.deviceId, tokenId, projectId, organizationId }
  }
  const inputs = fc.sample(laneInput, { numRuns: count, seed })
  let taken = 0
  const overLane = async (caller: DeviceCaller, { name, text }: LaneInput): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const isTaken = lane.run(caller, name, Buffer.from(text), (output, error) =>
      error === undefined ? resolve(output) : reject(hub.pipeline.failureOf(error, name, 'test')),
    )
    if (!isTaken) return hub.pipeline.invoke(caller, name, text, 'test')
    taken++
    return promise
  }
  const pairs = Array.from({ length: PAIRS }, async (_, pair) => {
    const [one, other] = [await callerOf(), await callerOf()]
    for (let at = pair; at < inputs.length; at += PAIRS) {
      const { name, text } = inputs[at]!
      // The text of an input arrives as UTF-8, in which unpaired surrogates are replaced.
      const of = ({ deviceId }: DeviceCaller): LaneInput => ({
        name,
        text: text
          .replace(DEVICE_ID, deviceId)
          .toWellFormed()
          .replace(/^\ufeff/, ''),
      })
      const [mine, theirs] = await Promise.all([
        outcome(overLane(one, of(one)), one),
        outcome(hub.pipeline.invoke(other, name, of(other).text, 'test'), other),
      ])
      expect({ text, outcome: mine }).toEqual({ text, outcome: theirs })
    }
    await expectSameRows(hub, one, other)
  })
  await Promise.all(pairs)
  return taken
}

async function outcome(answer: Promise<string>, { deviceId }: DeviceCaller): Promise<unknown> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof ActionError)) throw error
    const { kind, message, status, issues } = error
    return { kind, message: message.replaceAll(deviceId, DEVICE_ID), status, issues }
  }
}

async function expectSameRows(hub: TestHub, one: DeviceCaller, other: DeviceCaller): Promise<void> {
  for (const text of STORED) {
    const [mine, theirs] = await Promise.all(
      [one, other].map(async ({ deviceId }) => (await hub.pool.query(text, [deviceId])).rows),
    )
    expect(mine).toEqual(theirs)
  }
}
