import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { newDatedId } from '@muster/actions'
import { EXECUTOR, ExecutorClient, type Link } from '@muster/link'
import { connectDevice, deviceHeaders, deviceIdentity, openWebSocket } from '@muster/testkit/device'
import {
  countRefusal,
  type HostileKind,
  type HostileRun,
  type HostileTarget,
  untilStopped,
} from './hostile-kind.ts'

type Attack = HostileTarget & { run: HostileRun; isOver: () => boolean }

const LARGE_VALUE_BYTES = 1024 * 1024 - 16
const LARGE_BODY_BYTES = 60 * 1024
const EVENTS_PER_CALL = 20
/** Limit of connections that the device opens and keeps open. */
const MAX_LINKS = 2_000

const ATTACKS: Record<string, (attack: Attack) => Promise<void>> = {
  'rewrites a value of 1 MiB': attack =>
    onFourChannels(attack, LARGE_VALUE_BYTES, ({ deviceId }) => [
      'devices_SetProperty',
      { deviceId, name: 'blob', value: noise(LARGE_VALUE_BYTES) },
    ]),
  'sets ever more properties': attack =>
    onFourChannels(attack, 8_192, ({ deviceId }) => [
      'devices_SetProperty',
      { deviceId, name: `p${randomBytes(8).toString('hex')}`, value: noise(8_192) },
    ]),
  'publishes events of 60 KiB': attack =>
    onFourChannels(attack, EVENTS_PER_CALL * LARGE_BODY_BYTES, ({ deviceId }) => {
      const events = Array.from({ length: EVENTS_PER_CALL }, () => event(noise(LARGE_BODY_BYTES)))
      return ['devices_PublishEvents', { deviceId, events }]
    }),
  'publishes single events without a pause': attack =>
    onFourChannels(attack, 20, ({ deviceId }) => [
      'devices_PublishEvents',
      { deviceId, events: [event(noise(20))] },
    ]),
  'shows ever new fingerprints': newFingerprints,
  'opens unregistered links': unregisteredLinks,
  'sends halves of large inputs': halfInputs,
}

/** Attacks of one hostile device, each with a new device. */
export const DEVICE_KINDS: HostileKind[] = Object.entries(ATTACKS).map(([name, attack]) => ({
  name,
  start: untilStopped(attack),
}))

/** Calls actions on four executor channels (over which a device runs actions) of one link, one after the other on each channel. */
async function onFourChannels(
  { url, deploymentToken: token, run, isOver }: Attack,
  bytes: number,
  call: (device: { deviceId: string }) => [name: string, input: object],
): Promise<void> {
  await using device = await connectDevice({ url, token })
  const executors = await Promise.all(
    [1, 2, 3, 4].map(async () => new ExecutorClient(await device.link.open('executor'))),
  )
  await Promise.all(
    executors.map(async executor => {
      while (!isOver()) {
        try {
          await executor.invoke(...call(device))
          run.accepted++
          run.acceptedBytes += bytes
        } catch (error) {
          await countRefusal(run, error)
        }
      }
    }),
  )
}

async function newFingerprints({ url, deploymentToken: token, run, isOver }: Attack): Promise<void> {
  const { certificatePem } = await deviceIdentity()
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (!isOver()) {
        const fingerprint = (await deviceIdentity()).fingerprint
        try {
          const headers = deviceHeaders({ url, token }, { fingerprint, certificatePem })
          const { webSocket } = await openWebSocket(url, headers)
          run.accepted++
          webSocket.terminate()
        } catch (error) {
          await countRefusal(run, error)
        }
      }
    }),
  )
}

async function unregisteredLinks({ url, deploymentToken: token, run, isOver }: Attack): Promise<void> {
  await using device = await connectDevice({ url, token })
  const { identity } = device
  const open: { terminate(): void }[] = []
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (!isOver() && open.length < MAX_LINKS) {
        try {
          const headers = deviceHeaders({ url, token, register: false }, identity)
          open.push((await openWebSocket(url, headers)).webSocket)
          run.accepted++
        } catch (error) {
          await countRefusal(run, error)
        }
      }
    }),
  )
  while (!isOver()) await pause(50)
  for (const webSocket of open) webSocket.terminate()
}

/**
 * Opens three links with as many executor channels as the hub allows. Each channel sends half of an input of 8 MiB and never the
 * rest.
 */
async function halfInputs({ url, deploymentToken: token, run, isOver }: Attack): Promise<void> {
  await using device = await connectDevice({ url, token })
  const { identity } = device
  await using second = await connectDevice({ url, token, identity, register: false })
  await using third = await connectDevice({ url, token, identity, register: false })
  const name = Buffer.from('devices_SetProperty')
  const head = Buffer.alloc(2 + name.length + 4)
  head.writeUInt16BE(name.length)
  head.set(name, 2)
  head.writeUInt32BE(EXECUTOR.maxInputBytes, 2 + name.length)
  const half = Buffer.alloc(EXECUTOR.maxInputBytes / 2, ' ')
  const hold = async (link: Link): Promise<void> => {
    while (!isOver()) {
      try {
        const channel = await link.open('executor', { timeoutMs: 1_000 })
        await channel.write(head)
        await channel.write(half)
        run.accepted++
      } catch (error) {
        await countRefusal(run, error)
      }
    }
  }
  await Promise.all([device, second, third].map(({ link }) => hold(link)))
}

/** Random text that PostgreSQL cannot compress. */
function noise(bytes: number): string {
  return randomBytes(Math.ceil((bytes * 3) / 4))
    .toString('base64')
    .slice(0, bytes)
}

function event(body: string): object {
  return {
    eventId: newDatedId('d_ev'),
    severity: 'Info',
    category: 'bench',
    body,
    attributes: {},
    emittedAt: new Date().toISOString(),
  }
}
