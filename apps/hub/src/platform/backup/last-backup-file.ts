import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import type { NodeFacts } from '@muster/actions'
import { z } from 'zod'

/** Timeout of a check of the file, in milliseconds: a network share may never answer. */
const LOOK_MS = 5_000
/** Interval of looks at the file of the same backup, in milliseconds: 15 minutes. */
const LOOK_EVERY_MS = 15 * 60 * 1000
/** Maximum number of folders whose file system did not answer and still holds a killed process. */
const MAX_SILENT_FOLDERS = 8
/** Largest difference of modification times that still counts as equal, in milliseconds: FAT stores even seconds. */
const TIME_TOLERANCE_MS = 2_000
/** FAT stores local time, which summer time shifts by an hour. */
const SUMMER_TIME_MS = 60 * 60 * 1000

/** Place of a backup file, and the facts by which a node recognises it without reading it. */
export const BackupPlace = z.object({
  path: z.string(),
  /** Name of the machine that wrote the file. */
  host: z.string(),
  /** Inode of the file's folder. An unmounted disk, or the same path in another container, usually has a different inode. */
  folderInode: z.number(),
  /** Time at which the folder was made; undefined where the file system does not keep it. Two disks may have equal inodes. */
  folderBornMs: z.number().optional(),
  mtimeMs: z.number(),
})
/** Place of a backup file, and the facts by which a node recognises it without reading it. */
export type BackupPlace = z.infer<typeof BackupPlace>

type BackupFacts = NonNullable<NodeFacts['backup']>
/** The parts of the last backup that a look at its file needs. */
type Watched = { takenAt: string; sizeBytes: number; place?: BackupPlace | undefined }
type State = Pick<BackupFacts, 'state' | 'reason'>
/** The newest look at a backup, with what the last complete one found. */
type Look = { takenAt: string; startedAtMs: number; isRunning: boolean; facts?: BackupFacts }

/** Facts about a file or a folder. */
const Entry = z.object({
  size: z.number(),
  ino: z.number(),
  mtimeMs: z.number(),
  ctimeMs: z.number(),
  birthtimeMs: z.number(),
})
type Entry = z.infer<typeof Entry>
/** Facts about the file and its folder, or the code of the error. */
const Sight = z.object({ file: Entry.or(z.string()), folder: Entry.or(z.string()) })
type Sight = z.infer<typeof Sight>

/** Prints the `Sight` of the path in its argument. */
const LOOK = `
const { statSync } = require('node:fs')
const entry = path => { try { return statSync(path) } catch (error) { return String(error.code) } }
const [, path] = process.argv
console.log(JSON.stringify({ file: entry(path), folder: entry(require('node:path').dirname(path)) }))`

/** Place of a new backup. */
export async function placeOf(path: string): Promise<BackupPlace> {
  const [file, folder] = await Promise.all([stat(path), stat(dirname(path))])
  return {
    path,
    host: hostname(),
    folderInode: folder.ino,
    folderBornMs: bornMs(folder),
    mtimeMs: file.mtimeMs,
  }
}

/** Options of `BackupWatch`: its time limits, which tests shorten. */
export type BackupWatchOptions = { lookMs?: number; everyMs?: number }

/**
 * Looks at the file of the last backup from this node: when it first hears of a backup, and then every 15 minutes. It reads size and time
 * of change only, and never bytes. Each look is a process of its own: a file system that hangs would hold a thread of this one for ever.
 */
export class BackupWatch implements Disposable {
  readonly #onFacts: (facts: BackupFacts) => void
  readonly #lookMs: number
  readonly #everyMs: number
  readonly #ended = new AbortController()
  readonly #silentFolders = new Set<string>()
  #latest: Look | undefined

  /** `onFacts` is called after each look. */
  constructor(
    onFacts: (facts: BackupFacts) => void,
    { lookMs = LOOK_MS, everyMs = LOOK_EVERY_MS }: BackupWatchOptions = {},
  ) {
    this.#onFacts = onFacts
    this.#lookMs = lookMs
    this.#everyMs = everyMs
  }

