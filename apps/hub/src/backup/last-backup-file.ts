import { stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import type { NodeFacts } from '@muster/actions'
import { waitUpTo } from '@muster/concurrency'
import { z } from 'zod'

/** Time that a look at the file may take, in milliseconds: a network share may never answer. */
const LOOK_MS = 5_000
/** Difference of times of change that is none, in milliseconds: FAT stores even seconds. */
const TIME_TOLERANCE_MS = 2_000

/** Where the file of a backup is, and by what a node recognises it without reading it. */
export const BackupPlace = z.object({
  path: z.string(),
  /** Name of the machine that wrote the file. */
  host: z.string(),
  /** Inode of the file's folder. An unmounted disk, or the same path in another container, has another one. */
  folderInode: z.number(),
  mtimeMs: z.number(),
})
/** Where the file of a backup is, and by what a node recognises it without reading it. */
export type BackupPlace = z.infer<typeof BackupPlace>

type BackupFacts = NonNullable<NodeFacts['backup']>
/** The parts of the last backup that a look at its file needs. */
type Watched = { takenAt: string; sizeBytes: number; place?: BackupPlace | undefined }
type State = Pick<BackupFacts, 'state' | 'reason'>

/** Place of a new backup. */
export async function placeOf(path: string): Promise<BackupPlace> {
  const [file, folder] = await Promise.all([stat(path), stat(dirname(path))])
  return { path, host: hostname(), folderInode: folder.ino, mtimeMs: file.mtimeMs }
}

/** Looks at the file of the last backup from this node. Reads its size and time of change only, and never its bytes. */
export class BackupWatch {
  #look: Promise<BackupFacts> | undefined

  /** Resolves within 5 s. Undefined if the place of the backup is not known, because an older release made it. */
  async look({ takenAt, sizeBytes, place }: Watched): Promise<BackupFacts | undefined> {
    if (!place) return undefined
    let found: BackupFacts | undefined
    // A look that hangs holds a thread of the pool, so there is at most one.
    this.#look ??= stateOf(place, sizeBytes)
      .then(state => ({ takenAt, ...state }))
      .finally(() => {
        this.#look = undefined
      })
    const look = this.#look.then(facts => {
      found = facts
    })
    await waitUpTo(LOOK_MS, look)
    return found?.takenAt === takenAt
      ? found
      : { takenAt, ...unseen('the file system of its folder does not answer') }
  }
}

async function stateOf({ path, host, folderInode, mtimeMs }: BackupPlace, sizeBytes: number): Promise<State> {
  const file = await found(path)
  if (
    typeof file === 'object' &&
    file.size === sizeBytes &&
    Math.abs(file.mtimeMs - mtimeMs) <= TIME_TOLERANCE_MS
  )
    return { state: 'Present' }
  if (host !== hostname()) return unseen(`it was written on the machine ${host}`)
  if (typeof file === 'string' && file !== 'ENOENT')
    return unseen(`the hub cannot enter its folder (${file})`)
  const folder = await found(dirname(path))
  if (typeof folder !== 'object' || folder.ino !== folderInode)
    return unseen('the hub does not see the folder in which it was written')
  return { state: typeof file === 'object' ? 'Changed' : 'Missing' }
}

/** Facts about a file, or the code of the error. */
function found(path: string) {
  return stat(path).catch((error: NodeJS.ErrnoException) => error.code ?? error.message)
}

function unseen(reason: string): State {
  return { state: 'Unseen', reason }
}

/**
 * What the running nodes together know about the file of the last backup. Only a node on the machine that wrote the file calls it missing
 * or changed, so its word counts before that of the others.
 */
export function stateOfNodes(
  { takenAt, place }: Pick<Watched, 'takenAt' | 'place'>,
  nodes: readonly { facts?: NodeFacts | undefined }[],
): ({ path: string } & State) | undefined {
  if (!place) return undefined
  const reports = nodes.flatMap(({ facts }) => (facts?.backup?.takenAt === takenAt ? [facts.backup] : []))
  for (const state of ['Missing', 'Changed', 'Present', 'Unseen'] as const) {
    const report = reports.find(report => report.state === state)
    if (report) return { path: place.path, state, ...(report.reason && { reason: report.reason }) }
  }
  return { path: place.path, ...unseen('no node has looked for it yet') }
}
