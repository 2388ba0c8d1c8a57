import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, testHub } from '@muster/testkit'
import { expect, it } from 'vitest'
import { createLog } from './log.ts'
import { Output } from './output.ts'

type Line = { msg: string; index?: number; dropped?: number }

/** A pipe whose reader takes what it is told to take, whole lines of JSON in the end. */
async function pipe() {
  const folder = await mkdtemp(join(tmpdir(), 'muster-output-'))
  const path = join(folder, 'pipe')
  spawnSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(path, constants.O_WRONLY)
  let text = ''
  const read = (bytes: number): number => {
    const buffer = Buffer.alloc(bytes)
    try {
      const length = readSync(reader, buffer)
      text += buffer.toString('latin1', 0, length)
      return length
    } catch {
      return 0
    }
  }
  return {
    writer,
    read,
    lines: () =>
      text
        .split('\n')
        .filter(Boolean)
        .map(line => JSON.parse(line) as Line),
    /** Reads until a line has come that fits. */
    async readUntil(isLast: (line: Line) => boolean) {
      for (;;) {
        while (read(1 << 20) > 0);
        const last = text.trimEnd().split('\n').at(-1)
        if (text.endsWith('\n') && last && isLast(JSON.parse(last) as Line)) return
        await sleep(5)
      }
    },
    [Symbol.dispose]() {
      closeSync(reader)
      closeSync(writer)
      rmSync(folder, { recursive: true })
    },
  }
}

const isLinux = process.platform === 'linux'

it.runIf(isLinux)('O4: a reader of 8 KiB/s does not hold up the hub that writes to it', async () => {
  using slow = await pipe()
  const log = createLog('debug', new Output(slow.writer))
  await using hub = await testHub({}, log)
  // More than a pipe takes: the reader would need a minute for it.
  for (let index = 0; index < 500; index++) log.info({ index, filler: 'x'.repeat(1000) }, 'filler')
  const reading = setInterval(() => slow.read(410), 50)
  let slowestMs = 0
  for (let call = 0; call < 100; call++) {
    const from = performance.now()
    expect((await ask(hub, '/healthz')).status).toBe(200)
    slowestMs = Math.max(slowestMs, performance.now() - from)
  }
  // Each call is a line of its own, for which that reader takes 30 ms.
  expect(slowestMs).toBeLessThan(1_000)
  clearInterval(reading)
  log.info('last')
  await slow.readUntil(({ msg }) => msg === 'last')
  const lines = slow.lines()
  expect(lines.filter(({ msg }) => msg === 'filler').map(({ index }) => index)).toEqual(
    Array.from({ length: 500 }, (_, index) => index),
  )
  expect(lines.filter(({ msg }) => msg === 'request')).toHaveLength(100)
})

it.runIf(isLinux)('O4: lines beyond the bound are dropped and counted', async () => {
  using stuck = await pipe()
  const log = createLog('info', new Output(stuck.writer))
  const from = performance.now()
  for (let index = 0; index < 3_000; index++) log.info({ index, filler: 'x'.repeat(1000) }, 'filler')
  expect(performance.now() - from).toBeLessThan(1_000)
  const isReport = ({ dropped }: Line): boolean => dropped !== undefined
  await stuck.readUntil(isReport)
  const kept = stuck.lines().filter(({ msg }) => msg === 'filler')
  // 64 KiB in the pipe and 1 MiB in the queue.
  expect(kept.length).toBeGreaterThan(900)
  expect(kept.length).toBeLessThan(1_200)
  expect(stuck.lines().filter(isReport)).toMatchObject([
    { level: 'warn', dropped: 3_000 - kept.length, msg: expect.stringContaining('log lines were dropped') },
  ])
  log.info('last')
  await stuck.readUntil(({ msg }) => msg === 'last')
})

it.each([
  ['ends', ''],
  ['crashes', "throw new Error('on purpose')"],
  ['leaves', 'process.exit(3)'],
])('O4: queued lines are written when the process %s', async (_how, end) => {
  const script = `
    import { createLog } from '${join(import.meta.dirname, 'log.ts')}'
    const log = createLog('info')
    for (let index = 0; index < 300; index++) log.info({ index, filler: 'x'.repeat(1000) }, 'filler')
    ${end}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'close')
  // The pipe is full for a while.
  await sleep(300)
  let text = ''
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await exited
  const indexes = text
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => (JSON.parse(line) as Line).index)
  expect(indexes).toEqual(Array.from({ length: 300 }, (_, index) => index))
})

it.runIf(isLinux)(
  'O4: a full disk and a pipe that nobody reads do not hold up the end of a process',
  async () => {
    const script = `
    import { createLog } from '${join(import.meta.dirname, 'log.ts')}'
    const log = createLog('info')
    for (let index = 0; index < 3_000; index++) log.info({ index, filler: 'x'.repeat(1000) }, 'filler')`
    using stuck = await pipe()
    for (const stderr of [openSync('/dev/full', 'w'), stuck.writer]) {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'ignore', stderr],
      })
      expect(await once(child, 'close')).toEqual([0, null])
    }
  },
)

it('O4: a file gets every line in order', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-output-'))
  const path = join(folder, 'log')
  const output = new Output(openSync(path, 'a'))
  const log = createLog('info', output)
  for (let index = 0; index < 500; index++) log.info({ index }, 'filler')
  await expect.poll(() => readFileSync(path, 'utf8').split('\n').length).toBe(501)
  output.writeNow('last\n')
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  expect(lines.pop()).toBe('last')
  expect(lines.map(line => (JSON.parse(line) as Line).index)).toEqual(
    Array.from({ length: 500 }, (_, index) => index),
  )
  rmSync(folder, { recursive: true })
})
