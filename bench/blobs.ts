import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, type Invoke } from '@muster/actions'
import { ask, forked, median } from './child.ts'
import type { WriteRun } from './disk-writer.ts'
import type { DownloadRun } from './download-client.ts'
import { type BenchHub, signIn, startBenchHub } from './hub-process.ts'
import { residentKiB, treeProcessorSecs } from './processes.ts'
import { tell, tellGoal } from './yardsticks.ts'

const MIB = 1024 * 1024
const ROUNDS = 3
const ROUND_MIB = 512
const DOWNLOAD_SECS = 4
const CONNECTIONS = 32

/**
 * Blobs in the local folder (goals P12, P13): uploads by curl against a stream that is hashed and written, downloads against
 * @fastify/static, each measured in turns; how much the hub grows while a large file goes up and down. Option: its size in MiB,
 * 1024 unless told otherwise.
 */
export async function blobs(largeMib = '1024'): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-bench-blobs-'))
  try {
    await using hub = await startBenchHub()
    const world = await prepare(hub)
    await uploads(hub, world, folder)
    await downloads(hub, world, folder)
    await memory(hub, world, folder, Number(largeMib))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

type World = { invoke: Invoke; repositoryId: string }

async function prepare(hub: BenchHub): Promise<World> {
  const cookie = await signIn(hub)
  const invoke = createClient({ baseUrl: hub.url, headers: { cookie, origin: hub.url } })
  const { organizations } = await invoke('organizations_Query', {})
  const { organizationId } = organizations[0]!
  const made = await invoke('repositories_Create', { organizationId, name: 'bench' })
  if (made.result !== 'Created') throw new Error(made.result)
  return { invoke, repositoryId: made.repositoryId }
}

/** Goal P12: at least 0.70 of what a stream costs that is hashed and written. */
async function uploads(hub: BenchHub, world: World, folder: string): Promise<void> {
  const writer = await forked('disk-writer.ts')
  const least: number[] = []
  const own: number[] = []
  const leastCpu: number[] = []
  const ownCpu: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const path = join(folder, 'written')
    const idle = treeProcessorSecs(writer.child.pid!)
    const run = await ask<WriteRun>(writer.child, { path, sizeBytes: ROUND_MIB * MIB })
    leastCpu.push((treeProcessorSecs(writer.child.pid!) - idle) / ((ROUND_MIB * MIB) / 1e9))
    least.push((ROUND_MIB * MIB) / run.secs / 1e9)
    const file = await makeFile(folder, ROUND_MIB)
    const before = treeProcessorSecs(hub.pid)
    const { secs } = await upload(world, file)
    own.push((ROUND_MIB * MIB) / secs / 1e9)
    ownCpu.push((treeProcessorSecs(hub.pid) - before) / ((ROUND_MIB * MIB) / 1e9))
  }
  writer.child.disconnect()
  const share = median(own) / median(least)
  tell(
    'stream + SHA-256 to disk',
    `${median(least).toFixed(2)} GB/s, ${median(leastCpu).toFixed(2)} s of processor a GB`,
  )
  tell('upload by curl', `${median(own).toFixed(2)} GB/s, ${median(ownCpu).toFixed(2)} s of processor a GB`)
  tellGoal('P12', 'upload, share of stream + SHA-256', share.toFixed(2), '>= 0.70', share >= 0.7)
}

