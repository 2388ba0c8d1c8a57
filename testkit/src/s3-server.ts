import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AwsClient } from 'aws4fetch'
import { freePort } from './free-port.ts'
import { hasPrograms } from './programs.ts'
import { until } from './until.ts'

const START_MS = 60_000

/** A real S3 server on a loopback address. */
export type S3Server = AsyncDisposable & {
  endpoint: string
  bucket: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  /** Keys of all objects in the bucket. */
  keys(): Promise<string[]>
  /** Bytes of a stored object. Undefined if the object does not exist. */
  object(key: string): Promise<Buffer | undefined>
  /** Replaces an object directly in the store, without the hub. */
  replace(key: string, bytes: Uint8Array): Promise<void>
}

/** Returns whether an S3 server can be started here: Debian's OpenStack Swift, which needs root. */
export function hasS3Server(): boolean {
  return (
    process.getuid?.() === 0 && hasPrograms('swift-account', 'swift-container', 'swift-object', 'swift-proxy')
  )
}

/** Starts OpenStack Swift with its S3 interface and an empty bucket, as four processes with one disk and one replica. */
export async function s3Server(): Promise<S3Server> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-swift-'))
  mkdirSync(join(folder, 'disks/sda'), { recursive: true })
  const [port, account, container, object] = await Promise.all([
    freePort(),
    freePort(),
    freePort(),
    freePort(),
  ])
  const backends = { account, container, object }
  // Each port was free when it was checked, but the same port may have been chosen twice. In that case, starts again.
  if (new Set([port, ...Object.values(backends)]).size < 4) return s3Server()
  writeFileSync(join(folder, 'swift.conf'), '[swift-hash]\nswift_hash_path_suffix = muster\n')
  for (const [kind, at] of Object.entries(backends)) {
    writeFileSync(join(folder, `${kind}.conf`), backendConfig(folder, kind, at))
  }
  writeFileSync(join(folder, 'proxy.conf'), proxyConfig(folder, port))
  makeRings(folder, backends)
  const servers = ['account', 'container', 'object', 'proxy'].map(kind =>
    spawn(`/usr/bin/swift-${kind}-server`, [join(folder, `${kind}.conf`)], {
      stdio: ['ignore', 'ignore', 'pipe'],
    }),
  )
  let errorOutput = ''
  for (const server of servers) server.stderr.on('data', chunk => (errorOutput += chunk))
  const place = {
    endpoint: `http://127.0.0.1:${port}`,
    bucket: 'artifacts',
    region: 'us-east-1',
    accessKeyId: 'test:tester',
    secretAccessKey: 'testing',
  }
  const client = new AwsClient({ ...place, service: 's3', retries: 0 })
  const address = `${place.endpoint}/${place.bucket}`
  const addressOf = (key: string): string => `${address}/${key.split('/').map(encodeURIComponent).join('/')}`
  const answers = async (): Promise<boolean> => {
    const ended = servers.find(({ exitCode }) => exitCode !== null)
    if (ended) throw new Error(`swift ended: ${errorOutput}`)
    const answer = await client.fetch(address, { method: 'PUT' }).catch(() => undefined)
    return answer?.status === 200 || answer?.status === 409
  }
  const end = async (): Promise<void> => {
    await Promise.all(servers.map(stop))
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await until('the S3 server answers', answers, START_MS)
  } catch (error) {
    await end()
    throw new Error(errorOutput, { cause: error })
  }
  return {
    ...place,
    async keys() {
      const text = await (await client.fetch(`${address}?list-type=2`)).text()
      return [...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => key!)
    },
    async object(key) {
      const answer = await client.fetch(addressOf(key))
      return answer.ok ? Buffer.from(await answer.arrayBuffer()) : undefined
    },
    async replace(key, bytes) {
      const answer = await client.fetch(addressOf(key), {
        method: 'PUT',
        body: bytes as Uint8Array<ArrayBuffer>,
      })
      if (!answer.ok) throw new Error(`the S3 server answered ${answer.status}`)
    },
    [Symbol.asyncDispose]: end,
  }
}

/** Writes Swift's ring files, which place all data on the one disk. */
function makeRings(folder: string, ports: Record<string, number>): void {
  const script = `
import json, sys
from swift.common.ring import RingBuilder
folder, ports = sys.argv[1], json.loads(sys.argv[2])
for kind, port in ports.items():
  builder = RingBuilder(2, 1, 0)
  builder.add_dev(dict(id=0, region=1, zone=1, ip='127.0.0.1', port=port, device='sda', weight=1,
    replication_ip='127.0.0.1', replication_port=port, meta=''))
  builder.rebalance()
  builder.get_ring().save(f'{folder}/{kind}.ring.gz')
`
  const { status, stderr } = spawnSync('/usr/bin/python3', ['-c', script, folder, JSON.stringify(ports)], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`ring files were not created: ${stderr}`)
}

function general(folder: string, port: number): string {
  return `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = root
swift_dir = ${folder}
log_level = ERROR
log_address = ${folder}/no-log
# By default a server is given up after half a second, which is too short on a busy machine.
conn_timeout = 30
node_timeout = 60
container_update_timeout = 30
`
}

function backendConfig(folder: string, kind: string, port: number): string {
  return `${general(folder, port)}devices = ${folder}/disks
mount_check = false
fallocate_reserve = 0
[pipeline:main]
pipeline = ${kind}-server
[app:${kind}-server]
use = egg:swift#${kind}
`
}

function proxyConfig(folder: string, port: number): string {
  return `${general(folder, port)}
[pipeline:main]
pipeline = catch_errors cache s3api tempauth slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
allow_account_management = true
account_autocreate = true
# Retry servers that were not up yet.
error_suppression_interval = 0
error_suppression_limit = 1000000
[filter:catch_errors]
use = egg:swift#catch_errors
# The setting is required, but no server runs.
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:slo]
use = egg:swift#slo
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
`
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const ended = once(server, 'exit')
  server.kill('SIGKILL')
  await ended
}
