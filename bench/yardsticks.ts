import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { ask, forked, median } from './child.ts'
import type { EchoOptions } from './echo-server.ts'
import type { BenchHub } from './hub-process.ts'
import { EVENT_BODY, eventStamp, eventSuffix } from './lean-device.ts'
import type { ConnectRun, LoadCommand, PublishRun } from './load-client.ts'
import { residentKiB, treeProcessorSecs, withForeignCores } from './processes.ts'
import type { RowLoad, RowRun } from './row-writer.ts'

/** Cores of foreign load above which a round is measured again, as far as tries are left. */
const MAX_FOREIGN_CORES = 0.1
const SPARE_ROUNDS = 2
/** Numbers of events that no device of a bench reaches: those of `measureRows` begin with the first, those of `measureCopy` with the second. */
export const FIRST_WRITTEN_EVENT = 2 ** 31
const FIRST_COPIED_EVENT = 3 * 2 ** 30

/** Options of Node for a process whose memory is measured (`residentAfterCollection`). */
export const COLLECTS_GARBAGE = ['--expose-gc', '--import', join(import.meta.dirname, 'collect-garbage.ts')]

/** A forked load client. */
export type LoadClient = {
  ask<Result>(command: LoadCommand): Promise<Result>
  /** Ends the process; resolves when it and its sockets are gone. */
  end(): Promise<void>
}

/** Starts a load client: a process of its own, so that its work is not counted as the hub's. */
export function startLoadClient(): LoadClient {
  // It shares the machine with what it loads: thousands of TLS connections, which lie outside of the heap, are no reason to go
  // through the heap again and again.
  const execArgv = ['--external-memory-accounted-in-global-limit']
  const child = fork(join(import.meta.dirname, 'load-client.ts'), { execArgv })
  const gone = new Promise<never>((_done, failed) =>
    child.once('exit', code => failed(new Error(`the load client ended with ${code}`))),
  )
  gone.catch(() => {})
  return {
    ask: command => Promise.race([ask<never>(child, command), gone]),
    end: () => endOf(child),
  }
}

/** A plain WebSocket echo: processor time of its process and what its clients saw. */
export async function measureEcho(
  options: EchoOptions,
  load: { devices: number; secs: number; window: number; messageBytes: number },
): Promise<{ microsecs: number; perSec: number }> {
  const { child, port } = await startEcho(options)
  const client = startLoadClient()
  await client.ask({ echo: { connect: { port, count: load.devices, parallel: 64 } } })
  const before = treeProcessorSecs(child.pid!)
  const run = await client.ask<PublishRun>({ echo: load })
  const used = treeProcessorSecs(child.pid!) - before
  await client.end()
  await endOf(child)
  return { microsecs: (used / run.acknowledged) * 1e6, perSec: run.acknowledged / run.secs }
}

/**
 * Connections to a plain WebSocket server that then do nothing: memory of each in KiB, connections a second, processor time; and the
 * share of a core that the server takes when each sends a Ping every five seconds, over `pingSecs`.
 */
export async function measureIdleSockets(
  options: EchoOptions,
  load: { count: number; parallel: number; client?: { cert: string; key: string } },
  pingSecs: number,
): Promise<{ kibEach: number; perSec: number; microsecs: number; pingShare: number }> {
  const { child, port } = await startEcho(options)
  const pid = child.pid!
  const before = await residentAfterCollection(pid)
  const cpu = treeProcessorSecs(pid)
  const client = startLoadClient()
  const { count, parallel, client: tls } = load
  const connect = { port, count, parallel, ...(tls && { tls }) }
  const { secs } = await client.ask<ConnectRun>({ echo: { connect } })
  const microsecs = ((treeProcessorSecs(pid) - cpu) / count) * 1e6
  const kibEach = ((await residentAfterCollection(pid)) - before) / count
  await client.ask({ echo: { pings: true } })
  const idle = treeProcessorSecs(pid)
  await pause(pingSecs * 1000)
  const pingShare = (treeProcessorSecs(pid) - idle) / pingSecs
  await client.end()
  await endOf(child)
  return { kibEach, perSec: count / secs, microsecs, pingShare }
}

async function startEcho(options: EchoOptions): Promise<{ child: ChildProcess; port: number }> {
  const file = join(import.meta.dirname, 'echo-server.ts')
  const child = fork(file, [JSON.stringify(options)], { execArgv: COLLECTS_GARBAGE })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return { child, port }
}