/** Goal P13: at least 0.80 of what @fastify/static delivers. */
async function downloads(hub: BenchHub, world: World, folder: string): Promise<void> {
  const served = join(folder, 'served')
  await mkdir(served)
  const client = await forked('download-client.ts')
  for (const [what, sizeBytes] of [
    ['1 MiB', MIB],
    ['64 KiB', 64 * 1024],
  ] as const) {
    const bytes = randomBytes(sizeBytes)
    await writeFile(join(served, 'file'), bytes)
    const peer = await forked<{ port: number }>('static-server.ts', served)
    const path = join(folder, 'small')
    await writeFile(path, bytes)
    const { assetId } = await upload(world, { path, sizeBytes, digest: digestOf(bytes) })
    const { url } = await world.invoke('repositories_IssueAssetDownloadUrl', { assetId })
    const target = new URL(url)
    target.hostname = '127.0.0.1'
    const rates = { peer: [] as number[], hub: [] as number[] }
    const micros = { peer: [] as number[], hub: [] as number[] }
    for (let round = 0; round < ROUNDS; round++) {
      for (const [who, address, pid] of [
        ['peer', `http://127.0.0.1:${peer.ready.port}/file`, peer.child.pid!],
        ['hub', target.href, hub.pid],
      ] as const) {
        const before = treeProcessorSecs(pid)
        const load = { url: address, connections: CONNECTIONS, secs: DOWNLOAD_SECS }
        const { perSec } = await ask<DownloadRun>(client.child, load)
        rates[who].push(perSec)
        micros[who].push(((treeProcessorSecs(pid) - before) * 1e6) / (perSec * DOWNLOAD_SECS))
      }
    }
    peer.child.disconnect()
    const told = (who: 'peer' | 'hub'): string =>
      `${Math.round(median(rates[who]))} per second, ${Math.round(median(micros[who]))} µs of processor each`
    tell(`@fastify/static, ${what}`, told('peer'))
    tell(`download, ${what}`, told('hub'))
    const share = median(rates.hub) / median(rates.peer)
    tellGoal('P13', `share of @fastify/static, ${what}`, share.toFixed(2), '>= 0.80', share >= 0.8)
  }
  client.child.disconnect()
}

/** Goals P12 and S11: the hub does not grow with the file. */
async function memory(hub: BenchHub, world: World, folder: string, sizeMib: number): Promise<void> {
  const file = await makeFile(folder, sizeMib)
  const before = residentKiB(hub.pid)
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, residentKiB(hub.pid))
  }, 20)
  const { assetId } = await upload(world, file)
  const up = most - before
  const { url } = await world.invoke('repositories_IssueAssetDownloadUrl', { assetId })
  await run('curl', ['--silent', '--fail', '--output', '/dev/null', url])
  clearInterval(timer)
  const grownMib = (most - before) / 1024
  tell(
    `${sizeMib} MiB up, then down`,
    `the hub grew by ${Math.round(up / 1024)}, then ${Math.round(grownMib)} MiB (RSS)`,
  )
  tellGoal('P12', 'growth of the hub', `${Math.round(grownMib)} MiB`, '<= 64 MiB', grownMib <= 64)
}

type LocalFile = { path: string; sizeBytes: number; digest: string }

/** A file of that size that no other round has. */
async function makeFile(folder: string, sizeMib: number): Promise<LocalFile> {
  const path = join(folder, 'file')
  const block = randomBytes(MIB)
  const hash = createHash('sha256')
  const file = await open(path, 'w')
  for (let at = 0; at < sizeMib; at++) {
    hash.update(block)
    await file.write(block)
  }
  await file.close()
  return { path, sizeBytes: sizeMib * MIB, digest: `sha256_${hash.digest('hex')}` }
}

async function upload(
  { invoke, repositoryId }: World,
  { path, sizeBytes, digest }: LocalFile,
): Promise<{ assetId: string; secs: number }> {
  const { assetId } = await invoke('repositories_CreateAsset', { repositoryId, size: sizeBytes, digest })
  const { url } = await invoke('repositories_IssueAssetUploadUrl', { assetId })
  const started = performance.now()
  await run('curl', ['--silent', '--fail', '--output', '/dev/null', '--upload-file', path, url])
  return { assetId, secs: (performance.now() - started) / 1000 }
}

async function run(program: string, options: string[]): Promise<void> {
  const child = spawn(program, options, { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${program} ended with ${code}`)
}

function digestOf(bytes: Uint8Array): string {
  return `sha256_${createHash('sha256').update(bytes).digest('hex')}`
}
