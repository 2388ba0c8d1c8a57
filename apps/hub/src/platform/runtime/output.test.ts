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

/** Makes a named pipe and a reader. The test controls how many bytes the reader takes. The reader parses them as JSON lines. */
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
        .slice(0, -1)
        .map(line => JSON.parse(line) as Line),
    /** Reads until `isLast` is true for the last complete line. */
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

it.runIf(isLinux)('O4: a log reader of 8 KiB/s does not slow down the hub', async () => {
  using slow = await pipe()
  const log = createLog('debug', new Output(slow.writer))
  await using hub = await testHub({}, log)
  // 500 KB exceed the capacity of the pipe, and the reader needs a minute for them.
  for (let index = 0; index < 500; index++) log.info({ index, filler: 'x'.repeat(1000) }, 'filler')
  const reading = setInterval(() => slow.read(410), 50)
  for (let call = 0; call < 100; call++) expect((await ask(hub, '/healthz')).status).toBe(200)
  // Each call writes a log line. If a call waited until the reader gets its line, the reader would have all lines before it by now.
  expect(slow.lines().length).toBeLessThan(500)
  clearInterval(reading)
  log.info('last')
  await slow.readUntil(({ msg }) => msg === 'last')
  const lines = slow.lines()
  expect(lines.filter(({ msg }) => msg === 'filler').map(({ index }) => index)).toEqual(
    Array.from({ length: 500 }, (_, index) => index),
  )
  expect(lines.filter(({ msg }) => msg === 'request')).toHaveLength(100)
})

it.runIf(isLinux)('O4: drops and counts lines beyond the queue limit', async () => {
  using stuck = await pipe()
  const log = createLog('info', new Output(stuck.writer))
  // The reader runs in this process, so a log call that waited for it would never return.
  for (let index = 0; index < 3_000; index++) log.info({ index, filler: 'x'.repeat(1000) }, 'filler')
  const isReport = ({ dropped }: Line): boolean => dropped !== undefined
  await stuck.readUntil(isReport)
  const kept = stuck.lines().filter(({ msg }) => msg === 'filler')
  // The pipe holds 64 KiB and the queue 1 MiB, together about 1,050 lines of 1 KB.
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
  ['calls process.exit', 'process.exit(3)'],
])('O4: writes queued lines when the process %s', async (_how, end) => {
  const script = `
    import { createLog } from '${join(import.meta.dirname, 'log.ts')}'
    const log = createLog('info')
    for (let index = 0; index < 300; index++) log.info({ index, filler: 'x'.repeat(1000) }, 'filler')
    ${end}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'close')
  // The test reads nothing for 300 ms. The pipe is full during this time, so the process has to queue log lines.
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
  'O4: a full disk and a pipe that is not read do not keep a process from exiting',
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

it('O4: writes every line to a file in order', async () => {
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
