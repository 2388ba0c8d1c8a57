import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { ask, forked, median, quantile } from './child.ts'
import type { EchoOptions } from './echo-server.ts'
import type { BenchHub } from './hub-process.ts'
import { EVENT_BODY, eventStamp, eventSuffix } from './lean-device.ts'
import type { ConnectRun, LoadCommand, PublishRun } from './load-client.ts'
import { residentKiB, treeProcessorSecs, withForeignCores } from './processes.ts'
import type { RowLoad, RowRun } from './row-writer.ts'

/** Limit of CPU load by other processes, in cores. Runs of a measurement above the limit are repeated. */
const MAX_FOREIGN_CORES = 0.1
/** Maximum number of runs that `quietRounds` repeats. */
const SPARE_ROUNDS = 2
/** First event number of `measureRows`. It is above all event numbers that a bench's devices use. */
export const FIRST_WRITTEN_EVENT = 2 ** 31
/** First event number of `measureCopy`. It is above all event numbers that a bench's devices use. */
const FIRST_COPIED_EVENT = 3 * 2 ** 30

/** Node options for a process whose memory is measured (`residentAfterCollection`). */
export const COLLECTS_GARBAGE = ['--expose-gc', '--import', join(import.meta.dirname, 'collect-garbage.ts')]

/** A forked load client. */
export type LoadClient = {
  ask<Result>(command: LoadCommand): Promise<Result>
  /** Ends the process; resolves when it has exited and its sockets are closed. */
  end(): Promise<void>
}

/** Starts a load client in its own process, so that its work is not counted as the hub's. */
export function startLoadClient(): LoadClient {
  // With this option memory outside the heap, such as that of thousands of TLS connections, does not trigger full garbage
  // collections in the client.
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

/** Measures a plain WebSocket echo: CPU time of its process per message, and messages per second. */
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
 * Measures idle connections to a plain WebSocket server: memory per connection in KiB, connections per second and CPU time per
 * connection. Then measures, over `pingSecs`, the share of a core that the server needs to answer a Ping on each connection
 * every 5 s.
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

/** Starts a plain WebSocket server that echoes messages (echo-server.ts). */
export async function startEcho(options: EchoOptions): Promise<{ child: ChildProcess; port: number }> {
  const file = join(import.meta.dirname, 'echo-server.ts')
  const child = fork(file, [JSON.stringify(options)], { execArgv: COLLECTS_GARBAGE })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return { child, port }
}

/** Measures inserts with the PostgreSQL driver alone, many rows per statement: CPU time of database and writer per row. */
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

/** Time between two commits of `measureCommits`, in milliseconds. */
const COMMIT_EVERY_MS = 20

/** Inserts and commits one row every 20 ms for `secs`, beside another load. Latency is measured from the time at which a row was due. */
export async function measureCommits(hub: BenchHub, secs: number): Promise<{ p99Ms: number; count: number }> {
  const client = new pg.Client(hub.database)
  await client.connect()
  await client.query('create table bench_commit (made_at timestamptz not null)')
  const latencies: number[] = []
  const from = performance.now()
  for (let due = from; due < from + secs * 1000; due += COMMIT_EVERY_MS) {
    await pause(Math.max(0, due - performance.now()))
    await client.query({ name: 'commit', text: 'insert into bench_commit values (now())' })
    latencies.push(performance.now() - due)
  }
  await client.query('drop table bench_commit')
  await client.end()
  latencies.sort((a, b) => a - b)
  return { p99Ms: quantile(latencies, 0.99), count: latencies.length }
}

/** Rows per second by COPY from files on two connections: the upper limit of the database without clients. */
export async function measureCopy(hub: BenchHub, deviceIds: string[], round: number): Promise<number> {
  const rows = 100_000
  const folder = await mkdtemp(join(tmpdir(), 'muster-copy-'))
  // The database server reads the files under its own account.
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
 * Repeats a measurement (`round`) until `count` runs of it had little foreign load, with at most `SPARE_ROUNDS` more runs than
 * `count`. Returns the `count` runs with the least foreign load, and the largest foreign load among the returned runs.
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

/** Median of a figure over the runs of a measurement. */
export function middle<Row>(rows: Row[], figure: (row: Row) => number): number {
  return median(rows.map(figure))
}

/** Lets Node processes collect garbage (`collect-garbage.ts`), and waits until they have. */
export async function collectGarbage(...pids: number[]): Promise<void> {
  // The first collection frees memory that the second can return to the system.
  for (let time = 0; time < 2; time++) {
    for (const pid of pids) process.kill(pid, 'SIGUSR2')
    await pause(1_500)
  }
}

/** Resident memory of a Node process in KiB after a garbage collection. */
export async function residentAfterCollection(pid: number): Promise<number> {
  await collectGarbage(pid)
  return residentKiB(pid)
}

/** Prints an output row for a goal: measured value, limit, and whether the goal holds. If it does not, the bench ends with exit code 1. */
export function reportGoal(id: string, what: string, measured: string, gate: string, holds: boolean): void {
  if (!holds) process.exitCode = 1
  process.stdout.write(
    `${id.padEnd(4)} ${what.padEnd(44)} ${measured.padEnd(34)} ${gate.padEnd(28)} ${holds ? 'holds' : 'MISSED'}\n`,
  )
}

/** Prints an output row with a supporting figure. */
export function report(what: string, figure: string): void {
  process.stdout.write(`     ${what.padEnd(44)} ${figure}\n`)
}

/** Ends a forked process by closing its channel to this one. */
export async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  if (child.connected) child.disconnect()
  await ended
}
