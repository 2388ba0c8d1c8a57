import { isIPv6 } from 'node:net'
import type { Config } from '../../platform/config/config.ts'
import type { InstanceKey } from '../../platform/credentials/instance-key.ts'
import { type Db, select } from '../../platform/database/client/connection.ts'
import type { Logger } from '../../platform/runtime/log.ts'
import type { DeviceRegistry, ReachableDevice } from '../links/registry.ts'
import { nodeLinkKeys } from './handshake.ts'
import { NodeLink, type PeerNode } from './node-link.ts'
import { NodeListener } from './node-listener.ts'
import { serveDevice } from './serve-device.ts'

/** Time after which unused links close, in milliseconds. */
const IDLE_MS = 60_000
/** Pause after a link could not be opened, in milliseconds. During it, devices of that node count as not connected. */
const REST_MS = 1_000
/** Minimum time between two warnings about nodes without an address, in milliseconds. */
const WARN_MS = 60_000

type Row = { connectionId: string; projectId: string; nodeId: string; url: string | null }

// The text `is true` is explained at `CLOSE` in `link/gateway/presence.ts`.
const HOLDER = `
  select c.connection_id as "connectionId", d.project_id as "projectId", n.node_id as "nodeId", n.link_url as url
    from device d
    join device_connection c on c.connection_id = d.connection_id and (c.ended_at is null) is true
    join cluster_node n on n.node_id = c.node_id and n.left_at is null
   where d.device_id = $1 and n.node_id <> $2`

const IS_RUNNING = `
  select 1 from cluster_node
   where node_id = $1 and left_at is null and last_heartbeat > now() - interval '20 seconds'`

type ReachOptions = {
  config: Config
  db: Db
  devices: DeviceRegistry
  nodeId: string
  key: InstanceKey
  previousKey: InstanceKey | undefined
  log: Logger
  /** Time after which unused links close, 60 s unless a test sets it. */
  idleMs?: number
}

/**
 * Finds connected devices: at this node, or at another node, to which it then opens a link (docs/node-links.md). There is at most one
 * link to each node, opened on demand.
 */
export class Reach implements AsyncDisposable {
  readonly #options: ReachOptions
  readonly #keys: readonly Buffer[]
  readonly #links = new Map<string, NodeLink>()
  #listener: NodeListener | undefined
  #isClosing = false
  #warnedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: ReachOptions) {
    this.#options = options
    this.#keys = nodeLinkKeys(options.key, options.previousKey)
  }

  /**
   * Accepts links from other nodes if `MUSTER_NODE_PORT` is set, and stores the address for them in the row of this node. Rejects with the
   * error of the operating system when the port cannot be bound.
   */
  async listen(): Promise<void> {
    const { config, db, devices, nodeId, log } = this.#options
    const { nodePort, nodeHost, nodeUrl, allowPlaintextNodes: allowPlaintext } = config
    if (nodePort === undefined) return
    this.#listener = new NodeListener({
      nodeId,
      keys: this.#keys,
      isSecure: nodeUrl?.startsWith('https:') ?? false,
      allowPlaintext,
      isRunning: async other => (await select(db, IS_RUNNING, [other])).length > 0,
      serve: request => serveDevice(request, devices, log),
      log,
    })
    const port = await this.#listener.listen(nodeHost, nodePort)
    const url = new URL(nodeUrl ?? `http://${isIPv6(nodeHost) ? `[${nodeHost}]` : nodeHost}`)
    // Uses the bound port, unless `nodeUrl` names a fixed port at which other nodes reach this node.
    if (nodePort === 0 || nodeUrl === undefined) url.port = String(port)
    await db.updateTable('cluster_node').set({ link_url: url.origin }).where('node_id', '=', nodeId).execute()
  }

  /**
   * Returns the connection of a device to this node, else to another node; undefined if it is not connected. Rejects when the database
   * does not answer.
   */
  async find(deviceId: string): Promise<ReachableDevice | undefined> {
    const { config, db, devices, nodeId } = this.#options
    const session = devices.get(deviceId)
    // No other node uses an embedded database.
    if (session !== undefined || config.databaseUrl === undefined) return session
    const [row] = await select<Row>(db, HOLDER, [deviceId, nodeId])
    if (row === undefined || this.#isClosing) return undefined
    if (row.url === null) return this.#warn(row.nodeId)
    const link = this.#linkTo({ nodeId: row.nodeId, url: row.url })
    return link.isUsable ? link.device({ ...row, deviceId }) : undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true
    const links = [...this.#links.values()]
    for (const link of links) link.close('the hub is shutting down')
    await this.#listener?.[Symbol.asyncDispose]()
    await Promise.all(links.map(link => link.ended))
  }

  #linkTo(peer: PeerNode): NodeLink {
    const known = this.#links.get(peer.nodeId)
    if (known !== undefined && !known.isClosed) return known
    const { config, nodeId, log, idleMs = IDLE_MS } = this.#options
    const link = new NodeLink(peer, {
      nodeId,
      keys: this.#keys,
      allowPlaintext: config.allowPlaintextNodes,
      idleMs,
      log,
    })
    this.#links.set(peer.nodeId, link)
    void link.ended.then(end => {
      const forget = (): void => {
        if (this.#links.get(peer.nodeId) === link) this.#links.delete(peer.nodeId)
      }
      if (end.kind === 'LocalClose') forget()
      else setTimeout(forget, REST_MS).unref()
    })
    return link
  }

  #warn(nodeId: string): undefined {
    if (performance.now() - this.#warnedAtMs < WARN_MS) return
    this.#warnedAtMs = performance.now()
    this.#options.log.warn({ nodeId }, 'a device is connected to a node without MUSTER_NODE_PORT')
  }
}
