import { RemoteActionError, type WireErrorKind } from '@muster/link'
import type { Age, Peer, PeerChannel } from './peer.ts'

/** Error for an answer that a published client could not parse. The client's command fails with this message (docs/protocol.md 7.2). */
export class MalformedOutput extends Error {
  override readonly name = 'MalformedOutput'
}

const KINDS: Record<Age, string[]> = {
  '2025': ['Invalid', 'Forbidden', 'Internal'],
  '2026': ['Invalid', 'Forbidden', 'Internal', 'RateLimited'],
}

/** Runs actions over an executor channel, strictly one after the other (docs/protocol.md 3.2). */
export class PeerRpc {
  readonly #age: Age
  readonly #channel: PeerChannel
  #buffer = Buffer.alloc(0)

  private constructor(age: Age, channel: PeerChannel) {
    this.#age = age
    this.#channel = channel
  }

  static async open(age: Age, peer: Peer): Promise<PeerRpc> {
    return new PeerRpc(age, await peer.open('executor'))
  }

  /**
   * Runs an action. Rejects with `RemoteActionError` for an error of the hub, and with `MalformedOutput` for an answer that
   * clients of this generation (`Age`) cannot parse.
   */
  async invoke(name: string, input: unknown): Promise<unknown> {
    const nameBytes = Buffer.from(name)
    const inputBytes = Buffer.from(JSON.stringify(input))
    const nameLength = Buffer.alloc(2)
    nameLength.writeUInt16BE(nameBytes.length)
    const inputLength = Buffer.alloc(4)
    inputLength.writeUInt32BE(inputBytes.length)
    const parts = [nameLength, nameBytes, inputLength, inputBytes]
    // Clients of 2025 write a request in one piece, clients of 2026 write each field separately (docs/protocol.md 2.6).
    for (const bytes of this.#age === '2025' ? [Buffer.concat(parts)] : parts)
      await this.#channel.write(bytes)
    const length = (await this.#take(4)).readUInt32BE(0)
    return this.#parse((await this.#take(length)).toString())
  }

  /** Closes the channel, as at the end of a command. */
  close(): void {
    this.#channel.close()
  }

  async #take(length: number): Promise<Buffer> {
    while (this.#buffer.length < length) {
      const bytes = await this.#channel.read()
      if (bytes === null) throw new Error('the executor channel ended')
      this.#buffer = Buffer.concat([this.#buffer, bytes])
    }
    const taken = this.#buffer.subarray(0, length)
    this.#buffer = this.#buffer.subarray(length)
    return taken
  }

  /**
   * Parses the envelope as strictly as published clients: exactly two keys, and only error kinds known to clients of this
   * generation (docs/protocol.md 0.2, 3.2).
   */
  #parse(text: string): unknown {
    const envelope = JSON.parse(text) as { result?: unknown; value?: unknown; error?: unknown }
    const keys = Object.keys(envelope).sort().join()
    if (envelope.result === 'Ok' && keys === 'result,value') return envelope.value
    const { kind, message, ...rest } = (envelope.error ?? {}) as Record<string, unknown>
    const isError = envelope.result === 'Error' && keys === 'error,result' && Object.keys(rest).length === 0
    if (!isError || !KINDS[this.#age].includes(String(kind)) || typeof message !== 'string')
      throw new MalformedOutput(text)
    throw new RemoteActionError(kind as WireErrorKind, message)
  }
}
