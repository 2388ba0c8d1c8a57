import { ProtocolError, RemoteActionError } from './errors.ts'

/** Error kinds on the wire (docs/protocol.md 3.2). */
export type WireErrorKind = 'Invalid' | 'Forbidden' | 'Internal' | 'RateLimited'

/**
 * Encodes the answer of a successful action as JSON with exactly two keys (docs/protocol.md R-1). `undefined` becomes the empty object
 * (docs/protocol.md 0.2).
 */
export function okEnvelope(value: unknown): string {
  return okEnvelopeOfJson(JSON.stringify(value) ?? '{}')
}

/** Like okEnvelope, for a value that is JSON text already. */
export function okEnvelopeOfJson(json: string): string {
  return `{"result":"Ok","value":${json}}`
}

/**
 * Encodes the answer of a failed action as JSON with exactly two keys (docs/protocol.md R-1). Peers from before 2026-03-27 cannot read
 * `RateLimited`, so it becomes `Internal` unless the peer is known to be new enough (docs/protocol.md R-19).
 */
export function errorEnvelope(
  kind: WireErrorKind,
  message: string,
  peer?: { readonly knowsRateLimited: boolean },
): string {
  const known = kind === 'RateLimited' && !peer?.knowsRateLimited ? 'Internal' : kind
  return JSON.stringify({ result: 'Error', error: { kind: known, message } })
}

function hasExactly(value: object, first: string, second: string): boolean {
  return Object.keys(value).length === 2 && Object.hasOwn(value, first) && Object.hasOwn(value, second)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Returns the value of an answer. Throws RemoteActionError for an error envelope and ProtocolError for anything else. An
 * envelope with a third key is invalid as well, because published Nexigon clients reject it (docs/protocol.md 0.2).
 */
export function parseEnvelope(text: string): unknown {
  let envelope: unknown
  try {
    envelope = JSON.parse(text)
  } catch (cause) {
    throw new ProtocolError('the response is no JSON', { cause })
  }
  if (!isObject(envelope)) throw new ProtocolError('the response is no envelope')
  if (envelope.result === 'Ok' && hasExactly(envelope, 'result', 'value')) return envelope.value
  const error = envelope.error
  if (envelope.result === 'Error' && hasExactly(envelope, 'result', 'error') && isObject(error)) {
    const { kind, message } = error
    if (typeof kind === 'string' && typeof message === 'string') throw new RemoteActionError(kind, message)
  }
  throw new ProtocolError('the response is no envelope')
}
