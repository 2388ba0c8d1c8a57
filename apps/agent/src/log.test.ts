import { expect, it } from 'vitest'
import { createLog, type LogLevel } from './log.ts'

function logAt(level: LogLevel) {
  const lines: string[] = []
  const log = createLog({ level, write: line => lines.push(line), now: () => new Date(0) })
  return { log, lines }
}

it('writes one line of time, level and message', () => {
  const { log, lines } = logAt('info')
  log.info('connected')
  log.warn('odd')
  log.debug('not wanted')
  expect(lines).toEqual([
    '1970-01-01T00:00:00.000Z info  connected\n',
    '1970-01-01T00:00:00.000Z warn  odd\n',
  ])
})

it('accepts the levels of the public agent that it does not use', () => {
  for (const [level, count] of [
    ['off', 0],
    ['trace', 2],
  ] as const) {
    const { log, lines } = logAt(level)
    log.error('bad')
    log.debug('small')
    expect(lines).toHaveLength(count)
  }
})

it('prevents forged lines and control of the terminal', () => {
  const { log, lines } = logAt('error')
  log.error('hub says "a\r\n1970 info  fine\u001b[2J"')
  expect(lines).toEqual(['1970-01-01T00:00:00.000Z error hub says "a 1970 info  fine [2J"\n'])
})