/** Rows by the driver alone, in statements of many: processor time of database and writer for each. */
export async function measureRows(
  hub: BenchHub,
  load: RowLoad,
): Promise<{ microsecs: number; perSec: number }> {
  await hub.query('checkpoint')
  const { child: writer } = await forked('row-writer.ts', JSON.stringify(hub.database))
  const before = treeProcessorSecs(hub.databasePid())
  const run = await ask<RowRun>(writer, load)
  const used = treeProcessorSecs(hub.databasePid()) - before + run.writerSecs
  await endOf(writer)
  return { microsecs: (used / run.rows) * 1e6, perSec: run.rows / run.secs }
}

/** Rows a second by COPY from files on two connections: what the database takes when there is no client at all. */
export async function measureCopy(hub: BenchHub, deviceIds: string[], round: number): Promise<number> {
  const rows = 100_000
  const folder = await mkdtemp(join(tmpdir(), 'muster-copy-'))
  // The database's account reads them.
  await chmod(folder, 0o755)
  try {
    const files = [0, 1].map(part => join(folder, `${part}.tsv`))
    const now = new Date()
    for (const [part, file] of files.entries()) {
      const first = FIRST_COPIED_EVENT + (round * 2 + part) * rows
      await writeFile(
        file,
        Array.from({ length: rows }, (_, at) => line(deviceIds, first + at, now)),
      )
    }
    await hub.query('checkpoint')
    const clients = await Promise.all(
      files.map(async () => {
        const client = new pg.Client(hub.database)
        await client.connect()
        return client
      }),
    )
    const started = performance.now()
    await Promise.all(
      clients.map((client, part) =>
        client.query(
          `copy device_event (device_id, event_id, event_day, severity, category, body, attributes, emitted_at) from '${files[part]}'`,
        ),
      ),
    )
    const secs = (performance.now() - started) / 1000
    await Promise.all(clients.map(client => client.end()))
    return (2 * rows) / secs
  } finally {
    await rm(folder, { recursive: true })
  }
}

function line(deviceIds: string[], number: number, at: Date): string {
  const iso = at.toISOString()
  const id = eventStamp(at) + eventSuffix(number)
  const values = [deviceIds[number % deviceIds.length], id, iso.slice(0, 10), 'Info', 'bench']
  return `${[...values, JSON.stringify(EVENT_BODY), '{}', iso].join('\t')}\n`
}

/**
 * Repeats a round until so many were quiet, at most two more than that, and keeps the quietest; tells the most foreign load among
 * those that count.
 */
export async function quietRounds<Row>(
  count: number,
  round: (at: number) => Promise<Row>,
): Promise<{ rows: Row[]; foreignCores: number }> {
  const all: { result: Row; foreignCores: number }[] = []
  const quiet = (): number => all.filter(({ foreignCores }) => foreignCores < MAX_FOREIGN_CORES).length
  while (all.length < count || (quiet() < count && all.length < count + SPARE_ROUNDS))
    all.push(await withForeignCores(() => round(all.length)))
  const kept = all.toSorted((a, b) => a.foreignCores - b.foreignCores).slice(0, count)
  return { rows: kept.map(({ result }) => result), foreignCores: kept.at(-1)!.foreignCores }
}

/** The middle of a figure over rounds. */
export function middle<Row>(rows: Row[], figure: (row: Row) => number): number {
  return median(rows.map(figure))
}

/** Memory of a Node process of a bench in KiB, after its garbage was collected (`collect-garbage.ts`). */
export async function residentAfterCollection(pid: number): Promise<number> {
  // Twice: the first frees what the second can then give back.
  for (let time = 0; time < 2; time++) {
    process.kill(pid, 'SIGUSR2')
    await pause(1_500)
  }
  return residentKiB(pid)
}

/** Prints one goal: what was measured, what is the least, and whether it holds. */
export function tellGoal(id: string, what: string, measured: string, gate: string, holds: boolean): void {
  process.stdout.write(
    `${id.padEnd(4)} ${what.padEnd(44)} ${measured.padEnd(34)} ${gate.padEnd(28)} ${holds ? 'holds' : 'MISSED'}\n`,
  )
}

/** Prints a figure that stands behind goals. */
export function tell(what: string, figure: string): void {
  process.stdout.write(`     ${what.padEnd(44)} ${figure}\n`)
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  if (child.connected) child.disconnect()
  await ended
}
