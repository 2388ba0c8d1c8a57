import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHub, type Hub } from '@muster/hub'
import { type Config, loadConfig } from '@muster/hub/config'
import { createLog, type Logger } from '@muster/hub/log'
import { shareFiles } from './share-files.ts'
import type { TestHub } from './test-hub.ts'

/** A second hub with the database of a test hub: another node of the cluster. */
export type TestNode = Hub & { url: string }

/** Starts a second hub with the database and the repository files of a test hub. It is stopped on disposal. */
export async function secondNode(
  hub: TestHub,
  settings: Partial<Config> = {},
  log: Logger = createLog('silent'),
): Promise<TestNode> {
  const dataDir = await mkdtemp(join(tmpdir(), 'muster-hub-'))
  await shareFiles(hub.dataDir, dataDir)
  const node = await createHub(
    {
      ...loadConfig({ MUSTER_PORT: '0', MUSTER_DATA_DIR: dataDir, MUSTER_NODE_NAME: 'second' }),
      databaseUrl: hub.pool.options.connectionString,
      instanceKey: (await readFile(join(hub.dataDir, 'instance-key'), 'utf8')).trim(),
      ...settings,
    },
    log,
  )
  return {
    ...node,
    url: `http://127.0.0.1:${node.address.port}`,
    async [Symbol.asyncDispose]() {
      await node[Symbol.asyncDispose]()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