  /**
   * Returns the state of the backup's file from the last finished look, or undefined before the first look has finished. Starts the next
   * look when 15 minutes have passed, without waiting for it. A backup made by an older release has no known place, so its file is not
   * looked at.
   */
  facts(backup: Watched): BackupFacts | undefined {
    const { takenAt, sizeBytes, place } = backup
    if (!place) return undefined
    const startedAtMs = performance.now()
    const last = this.#latest?.takenAt === takenAt ? this.#latest : undefined
    if (last && (last.isRunning || startedAtMs - last.startedAtMs < this.#everyMs)) return last.facts
    const look: Look = { ...last, takenAt, startedAtMs, isRunning: true }
    this.#latest = look
    void this.#look(place, sizeBytes).then(state => {
      look.isRunning = false
      look.facts = { takenAt, ...state }
      if (this.#latest === look && !this.#ended.signal.aborted) this.#onFacts(look.facts)
    })
    return look.facts
  }

  /** Ends a look that runs. */
  [Symbol.dispose](): void {
    this.#ended.abort()
  }

  /** Resolves within the time limit of a look. Never rejects. */
  async #look(place: BackupPlace, sizeBytes: number): Promise<State> {
    try {
      const sight = await this.#sight(place.path)
      return sight
        ? stateOf(place, sizeBytes, sight)
        : unseen('the file system of its folder does not answer')
    } catch (error) {
      return unseen(`the hub could not look for it: ${(error as Error).message}`)
    }
  }

  /** Undefined if the file system does not answer in time. */
  async #sight(path: string): Promise<Sight | undefined> {
    const folder = dirname(path)
    if (this.#silentFolders.has(folder) || this.#silentFolders.size >= MAX_SILENT_FOLDERS) return undefined
    const late = AbortSignal.timeout(this.#lookMs)
    const signal = AbortSignal.any([late, this.#ended.signal])
    const words = ['--eval', LOOK, path]
    const looking = promisify(execFile)(process.execPath, words, { env: {}, signal, killSignal: 'SIGKILL' })
    const { child } = looking
    // A process that waits for a disk ends only when the disk answers, even after SIGKILL.
    child.unref()
    try {
      return Sight.parse(JSON.parse((await looking).stdout))
    } catch (error) {
      if (!late.aborted) throw error
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
        this.#silentFolders.add(folder)
        child.once('exit', () => this.#silentFolders.delete(folder))
      }
      return undefined
    }
  }
}

function stateOf(place: BackupPlace, sizeBytes: number, { file, folder }: Sight): State {
  const { host, folderInode, folderBornMs, mtimeMs } = place
  if (typeof file === 'object' && file.size === sizeBytes && isSameTime(file.mtimeMs, mtimeMs))
    return { state: 'Present' }
  if (host !== hostname()) return unseen(`it was written on the machine ${host}`)
  if (typeof file === 'string' && file !== 'ENOENT')
    return unseen(`the hub cannot enter its folder (${file})`)
  if (
    typeof folder !== 'object' ||
    folder.ino !== folderInode ||
    // A backup of an older release has no such time.
    (folderBornMs !== undefined && !isSameTime(bornMs(folder) ?? 0, folderBornMs))
  )
    return unseen('the hub does not see the folder in which it was written')
  return { state: typeof file === 'object' ? 'Changed' : 'Missing' }
}

/** Time at which a folder was made. Where it is not kept, Node answers 0 or the time of the last change. */
function bornMs({ birthtimeMs, ctimeMs }: Pick<Entry, 'birthtimeMs' | 'ctimeMs'>): number | undefined {
  return birthtimeMs === 0 || birthtimeMs === ctimeMs ? undefined : birthtimeMs
}

function isSameTime(aMs: number, bMs: number): boolean {
  const differenceMs = Math.abs(aMs - bMs)
  return [0, SUMMER_TIME_MS].some(shiftMs => Math.abs(differenceMs - shiftMs) <= TIME_TOLERANCE_MS)
}

function unseen(reason: string): State {
  return { state: 'Unseen', reason }
}

/**
 * Combines the reports of the running nodes about the file of the last backup into one state. If one node sees the file, it is present.
 * Otherwise a node that reports it missing or changed decides, because only a node on the machine that wrote the file reports that. Nodes
 * that cannot check the file count last.
 */
export function stateOfNodes(
  { takenAt, place }: Pick<Watched, 'takenAt' | 'place'>,
  nodes: readonly { facts?: NodeFacts | undefined }[],
): ({ path: string } & State) | undefined {
  if (!place) return undefined
  const reports = nodes.flatMap(({ facts }) => (facts?.backup?.takenAt === takenAt ? [facts.backup] : []))
  for (const state of ['Present', 'Missing', 'Changed', 'Unseen'] as const) {
    const report = reports.find(report => report.state === state)
    if (report) return { path: place.path, state, ...(report.reason && { reason: report.reason }) }
  }
  return { path: place.path, ...unseen('no node has looked for it yet') }
}
