import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@muster/testkit/until'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { ConfigError } from '../config/config-error.ts'
import { lockDataDir } from './data-lock.ts'

const root = await mkdtemp(join(tmpdir(), 'muster-lock-'))
afterAll(() => rm(root, { recursive: true, force: true }))

const children = new Set<ChildProcess>()
afterEach(async () => {
  await Promise.all([...children].map(end))
})

function newFolder(): Promise<string> {
  return mkdtemp(join(root, 'data-'))
}

/**
 * Starts a process that tries to lock folders, one every 20 ms from the time `at` on. `answers` holds `held` or the error per
 * folder. The process keeps its locks until it is killed.
 */
async function otherProcess(dataDirs: string[], at = 0) {
  const module = join(import.meta.dirname, 'data-lock.ts')
  const script = `
    const { lockDataDir } = await import(${JSON.stringify(module)})
    const answers = []
    for (const [index, dataDir] of ${JSON.stringify(dataDirs)}.entries()) {
      while (Date.now() < ${at} + 20 * index);
      answers.push(await lockDataDir(dataDir).then(() => 'held', error => error.message))
    }
    console.log(JSON.stringify(answers))
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.add(child)
  const [answers] = (await once(child.stdout, 'data')) as [Buffer]
  return { pid: child.pid!, answers: JSON.parse(answers.toString()) as string[], end: () => end(child) }
}

async function end(child: ChildProcess): Promise<void> {
  children.delete(child)
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

describe('a data folder', () => {
  it('contains only the lock file while it is locked, and is empty afterwards', async () => {
    const dataDir = await newFolder()
    const lock = await lockDataDir(dataDir)
    expect(await readdir(dataDir)).toEqual(['hub.lock'])
    expect(await readFile(join(dataDir, 'hub.lock'), 'utf8')).toMatch(new RegExp(`^${process.pid} \\d*$`))
    await lock[Symbol.asyncDispose]()
    expect(await readdir(dataDir)).toEqual([])
  })

  it('locked by another process is refused with the process id, until that process is killed', async () => {
    const dataDir = await newFolder()
    const other = await otherProcess([dataDir])
    expect(other.answers).toEqual(['held'])
    await expect(lockDataDir(dataDir)).rejects.toThrow(
      new ConfigError(
        `MUSTER_DATA_DIR: found ${dataDir} in use by the hub with process id ${other.pid}, expected a folder of this hub's own.`,
      ),
    )
    expect(await readdir(dataDir)).toEqual(['hub.lock'])
    await other.end()
    await using _lock = await lockDataDir(dataDir)
  })

  it.runIf(existsSync('/proc/self/stat'))(
    'O21: left by a killed process that nobody has waited for (a zombie) is free',
    async () => {
      const dataDir = await newFolder()
      const script = `
        const { lockDataDir } = await import(${JSON.stringify(join(import.meta.dirname, 'data-lock.ts'))})
        await lockDataDir(${JSON.stringify(dataDir)})
        setInterval(() => {}, 1000)`
      // After `exec` the parent is `sleep`, which never waits for its child.
      const parent = spawn('sh', [
        '-c',
        '"$0" --input-type=module -e "$1" & exec sleep 60',
        process.execPath,
        script,
      ])
      children.add(parent)
      const pid = await until('it is locked', async () => {
        const lock = await readFile(join(dataDir, 'hub.lock'), 'utf8').catch(() => '')
        return /^(\d+) /.exec(lock)?.[1]
      })
      process.kill(Number(pid), 'SIGKILL')
      await until('it is a zombie', async () => / Z /.test(await readFile(`/proc/${pid}/stat`, 'utf8')))
      await using _lock = await lockDataDir(dataDir)
    },
  )

  it.each([
    ['the id of a process that has ended', '4194304 1'],
    ['a process id that another program has taken since', `${process.ppid} 1`],
    ['no text', ''],
    ['no number', 'constructor\0 x'],
    ['-1, which signals every process', '-1 '],
  ])('is not blocked by a lock with %s', async (_what, content) => {
    const dataDir = await newFolder()
    await writeFile(join(dataDir, 'hub.lock'), content)
    await using _lock = await lockDataDir(dataDir)
    expect(await readdir(dataDir)).toEqual(['hub.lock'])
  })

  it.each([
    ['unlocked', undefined],
    ['locked by a crashed process', '4194304 1'],
  ])('that is %s is acquired by exactly one of several processes at once', async (_what, content) => {
    const dataDirs = await Promise.all(Array.from({ length: 50 }, newFolder))
    if (content !== undefined)
      for (const dataDir of dataDirs) await writeFile(join(dataDir, 'hub.lock'), content)
    const at = Date.now() + 1_500
    const processes = await Promise.all(Array.from({ length: 6 }, () => otherProcess(dataDirs, at)))
    for (const [index, dataDir] of dataDirs.entries()) {
      const holders = processes.filter(({ answers }) => answers[index] === 'held')
      expect(holders).toHaveLength(1)
      for (const { answers, pid } of processes)
        if (pid !== holders[0]!.pid) expect(answers[index]).toContain(`process id ${holders[0]!.pid}`)
      expect(await readdir(dataDir)).toEqual(['hub.lock'])
    }
  })
})
