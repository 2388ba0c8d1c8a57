import { expect, it } from 'vitest'
import { expectNoReconnect, problemsIn, shareOutage } from './testing/shared-outage.ts'

it.each([
  ['no node is restarted', false],
  ['one node is restarted meanwhile', true],
])(
  'O13, O19: no device reconnects after an outage of the database of 60 s, and the log has a line a minute: %s',
  { timeout: 300_000 },
  async (_case, restarts) => {
    const outcome = await shareOutage({ heartbeatMs: 5_000, awayMs: 60_000, restarts })
    expectNoReconnect(outcome)
    for (const log of outcome.logs) {
      const [begin, bus, ...rest] = problemsIn(log)
      expect([begin!.msg, bus!.msg].sort()).toEqual([
        'the bus between nodes is away; changes made on other nodes arrive by polling',
        'the database is unavailable or broke a connection; further errors are counted',
      ])
      const lines = rest.filter(({ msg }) => msg !== 'another node was marked as dead')
      expect(lines.slice(0, -1).map(({ msg }) => msg)).toContain('the database is still unavailable')
      expect(lines.length).toBeLessThanOrEqual(3)
      expect(lines.at(-1)).toMatchObject({
        msg: 'the database works again',
        errors: { 'heartbeat failed': expect.any(Number), 'the job queue failed': expect.any(Number) },
      })
    }
  },
)
