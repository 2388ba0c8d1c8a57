import { expect, it } from 'vitest'
import { errorEnvelope, okEnvelope, okEnvelopeOfJson, parseEnvelope } from './envelope.ts'
import { LinkEndedError, ProtocolError, RemoteActionError } from './errors.ts'

it('R-1: emits exactly two keys', () => {
  expect(okEnvelope({ a: [1] })).toBe('{"result":"Ok","value":{"a":[1]}}')
  expect(okEnvelope(null)).toBe('{"result":"Ok","value":null}')
  expect(okEnvelope(undefined)).toBe('{"result":"Ok","value":{}}')
  expect(okEnvelopeOfJson('{ "b": 1.0 }')).toBe('{"result":"Ok","value":{ "b": 1.0 }}')
  expect(errorEnvelope('Forbidden', 'no')).toBe(
    '{"result":"Error","error":{"kind":"Forbidden","message":"no"}}',
  )
})

it('R-19: sends RateLimited only to peers that know it', () => {
  expect(errorEnvelope('RateLimited', 'slow')).toContain('"kind":"Internal"')
  expect(errorEnvelope('RateLimited', 'slow', { knowsRateLimited: false })).toContain('"kind":"Internal"')
  expect(errorEnvelope('RateLimited', 'slow', { knowsRateLimited: true })).toContain('"kind":"RateLimited"')
  expect(errorEnvelope('Invalid', 'x', { knowsRateLimited: true })).toContain('"kind":"Invalid"')
})

it('parses what it builds', () => {
  expect(parseEnvelope(okEnvelope({ a: 1 }))).toEqual({ a: 1 })
  expect(parseEnvelope(okEnvelope(null))).toBeNull()
  expect(() => parseEnvelope(errorEnvelope('Invalid', 'bad name'))).toThrow(RemoteActionError)
  expect(() => parseEnvelope(errorEnvelope('Invalid', 'bad name'))).toThrow('bad name')
})

it('refuses everything else, extra keys included', () => {
  const bad = [
    '',
    '[]',
    'null',
    '1',
    '{}',
    '{"result":"Ok"}',
    '{"result":"Ok","value":1,"more":2}',
    '{"result":"ok","value":1}',
    '{"result":"Error"}',
    '{"result":"Error","error":null}',
    '{"result":"Error","error":[]}',
    '{"result":"Error","error":{"kind":"Invalid"}}',
    '{"result":"Error","error":{"kind":1,"message":"x"}}',
    '{"result":"Error","error":{"kind":"Invalid","message":"x"},"more":1}',
  ]
  for (const text of bad) expect(() => parseEnvelope(text), text).toThrow(ProtocolError)
})

it('shouldRetry() is true for errors that may be temporary', () => {
  expect(new RemoteActionError('RateLimited', '').shouldRetry()).toBe(true)
  expect(new RemoteActionError('Internal', '').shouldRetry()).toBe(true)
  expect(new RemoteActionError('Forbidden', '').shouldRetry()).toBe(false)
  expect(new LinkEndedError({ kind: 'Timeout', reason: '' }).shouldRetry()).toBe(true)
})
