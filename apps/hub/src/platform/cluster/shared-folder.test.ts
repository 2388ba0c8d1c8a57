import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assetRow, capturedLog, secondNode, testHub } from '@muster/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'

const hub = await testHub()
let dataDir: string
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'muster-hub-'))
})
afterAll(async () => {
  await hub[Symbol.asyncDispose]()
  await rm(dataDir, { recursive: true })
})

const s3 = {
  endpoint: 'http://127.0.0.1:1',
  bucket: 'bucket',
  region: 'us-east-1',
  prefix: '',
  forcePathStyle: true,
  accessKeyId: 'id',
  secretAccessKey: 'secret',
}

it('refuses a node with another folder of files than the running nodes, unless all files are in object stores', async () => {
  await expect(secondNode(hub, { dataDir })).rejects.toThrow(
    `MUSTER_DATA_DIR: found ${join(dataDir, 'blobs')}, which is not the folder that the running nodes share, expected`,
  )
  await using _shared = await secondNode(hub)
  await using _inStores = await secondNode(hub, { dataDir, s3 })
  const { owner, organizationId } = await hub.fleet()
  await assetRow(hub, await hub.repository(owner, organizationId))
  await expect(secondNode(hub, { dataDir: `${dataDir}/other`, s3 })).rejects.toThrow('MUSTER_DATA_DIR')
})

it('accepts another folder when no other node runs, and warns if there are files', async () => {
  const { log, named } = capturedLog()
  await using alone = await testHub()
  const { owner, organizationId } = await alone.fleet()
  await assetRow(alone, await alone.repository(owner, organizationId))
  await alone.db.updateTable('cluster_node').set({ left_at: new Date() }).execute()
  // Its heartbeats bring the hub back no more, as if its process had ended.
  await alone.pool.query(`
    create function stay_gone() returns trigger language plpgsql as 'begin new.left_at := old.left_at; return new; end';
    create trigger stay_gone before update on cluster_node for each row
      when (old.node_id = '${alone.nodeId}') execute function stay_gone()`)
  await using _moved = await secondNode(alone, { dataDir }, log)
  expect(
    named(
      'the folder of repository files is another one than before; files that are not in it cannot be downloaded',
    ),
  ).toHaveLength(1)
  await expect(secondNode(alone)).rejects.toThrow('MUSTER_DATA_DIR')
})
