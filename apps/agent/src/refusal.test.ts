import { describe, expect, it } from 'vitest'
import { adviceOn, HubRefusedError, retryAfterMsOf } from './refusal.ts'

describe('retryAfterMsOf', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  it.each([
    [undefined, undefined],
    ['5', 5000],
    [' 120 ', 120_000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['Wed, 31 Dec 2025 23:59:00 GMT', undefined],
    ['0', undefined],
    ['soon', undefined],
    ['-3', undefined],
  ])('reads %j', (header, expected) => {
    expect(retryAfterMsOf(header, now)).toBe(expected)
  })
})

describe('adviceOn', () => {
  it.each([
    [
      403,
      'certificate is pending',
      'certificate is pending: accept it in the console (the hub says 403 "certificate is pending")',
    ],
    [
      403,
      'certificate is revoked',
      'this device is not allowed in: look at its certificates in the console (the hub says 403 "certificate is revoked")',
    ],
    [
      401,
      'unknown token',
      'the token is not accepted: create one in the console (the hub says 401 "unknown token")',
    ],
    [404, '', 'no hub at this address: check it (the answer was 404)'],
    [503, 'too many devices', 'the hub refused the connection with 503: too many devices'],
  ])('gives advice on %s %s', (status, reason, expected) => {
    expect(adviceOn(new HubRefusedError(status, reason))).toBe(expected)
  })

  it('describes errors of sockets, also without a message', () => {
    const refused = Object.assign(new Error(''), { code: 'ECONNREFUSED' })
    expect(adviceOn(new AggregateError([refused, refused]))).toBe('ECONNREFUSED')
    expect(adviceOn(new Error('getaddrinfo ENOTFOUND hub'))).toBe('getaddrinfo ENOTFOUND hub')
  })

  it('D12: names the clock of this machine where a certificate is not valid at its time', () => {
    const early = Object.assign(new Error('certificate is not yet valid'), { code: 'CERT_NOT_YET_VALID' })
    expect(adviceOn(early)).toMatch(
      /^certificate is not yet valid \(the clock of this machine says \d{4}-\d\d-\d\d \d\d:\d\d UTC: set it if that is wrong\)$/,
    )
  })
})
