import { createHash, randomUUID } from 'node:crypto'
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf } from '../describe-error.ts'
import { createFileOnce, syncFolders } from '../file-once.ts'

/** Steps that the ledger remembers. Each has up to three small files. */
const MAX_STEPS = 1_000
/** Files that are left of a process that was killed are removed when they are this old, in milliseconds. */
const UNFINISHED_AGE_MS = 60 * 60 * 1000
const UNFINISHED = /\.[0-9a-f-]{36}$/

/** A step of an operation. */
export type StepKey = { deviceOperationId: string; stepIndex: number }

/**
 * What this device has begun and done for operations of one hub, on the disk. A step is noted as begun before its program starts, and its
 * result before it is reported, each in a file that survives a power cut. So no step runs twice, and a result is sent again if the hub
 * asks for the step again.
 */
export class WorkLedger {
  readonly #folder: string

  constructor(dataDir: string, hubUrl: string) {
    const hub = createHash('sha256').update(new URL(hubUrl).origin).digest('hex').slice(0, 12)
    this.#folder = join(dataDir, 'operations', hub)
  }

  /** Notes that a step begins. Resolves to false if it has begun before. */
  async begin(key: StepKey): Promise<boolean> {
    await this.#trim()
    const isNew = await createFileOnce(this.#path(key, 'started'), '')
    // The parents of a new folder must survive a power cut too.
    if (isNew) await syncFolders(dirname(this.#folder))
    return isNew
  }

  /** Notes the result of a step, as the JSON text of its report. The first result stays. */
  async finish(key: StepKey, report: string): Promise<void> {
    await createFileOnce(this.#path(key, 'result'), report)
  }

  /** JSON text of the report of a step that has ended; undefined for others. */
  result(key: StepKey): Promise<string | undefined> {
    return this.#read(key, 'result')
  }

  /** Replaces the last checkpoint of a step, atomically. */
  async saveCheckpoint(key: StepKey, checkpoint: string): Promise<void> {
    const path = this.#path(key, 'checkpoint')
    const temporary = `${path}.${randomUUID()}`
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(checkpoint)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
    await syncFolders(this.#folder, this.#folder)
  }

  /** JSON text of the last checkpoint of a step; undefined if it has none. */
  checkpoint(key: StepKey): Promise<string | undefined> {
    return this.#read(key, 'checkpoint')
  }

  #path({ deviceOperationId, stepIndex }: StepKey, what: 'started' | 'result' | 'checkpoint'): string {
    return join(this.#folder, `${deviceOperationId}-${stepIndex}.${what}`)
  }

  async #read(key: StepKey, what: 'result' | 'checkpoint'): Promise<string | undefined> {
    try {
      return await readFile(this.#path(key, what), 'utf8')
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      throw error
    }
  }

  /** Removes the oldest steps beyond the bound, and files that a killed process has left. */
  async #trim(): Promise<void> {
    const files = await readdir(this.#folder).catch(error => {
      if (codeOf(error) === 'ENOENT') return []
      throw error
    })
    if (files.length <= MAX_STEPS) return
    const ages = new Map<string, number>()
    for (const file of files) {
      const path = join(this.#folder, file)
      const changedMs = (await stat(path).catch(() => undefined))?.mtimeMs ?? 0
      if (UNFINISHED.test(file)) {
        if (Date.now() - changedMs > UNFINISHED_AGE_MS) await rm(path, { force: true })
      } else {
        const step = file.slice(0, file.lastIndexOf('.'))
        ages.set(step, Math.max(ages.get(step) ?? 0, changedMs))
      }
    }
    const oldest = [...ages]
      .toSorted(([, a], [, b]) => a - b)
      .slice(0, Math.max(0, ages.size - MAX_STEPS + 1))
    // The note of the beginning goes last: without it the step could run again.
    for (const [step] of oldest)
      for (const what of ['checkpoint', 'result', 'started'])
        await rm(join(this.#folder, `${step}.${what}`), { force: true })
  }
}
