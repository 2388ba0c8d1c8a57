import { beforeAll, describe, expect, it } from 'vitest'
import { expectNoReconnect, problemsIn, shareOutage } from './testing/shared-outage.ts'

// Four stale periods of nodes with this interval of heartbeats.
const OUTAGE = { heartbeatMs: 250, awayMs: 4_000 }

describe('after an outage of the database that all nodes shared', () => {
  let outcome: Awaited<ReturnType<typeof shareOutage>>
  beforeAll(async () => {
    outcome = await shareOutage(OUTAGE)
  })

  it('O13: no node has evicted another one', () => {
    expectNoReconnect(outcome)
    for (const { named } of outcome.logs) expect(named('another node was marked as dead')).toEqual([])
  })

  it('O19: the log has one line at its start and one at its end, with counts and without stacks', () => {
    for (const log of outcome.logs) {
      const problems = problemsIn(log)
      expect(problems.map(({ msg }) => msg).sort()).toEqual([
        'the bus between nodes is away; changes made on other nodes arrive by polling',
        'the database is unavailable or broke a connection; further errors are counted',
        'the database works again',
      ])
      expect(problems.at(-1)).toMatchObject({
        errors: { 'heartbeat failed': expect.any(Number), 'the job queue failed': expect.any(Number) },
      })
      expect(JSON.stringify(problems)).not.toContain('"stack"')
    }
  })
})

it('O13: a node that was restarted during an outage evicts no node that shared it', async () => {
  expectNoReconnect(await shareOutage({ ...OUTAGE, restarts: true }))
})

it('O13: no node has evicted another one after the database has answered none of them for a while', async () => {
  const outcome = await shareOutage({ ...OUTAGE, hangs: true })
  expectNoReconnect(outcome)
  for (const { named } of outcome.logs) expect(named('another node was marked as dead')).toEqual([])
})
