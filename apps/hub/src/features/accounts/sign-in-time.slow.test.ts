import { signIn, testHub } from '@muster/testkit'
import { afterAll, expect, it } from 'vitest'

const PROXY_SECRET = 'only our proxy knows'
// With the proxy secret the test can choose the client IP of each request.
const hub = await testHub({ trustedProxies: ['127.0.0.1'], proxySecret: PROXY_SECRET })
afterAll(() => hub[Symbol.asyncDispose]())
let address = 0

/** Headers of a client with a client IP that was not used before. */
function elsewhere(): Record<string, string> {
  address++
  return {
    'x-forwarded-for': `10.${(address >> 16) & 255}.${(address >> 8) & 255}.${address & 255}`,
    'x-muster-proxy-secret': PROXY_SECRET,
  }
}

it('a sign-in takes the same time for known and unknown accounts', { timeout: 90_000 }, async () => {
  let ada = await hub.user()
  const times: Record<string, number[]> = { known: [], unknown: [] }
  for (let round = 0; round < 40; round++) {
    // The sign-ins alternate between a known and an unknown account, so that other work on the machine affects both
    // measurements.
    for (const kind of ['known', 'unknown']) {
      const email = kind === 'known' ? ada.email : 'nobody@test.example'
      if (round % 18 === 0 && kind === 'known') ada = await hub.user()
      const start = performance.now()
      const { status } = await signIn(
        hub,
        kind === 'known' ? ada.email : `${round}-${email}`,
        'wrong',
        elsewhere(),
      )
      times[kind]!.push(performance.now() - start)
      expect(status).toBe(401)
    }
  }
  // Compares lower quartiles, because other work on the machine can only make a sign-in slower.
  const [known, unknown] = [lowerQuartile(times.known!), lowerQuartile(times.unknown!)]
  // If no password were hashed for unknown accounts, the times would differ at least fivefold.
  expect(Math.abs(known - unknown) / Math.max(known, unknown)).toBeLessThan(0.35)
})

function lowerQuartile(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 2]!
}
