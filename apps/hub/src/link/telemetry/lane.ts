import { ActionError, type ActionName, actions, type ParsedInput } from '@muster/actions'
import { stringify } from '@muster/actions/exact-json'
import { type Settled, waitUpTo } from '@muster/concurrency'
import { z } from 'zod'
import type { DeviceCaller } from '../../platform/pipeline/caller.ts'
import { inputTextOf } from '../../platform/pipeline/input-rules.ts'
import { SYSTEM_INFO } from './device-addresses.ts'
import { type DeviceEvent, eventRow } from './device-events.ts'
import { refusePropertyOfHub } from './device-properties.ts'
import type { Ingest } from './ingest.ts'
import { readerOf, UNSURE } from './json-forms.ts'

/** Longest input that the lane reads, in bytes. */
const MAX_BYTES = 64 * 1024

/** Stores an input. Returns false, and does nothing, if the pipeline must run the action. */
type Store = (ingest: Ingest, caller: DeviceCaller, text: string, done: Settled) => boolean

type Events = { deviceId: string; events: DeviceEvent[] }
type Property = Omit<ParsedInput<'devices_SetProperty'>, 'value'> & { value: string }

// The id is compared with that of the device, which shows that it is valid.
const deviceId = z.string()
const readEvents = readerOf(actions.devices_PublishEvents.input.extend({ deviceId }))
const readProperty = readerOf(actions.devices_SetProperty.input.extend({ deviceId }))

const storeEvents: Store = (ingest, caller, text, done) => {
  const input = readEvents(text) as Events | typeof UNSURE
  if (input === UNSURE || input.deviceId !== caller.deviceId) return false
  const rows = input.events.map(event => eventRow(caller.deviceId, event))
  if (rows.length > 0) ingest.storeEvents(caller, rows, done)
  return rows.length > 0
}

const storeProperty: Store = (ingest, caller, text, done) => {
  const input = readProperty(text) as Property | typeof UNSURE
  if (input === UNSURE || input.deviceId !== caller.deviceId) return false
  // The gateway reads the system information, too, and the other two are rare.
  const { name, value, protected: isProtected, expectedVersion } = input
  if (SYSTEM_INFO.includes(name) || isProtected !== undefined || expectedVersion !== undefined) return false
  refusePropertyOfHub(name, caller)
  return ingest.setPropertyThen(caller, name, value, done)
}

const LANES = new Map([
  ...lanes('devices_PublishEvents', {}, storeEvents),
  ...lanes('devices_SetProperty', { result: 'Set' }, storeProperty),
])

/** The lane of an action, by each of its names. */
function lanes(name: ActionName, output: object, store: Store) {
  const lane = { store, output: stringify(actions[name].output.parse(output)) }
  return [name, ...actions[name].aliases].map(each => [each, lane] as const)
}

/**
 * A short way for the calls that devices make most: events and properties of the device itself. The input is read once, by the schemas of
 * the actions, and stored by the functions that the handlers call. Calls that the lane does not surely accept take the way of all actions
 * (`Pipeline`), which makes all errors of inputs.
 */
export class TelemetryLane {
  readonly #ingest: Ingest
  #running = 0
  #idle: (() => void) | undefined

  constructor(ingest: Ingest) {
    this.#ingest = ingest
  }

  /**
   * Runs an action of a device, and calls `done` with the JSON text of its output, or with an error of storing its input. Returns false, and
   * does nothing, if the pipeline must run the action.
   */
  run(
    caller: DeviceCaller,
    name: string,
    input: Uint8Array,
    done: (output: string, error?: unknown) => void,
  ): boolean {
    const lane = LANES.get(name)
    if (lane === undefined || input.length > MAX_BYTES) return false
    const ended: Settled = error => {
      if (--this.#running === 0) this.#idle?.()
      done(lane.output, error)
    }
    try {
      if (!lane.store(this.#ingest, caller, inputTextOf(input), ended)) return false
    } catch (error) {
      // The pipeline refuses the input with the same error. Nothing was stored or charged.
      if (error instanceof ActionError) return false
      throw error
    }
    this.#running++
    return true
  }

  /** Resolves when no action runs any more, or after the timeout. */
  async settled(timeoutMs: number): Promise<void> {
    if (this.#running > 0) await waitUpTo(timeoutMs, new Promise<void>(done => (this.#idle = done)))
  }
}
