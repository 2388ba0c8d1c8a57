import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, type Invoke } from '@muster/actions'
import { digestOf } from '../testkit/src/blob-upload.ts'
import { ask, forked, median } from './child.ts'
import type { WriteRun } from './disk-writer.ts'
import type { DownloadRun } from './download-client.ts'
import { type BenchHub, signIn, startBenchHub } from './hub-process.ts'
import { treeProcessorSecs, watchGrowth } from './processes.ts'
import { report, reportGoal } from './yardsticks.ts'

const MIB = 1024 * 1024
const ROUNDS = 3
const ROUND_MIB = 512
const DOWNLOAD_SECS = 4
const CONNECTIONS = 32
const NGINX_PORTS = { files: 18_880, front: 18_881 }

/**
 * Measures uploads and downloads of blobs in the hub's local folder (docs/goals.md P12, P13). Uploads by curl are compared with a
 * process that hashes a stream and writes it to a file. Downloads are compared with @fastify/static and with nginx, both
 * serving the file from disk. Measurements of the hub and of the compared program alternate. Also measures the growth of the
 * hub's memory during a large upload and download. Argument: size of the large file in MiB (default 1024).
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

/** Goal P12 (docs/goals.md): an upload reaches at least 0.70 of the rate of hashing a stream and writing it to a file. */
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
  report(
    'stream + SHA-256 to disk',
    `${median(least).toFixed(2)} GB/s, ${median(leastCpu).toFixed(2)} s of processor a GB`,
  )
  report('upload by curl', `${median(own).toFixed(2)} GB/s, ${median(ownCpu).toFixed(2)} s of processor a GB`)
  reportGoal('P12', 'upload, share of stream + SHA-256', share.toFixed(2), '>= 0.70', share >= 0.7)
}

/**
 * Goal P13 (docs/goals.md), judged by CPU time per download. The hub has to reach at least 0.80 of @fastify/static. nginx as a proxy
 * of the hub has to reach at least 0.80 of nginx serving the file from disk.
 */
async function downloads(hub: BenchHub, world: World, folder: string): Promise<void> {
  const served = join(folder, 'served')
  await mkdir(served)
  await chmod(folder, 0o755)
  using nginx = await startNginx(folder, hub)
  const client = await forked('download-client.ts')
  for (const [what, sizeBytes] of [
    ['1 MiB', MIB],
    ['64 KiB', 64 * 1024],
  ] as const) {
    const bytes = randomBytes(sizeBytes)
    // nginx caches open files by name, so each size gets a new name.
    const name = `file-${sizeBytes}`
    await writeFile(join(served, name), bytes)
    const peer = await forked<{ port: number }>('static-server.ts', served)
    const path = join(folder, 'small')
    await writeFile(path, bytes)
    const { assetId } = await upload(world, { path, sizeBytes, digest: digestOf(bytes) })
    const { url } = await world.invoke('repositories_IssueAssetDownloadUrl', { assetId })
    const target = new URL(url)
    target.hostname = '127.0.0.1'
    const front = new URL(target)
    front.port = String(NGINX_PORTS.front)
    type Server = { name: string; address: string; pid: number }
    const compared: [Server, Server][] = [
      [
        {
          name: '@fastify/static',
          address: `http://127.0.0.1:${peer.ready.port}/${name}`,
          pid: peer.child.pid!,
        },
        { name: 'download', address: target.href, pid: hub.pid },
      ],
    ]
    if (nginx) {
      const { pid } = nginx
      compared.push([
        { name: 'nginx', address: `http://127.0.0.1:${NGINX_PORTS.files}/${name}`, pid },
        { name: 'download through nginx', address: front.href, pid },
      ])
    } else report('nginx', 'skipped: not installed')
    for (const [theirs, ours] of compared) {
      const runs = new Map([theirs, ours].map(server => [server, [] as { perSec: number; micros: number }[]]))
      for (let round = 0; round < ROUNDS; round++) {
        for (const [{ address, pid }, ofServer] of runs) {
          const before = treeProcessorSecs(pid)
          const load = { url: address, connections: CONNECTIONS, secs: DOWNLOAD_SECS }
          const { perSec } = await ask<DownloadRun>(client.child, load)
          const micros = ((treeProcessorSecs(pid) - before) * 1e6) / (perSec * DOWNLOAD_SECS)
          ofServer.push({ perSec, micros })
        }
      }
      const middle = (server: Server, figure: 'perSec' | 'micros'): number =>
        median(runs.get(server)!.map(run => run[figure]))
      for (const server of [theirs, ours]) {
        const [perSec, micros] = [middle(server, 'perSec'), middle(server, 'micros')]
        report(
          `${server.name}, ${what}`,
          `${Math.round(perSec)} per second, ${Math.round(micros)} µs of processor each`,
        )
      }
      const share = middle(ours, 'perSec') / middle(theirs, 'perSec')
      const byProcessor = middle(theirs, 'micros') / middle(ours, 'micros')
      // Servers are compared by CPU time. The rate also depends on the client, which shares the two cores.
      const measured = `${byProcessor.toFixed(2)} by processor time (${share.toFixed(2)} by rate)`
      reportGoal('P13', `share of ${theirs.name}, ${what}`, measured, '>= 0.80', byProcessor >= 0.8)
    }
    peer.child.disconnect()
  }
  client.child.disconnect()
}

