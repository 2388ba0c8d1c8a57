import { createHash } from 'node:crypto'
import { readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { newDatedId } from '@muster/actions/client'
import { codeOf } from './describe-error.ts'
import { createFileOnce, syncFolders } from './file-once.ts'
import { type JsonText, jsonObject, jsonTextOf } from './json-text.ts'

/** Bounds of an event queue. They include events that were set aside, but not the report of dropped events. */
export type EventQueueBounds = { maxEvents: number; maxBytes: number }

/** An event in the form of `devices_PublishEvents`, as JSON text. */
export type DeviceEventText = { eventId: string; json: JsonText }

/** An event in the queue, as its file's name describes it. */
export type QueueEntry = {
  file: string
  sequence: number
  sizeBytes: number
  /** Number of dropped events that this event reports; 0 for all other events. */
  dropped: number
  eventId: string
  isSetAside: boolean
}

/** `<sequence>-<size in bytes>-<dropped events that it reports>-<event id>.json`, and an ending for events that are not sent. */
const NAME = /^(\d{12})-(\d+)-(\d+)-(d_ev_[\w-]+)\.json(\.damaged|\.refused)?$/
/** Name of an unfinished file of `createFileOnce`. */
const UNFINISHED = /\.json\.[0-9a-f-]{36}$/
const UNFINISHED_AGE_MS = 60 * 60 * 1000

/**
 * Events that wait on the disk until one hub has stored them: a folder with one file for each event. Several processes may use the
 * queue at the same time without a lock, because each file is complete from its creation, has a name of its own and never changes.
 * Two processes may send the same event; the hub stores it once, by its id.
 */
export class EventQueue {
  readonly folder: string
  readonly #bounds: EventQueueBounds
  #areParentsSynced = false

  /** Each hub has a folder of its own, so that events for one hub never go to another. */
  constructor(dataDir: string, hubUrl: string, bounds: EventQueueBounds) {
    const hub = createHash('sha256').update(new URL(hubUrl).origin).digest('hex').slice(0, 12)
    this.folder = join(dataDir, 'events', hub)
    this.#bounds = bounds
  }

  /** Events to send, oldest first. */
  async entries(): Promise<QueueEntry[]> {
    return (await this.#list()).filter(entry => !entry.isSetAside)
  }

  /**
   * Stores an event durably, behind all others. A full queue drops events that were set aside, then the oldest events, and stores a
   * report of them. Returns the number of dropped events. Rejects if the queue is off, for an event that is larger than the queue, or
   * with the error of the file system. Once the event is stored, errors only go to `onTrimFailed`: the queue may then be too large.
   */
  async add(event: DeviceEventText, onTrimFailed: (error: unknown) => void): Promise<number> {
    const { maxEvents, maxBytes } = this.#bounds
    const sizeBytes = Buffer.byteLength(event.json)
    if (maxEvents === 0) throw new Error('the queue is off (event-queue.max-events = 0)')
    if (sizeBytes > maxBytes)
      throw new Error(
        `found an event of ${sizeBytes} bytes, expected at most ${maxBytes} (event-queue.max-bytes)`,
      )
    const sequence = ((await this.#list()).at(-1)?.sequence ?? 0) + 1
    await this.#write(sequence, 0, event)
    try {
      return await this.#trim()
    } catch (error) {
      onTrimFailed(error)
      return 0
    }
  }

  /** Reads an event. Resolves to undefined if another process has removed it, or if it is damaged and was therefore set aside. */
  async read(entry: QueueEntry, onDamaged: (file: string) => void): Promise<DeviceEventText | undefined> {
    const path = join(this.folder, entry.file)
    try {
      const json = (await stat(path)).size === entry.sizeBytes ? await readFile(path, 'utf8') : ''
      if (eventIdOf(json) === entry.eventId) return { eventId: entry.eventId, json: json as JsonText }
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      // A disk that cannot read a file any more reports EIO. Other errors concern the whole queue.
      if (codeOf(error) !== 'EIO') throw error
    }
    onDamaged(await this.setAside(entry, 'damaged'))
    return undefined
  }

  /** Removes an event that the hub has stored. */
  async remove({ file }: QueueEntry): Promise<void> {
    await rm(join(this.folder, file), { force: true })
  }

  /** Renames an event that cannot be sent, so that it does not block the others. Returns its new path. */
  async setAside({ file }: QueueEntry, why: 'damaged' | 'refused'): Promise<string> {
    const path = join(this.folder, file)
    await rename(path, `${path}.${why}`).catch(ignoreMissing)
    return `${path}.${why}`
  }

  /** Removes events until the queue is within its bounds. Returns the number of dropped events. */
  async #trim(): Promise<number> {
    const all = await this.#list()
    const reports = all.filter(({ dropped }) => dropped > 0)
    const events = all.filter(({ dropped }) => dropped === 0)
    let count = events.length
    let bytes = events.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    const isFull = () => count > this.#bounds.maxEvents || bytes > this.#bounds.maxBytes
    const surplus: QueueEntry[] = []
    for (const entry of [...events.filter(one => one.isSetAside), ...events.filter(one => !one.isSetAside)]) {
      if (!isFull()) break
      count--
      bytes -= entry.sizeBytes
      surplus.push(entry)
    }
    const lost = surplus.filter(entry => !entry.isSetAside)
    if (lost.length === 0) {
      for (const entry of surplus) await this.#unlink(entry)
      return 0
    }
    const counted = [...lost, ...reports]
    const sequence = Math.min(...counted.map(entry => entry.sequence))
    // The new report is written first, so that a kill or a full disk never loses the count. Then the old reports go, so that an event
    // that cannot be removed does not make each call count them again.
    const report = await this.#writeReport(sequence, countOf(counted))
    const removed: QueueEntry[] = []
    for (const entry of [...reports, ...surplus]) if (await this.#unlink(entry)) removed.push(entry)
    await this.#correct(report, sequence, countOf(removed.filter(entry => counted.includes(entry))))
    return lost.length
  }

  /**
   * Replaces a report that also counts events that another process has removed and reported meanwhile. Without this, processes that
   * merge reports at the same time would count events several times.
   */
  async #correct(
    report: { file: string; dropped: number },
    sequence: number,
    dropped: number,
  ): Promise<void> {
    if (dropped === report.dropped) return
    const corrected = dropped > 0 ? await this.#writeReport(sequence, dropped) : undefined
    // If the report is gone, another process has merged it into its own.
    if (!(await this.#unlink(report)) && corrected) await this.#unlink(corrected)
  }

  async #writeReport(sequence: number, dropped: number): Promise<{ file: string; dropped: number }> {
    return { file: await this.#write(sequence, dropped, reportOf(dropped)), dropped }
  }

  /** Writes an event. Returns its file's name. */
  async #write(sequence: number, dropped: number, { eventId, json }: DeviceEventText): Promise<string> {
    const name = [String(sequence).padStart(12, '0'), Buffer.byteLength(json), dropped, eventId].join('-')
    const file = `${name}.json`
    await createFileOnce(join(this.folder, file), json)
    // Another process may have created the folders a moment ago and not synced their parents yet.
    if (!this.#areParentsSynced) await syncFolders(dirname(this.folder))
    this.#areParentsSynced = true
    return file
  }

  async #unlink({ file }: { file: string }): Promise<boolean> {
    return unlink(join(this.folder, file)).then(() => true, ignoreMissing)
  }

  /** All events, including those that were set aside, oldest first. Removes unfinished files of killed processes. */
  async #list(): Promise<QueueEntry[]> {
    const entries: QueueEntry[] = []
    for (const file of (await this.#files()).sort()) {
      const [, sequence, sizeBytes, dropped, eventId, ending] = NAME.exec(file) ?? []
      if (eventId !== undefined)
        entries.push({
          file,
          sequence: Number(sequence),
          sizeBytes: Number(sizeBytes),
          dropped: Number(dropped),
          eventId,
          isSetAside: ending !== undefined,
        })
      else if (UNFINISHED.test(file)) await this.#removeOld(join(this.folder, file))
    }
    return entries
  }

  async #files(): Promise<string[]> {
    try {
      return await readdir(this.folder)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return []
      throw error
    }
  }

  async #removeOld(path: string): Promise<void> {
    const changed = await stat(path).catch(ignoreMissing)
    if (changed && Date.now() - changed.mtimeMs > UNFINISHED_AGE_MS) await rm(path, { force: true })
  }
}

/** Dropped events in the entries: a report counts as the number in it, any other entry as one. */
function countOf(entries: QueueEntry[]): number {
  return entries.reduce((sum, { dropped }) => sum + (dropped || 1), 0)
}

function reportOf(dropped: number): DeviceEventText {
  const now = new Date()
  const eventId = newDatedId('d_ev', now)
  const json = jsonObject({
    eventId: jsonTextOf(eventId),
    category: jsonTextOf('agent'),
    severity: jsonTextOf('Warning'),
    body: jsonTextOf(`Events that were dropped, because the queue on this device was full: up to ${dropped}`),
    attributes: jsonObject({ dropped: jsonTextOf(dropped) }),
    emittedAt: jsonTextOf(now.toISOString()),
  })
  return { eventId, json }
}

function eventIdOf(json: string): unknown {
  try {
    return (JSON.parse(json) as { eventId?: unknown } | null)?.eventId
  } catch {
    return undefined
  }
}

function ignoreMissing(error: unknown): false {
  if (codeOf(error) === 'ENOENT') return false
  throw error
}
