import { spawn } from 'node:child_process'
import { createHash, randomFillSync } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { blobFolder, LocalFolder } from '../apps/hub/src/platform/storage/local-folder.ts'
import { quantile } from './child.ts'
import { type BenchHub, countEvents, startBenchHub } from './hub-process.ts'
import type { PublishRun } from './load-client.ts'
import { type LoadClient, report, reportGoal, startLoadClient } from './yardsticks.ts'

const DEVICES = 200
const PER_SEC = 1_000
/** Length of a measurement of the time to acknowledgement, in seconds. */
const SLICE_SECS = 5
/** Measurements without a backup. */
const QUIET_SLICES = 4
const EVENTS_PER_INSERT = 50_000
const BLOBS_PER_INSERT = 500
const GIB = 1024 ** 3

/**
 * Measures `backup --blobs` of a running hub, its trial restore, and a restore: time, size, and the time to acknowledgement of events
 * meanwhile. Arguments: numbers of events and of files, and the size of all files in GiB.
 */
export async function backup(events = '1000000', blobs = '10000', gib = '1'): Promise<void> {
  await using hub = await startBenchHub()
  const folder = await mkdtemp(join(tmpdir(), 'muster-bench-backup-'))
  await chmod(folder, 0o755)
  const client = startLoadClient()
  try {
    await client.ask({ connect: { url: hub.url, token: hub.token, count: DEVICES, parallel: 64 } })
    await addEvents(hub, Number(events))
    await addBlobs(hub, Number(blobs), (Number(gib) * GIB) / Number(blobs))
    await hub.query('checkpoint')

    const quiet: number[] = []
    for (let at = 0; at < QUIET_SLICES; at++) quiet.push(...(await acknowledgedMs(client)))
    const path = join(folder, 'backup')
    let isDone = false
    const made = command(hub.dataDir, 'backup', path, '--blobs').finally(() => {
      isDone = true
    })
    const busy: number[] = []
    while (!isDone) busy.push(...(await acknowledgedMs(client)))
    const { sizeBytes, durationSecs, rowCount, blobCount, isVerified } = await made
    report('rows, files', `${rowCount}, ${blobCount}`)
    report('backup with its trial restore', `${durationSecs} s, ${(Number(sizeBytes) / GIB).toFixed(3)} GiB`)
    reportGoal('backup', 'restored on trial', String(isVerified), 'true', isVerified === true)
    const [before, meanwhile] = [p99Of(quiet), p99Of(busy)]
    reportGoal(
      'backup',
      `acknowledged, ${PER_SEC} a second`,
      `p99 ${before.toFixed(1)} ms before, ${meanwhile.toFixed(1)} ms meanwhile, at worst ${busy.reduce((worst, ms) => Math.max(worst, ms), 0).toFixed(1)} ms`,
      'at most 2 times as long',
      meanwhile <= 2 * before,
    )

    const startedAtMs = performance.now()
    const restored = await command(
      join(folder, 'data'),
      'restore',
      path,
      '--key-file',
      join(hub.dataDir, 'instance-key'),
    )
    report('restore', `${((performance.now() - startedAtMs) / 1000).toFixed(0)} s`)
    const isWhole = restored.rowCount === rowCount && restored.blobCount === blobCount
    reportGoal(
      'backup',
      'restored rows and files',
      `${restored.rowCount}, ${restored.blobCount}`,
      'all',
      isWhole,
    )
  } finally {
    await client.end()
    await rm(folder, { recursive: true, force: true })
  }
}

async function addEvents(hub: BenchHub, total: number): Promise<void> {
  for (let first = await countEvents(hub); first < total; first += EVENTS_PER_INSERT)
    await hub.query(
      `with d as (select device_id, row_number() over () - 1 as n from device limit ${DEVICES})
       insert into device_event (device_id, event_id, event_day, severity, category, body, attributes, emitted_at)
       select device_id, 'bench_' || i, current_date, 'Info', 'bench', to_json('reading ' || md5(i::text)), '{}', now()
         from generate_series($1::bigint, $2::bigint) i join d on d.n = i % (select count(*) from d)`,
      [first, Math.min(first + EVENTS_PER_INSERT, total) - 1],
    )
}

/**
 * Adds files of repositories with random bytes, which do not compress. They are synced, as the hub syncs uploads, so that the system does
 * not write them to the disk during the backup.
 */
async function addBlobs(hub: BenchHub, total: number, meanBytes: number): Promise<void> {
  const files = new LocalFolder(blobFolder(hub.dataDir))
  await hub.query(
    "insert into repository (repository_id, organization_id, display_name) select 'repo_bench', organization_id, 'bench' from organization limit 1",
  )
  const bytes = Buffer.alloc(Math.ceil(meanBytes))
  for (let first = 0; first < total; first += BLOBS_PER_INSERT) {
    const rows: { id: string; digest: string }[] = []
    for (let at = first; at < Math.min(first + BLOBS_PER_INSERT, total); at++) {
      const id = `repo_a_bench${at}`
      randomFillSync(bytes)
      const path = files.pathOf(id)
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await writeFile(path, bytes, { flush: true })
      rows.push({ id, digest: `sha256_${createHash('sha256').update(bytes).digest('hex')}` })
    }
    await hub.query(
      `insert into asset (asset_id, repository_id, size_bytes, digest, status)
       select id, 'repo_bench', $1, digest, 'Available' from unnest($2::text[], $3::text[]) as t (id, digest)`,
      [bytes.length, rows.map(({ id }) => id), rows.map(({ digest }) => digest)],
    )
  }
}

/** Time to the acknowledgement of each event of a slice, in milliseconds. */
async function acknowledgedMs(client: LoadClient): Promise<number[]> {
  const run = await client.ask<PublishRun>({
    schedule: { secs: SLICE_SECS, devices: DEVICES, perSec: PER_SEC, withLatencies: true },
  })
  return run.latenciesMs!
}

/** Runs a command of the hub and returns its result. */
async function command(dataDir: string, ...words: string[]): Promise<Record<string, unknown>> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, '../apps/hub/muster-hub.js'), ...words, '--json'],
    { env: { ...process.env, MUSTER_DATA_DIR: dataDir }, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const ended = once(child, 'exit')
  const output = (await child.stdout.toArray()).join('')
  const [code] = await ended
  if (code !== 0) throw new Error(`muster-hub ${words.join(' ')} ended with ${code}: ${output}`)
  return JSON.parse(output) as Record<string, unknown>
}

function p99Of(latenciesMs: number[]): number {
  return quantile(Float64Array.from(latenciesMs).sort(), 0.99)
}