/**
 * Starts nginx with one port that serves files directly and another port that proxies the hub as in docs/operating.md. Returns
 * undefined if nginx is not installed.
 */
async function startNginx(
  folder: string,
  hub: BenchHub,
): Promise<(Disposable & { pid: number }) | undefined> {
  const program = '/usr/sbin/nginx'
  if (!existsSync(program)) return undefined
  const path = join(folder, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  await writeFile(
    path,
    `worker_processes 1; daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr crit;
     events {}
     http {
       access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
       ${temporary.map(kind => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
       proxy_cache_path ${folder}/cache keys_zone=muster:10m use_temp_path=off;
       server { listen 127.0.0.1:${NGINX_PORTS.files}; root ${folder}/served; open_file_cache max=100; }
       server {
         listen 127.0.0.1:${NGINX_PORTS.front};
         location /api/v1/blobs/ {
           proxy_pass ${hub.url.replace('localhost', '127.0.0.1')};
           proxy_http_version 1.1;
           proxy_set_header Host $http_host;
           proxy_cache muster;
           proxy_cache_key $http_host$request_uri;
           proxy_cache_lock on;
           open_file_cache max=1000;
           postpone_output 0;
           proxy_ignore_headers Cache-Control Expires;
           proxy_hide_header X-Request-Id;
         }
       }
     }`,
  )
  const child = spawn(program, ['-p', folder, '-c', path], { stdio: ['ignore', 'ignore', 'inherit'] })
  const deadline = performance.now() + 10_000
  const answers = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${NGINX_PORTS.front}/`).then(
      () => true,
      () => false,
    )
  while (!(await answers())) {
    if (performance.now() > deadline) throw new Error('nginx does not answer')
    await new Promise(done => setTimeout(done, 50))
  }
  return { pid: child.pid!, [Symbol.dispose]: () => void child.kill() }
}

/** Goals P12 and S11 (docs/goals.md): the hub's memory does not grow with the size of an uploaded or downloaded file. */
async function memory(hub: BenchHub, world: World, folder: string, sizeMib: number): Promise<void> {
  const file = await makeFile(folder, sizeMib)
  using growth = watchGrowth(hub.pid, 20)
  const { assetId } = await upload(world, file)
  const up = growth.mostKiB()
  const { url } = await world.invoke('repositories_IssueAssetDownloadUrl', { assetId })
  await run('curl', ['--silent', '--fail', '--output', '/dev/null', url])
  const grownMib = growth.mostKiB() / 1024
  report(
    `${sizeMib} MiB up, then down`,
    `the hub grew by ${Math.round(up / 1024)}, then ${Math.round(grownMib)} MiB (RSS)`,
  )
  reportGoal('P12', 'growth of the hub', `${Math.round(grownMib)} MiB`, '<= 64 MiB', grownMib <= 64)
}

type LocalFile = { path: string; sizeBytes: number; digest: string }

/** Creates a file of `sizeMib` with random content, so that the hub does not have a blob with the same content yet. */
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
  if (code !== 0) throw new Error(`${program} exited with ${code}`)
}
