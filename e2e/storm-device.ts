import { setTimeout as sleep } from 'node:timers/promises'
import { newDatedId } from '@muster/actions'
import type { LinkOptions } from '@muster/link'
import {
  ConnectionRefused,
  connectDevice,
  type DeviceIdentity,
  deviceIdentity,
  type FakeDevice,
} from '@muster/testkit/device'
import { until } from '@muster/testkit/until'

/** A device of a fleet whose hubs or connections fail. It reconnects, and publishes unacknowledged events again. */
export class StormDevice {
  readonly acknowledged: string[] = []
  readonly absencesMs: number[] = []
  refusals = 0
  #device: FakeDevice
  #isOver = false
  readonly #url: string
  readonly #token: string

  private constructor(url: string, token: string, device: FakeDevice) {
    this.#url = url
    this.#token = token
    this.#device = device
  }

  static async connect(url: string, token: string): Promise<StormDevice> {
    return new StormDevice(url, token, await connectThrough(url, token))
  }

  get deviceId(): string {
    return this.#device.deviceId
  }

  get isConnected(): boolean {
    return this.#device.link.isOpen
  }

  /** Reconnects until the hub accepts the device, or the device is stopped. Counts refusals, but not failed connections while the hub is down. */
  async reconnect(): Promise<void> {
    await this.#device.link.ended
    const { identity } = this.#device
    await until(
      'the device is accepted',
      async () => {
        if (this.#isOver) return true
        try {
          const device = await connectThrough(this.#url, this.#token, identity)
          if (this.#isOver) await device[Symbol.asyncDispose]()
          else this.#device = device
          return true
        } catch (error) {
          if (error instanceof ConnectionRefused) this.refusals++
          return false
        }
      },
      60_000,
    )
  }

  /** Reconnects whenever the connection ends, until `stop` is called. Records how long each interruption lasted, in milliseconds. */
  async stay(): Promise<void> {
    for (;;) {
      await this.#device.link.ended
      if (this.#isOver) return
      const fromMs = performance.now()
      await this.reconnect()
      this.absencesMs.push(performance.now() - fromMs)
    }
  }

  /** Publishes one event after the other until `stop` is called, with a pause after each. */
  async report(pauseMs = 0): Promise<void> {
    while (!this.#isOver) {
      if (pauseMs > 0) await sleep(pauseMs)
      const eventId = newDatedId('d_ev')
      const event = {
        eventId,
        severity: 'Info',
        body: 1,
        attributes: {},
        emittedAt: new Date().toISOString(),
      }
      while (!this.#isOver && !this.acknowledged.includes(eventId)) {
        const device = this.#device
        try {
          await device.invoke('devices_PublishEvents', { deviceId: device.deviceId, events: [event] })
          this.acknowledged.push(eventId)
        } catch {
          await until('it has reconnected', () => this.#isOver || this.#device !== device, 60_000)
        }
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    await this.#device[Symbol.asyncDispose]()
  }

  stop(): void {
    this.#isOver = true
  }
}

/** Connects a device to a hub, or to a proxy that terminates TLS for hubs. With TLS, the device proves its certificate in the handshake. */
export async function connectThrough(
  url: string,
  token: string,
  known?: DeviceIdentity,
  link?: LinkOptions,
): Promise<FakeDevice> {
  const identity = known ?? (await deviceIdentity())
  const isTls = url.startsWith('https:')
  return connectDevice({
    url,
    token,
    identity,
    ...(link && { link }),
    ...(isTls && {
      tls: { cert: identity.certificatePem, key: identity.keyPem! },
      headers: { 'x-client-cert': undefined },
    }),
  })
}
