import { newId } from '@muster/actions'
import { Batcher } from '@muster/concurrency'
import type pg from 'pg'
import type { Bus } from '../../platform/bus/bus.ts'
import { BATCHED_WRITES } from '../../platform/database/client/batched-writes.ts'
import { isUniqueViolation } from '../../platform/database/client/errors.ts'

type Opening = {
  connectionId: string
  deviceId: string
  tokenId: string
  certificateId: string
  /** Client IP of the connection. */
  address: string
  /** Instance of the agent as it reports it (docs/protocol.md 1.2). */
  instance: string | undefined
  /** True if the token and the certificate were still valid when the row was written. Set by `Presence.#open`. */
  isOpen: boolean
}
type EndReason = 'Disconnected' | 'ServerShutdown'
type Closing = { close: string; reason: EndReason; wasTakenOver: boolean }
type Change = { open: Opening } | Closing
/** Connection whose row was written, and the open connection to another node that it replaces, if any. */
type Opened = { connection_id: string; replaced_id?: string | null; replaced_node_id?: string | null }

// The statement checks token and certificate again, so that a device is not admitted if they were revoked after the look-up. The last
// `select` reads the device's row as it was before the statement, and so finds the connection to another node that is replaced.
const OPEN = {
  name: 'presence-open',
  text: `
    with opened as (
      insert into device_connection (connection_id, device_id, node_id, token_id, certificate_id, remote_address, instance)
      select i.connection_id, i.device_id, $5, i.token_id, i.certificate_id, i.remote_address, i.instance
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $6::text[], $7::text[])
          as i (connection_id, device_id, token_id, certificate_id, remote_address, instance)
        join device using (device_id)
        join deployment_token t on t.token_id = i.token_id
        join device_certificate c on c.certificate_id = i.certificate_id and c.status = 'Active'
      returning connection_id, device_id, connected_at
    ), shown as (
      update device d set is_connected = true, connection_id = o.connection_id, last_connected_at = o.connected_at
        from (select distinct on (device_id) * from opened order by device_id, connection_id) o
       where d.device_id = o.device_id
    )
    select o.connection_id, before.node_id as replaced_node_id, before.connection_id as replaced_id
      from opened o join device d using (device_id)
      left join device_connection before
             on before.connection_id = d.connection_id and before.ended_at is null and before.node_id <> $5`,
}

// Closes connections. A device row that referred to a closed connection gets the device's newest connection that is still open, if any.
// A second connection can be open, because a reconnect writes the row of the new connection before the older connection is closed. If
// the new connection ends early, the older one stays open.
//
// `is true` keeps PostgreSQL from the index of all open connections. Where its statistics are from a time with few of them, it would read that
// whole index once for each closed connection: 2.0 instead of 0.15 ms with 8,000 open connections.
const CLOSE = {
  name: 'presence-close',
  text: `
    with closed as (
      update device_connection set ended_at = now(),
             end_reason = case when connection_id = any ($2) then 'ServerShutdown' else 'Disconnected' end,
             was_taken_over = connection_id = any ($3)
       where connection_id = any ($1) and (ended_at is null) is true
      returning connection_id, device_id
    )
    update device d set is_connected = other.connection_id is not null, connection_id = other.connection_id
      from closed left join lateral (
        select connection_id from device_connection c
         where c.device_id = closed.device_id and (c.ended_at is null) is true and c.connection_id <> all ($1)
         order by connected_at desc, connection_id desc limit 1
      ) other on true
     where d.device_id = closed.device_id and d.connection_id = closed.connection_id`,
}

const MAY_CONNECT = {
  name: 'presence-may-connect',
  text: `
    select exists (
      select from deployment_token t
        join device_certificate c on c.certificate_id = $2 and c.status = 'Active'
        join device d on d.device_id = c.device_id and d.project_id = t.project_id
       where t.token_id = $1
    ) as "mayConnect"`,
}

/**
 * Minimum time between the starts of two batches, in milliseconds. When many devices connect at the same time, each batch then has many
 * rows. The fixed cost of a statement is higher than the cost of a few rows.
 */
const LINGER_MS = 20

/**
 * Writes the rows that show which device is connected to which node. The changes are written in their order and in batches, so that few
 * statements suffice when many devices connect at the same time. When a new connection replaces a connection to another node, the other
 * node is notified and closes it.
 */
export class Presence {
  readonly #pool: pg.Pool
  readonly #nodeId: string
  readonly #bus: Pick<Bus, 'publish'>
  readonly #changes: Batcher<Change>

  constructor(pool: pg.Pool, nodeId: string, bus: Pick<Bus, 'publish'>) {
    this.#pool = pool
    this.#nodeId = nodeId
    this.#bus = bus
    this.#changes = new Batcher({
      ...BATCHED_WRITES,
      parallel: 1,
      maxBatch: 500,
      maxWaiting: 200_000,
      lingerMs: LINGER_MS,
      // If the end of a connection were never written, its device would be shown as connected forever.
      retryForMs: Number.POSITIVE_INFINITY,
      weigh: () => 1,
      write: changes => this.#write(changes),
    })
  }

  /** Records a registered connection. Resolves to its id, or to undefined when its token or certificate is no longer valid. */
  async open(device: Omit<Opening, 'connectionId' | 'isOpen'>): Promise<string | undefined> {
    const open: Opening = { ...device, connectionId: newId('d_conn'), isOpen: false }
    await this.#changes.add({ open })
    return open.isOpen ? open.connectionId : undefined
  }

  /** Checks that token and certificate are still valid, for an unregistered connection, which has no row. */
  async mayConnect({ tokenId, certificateId }: Pick<Opening, 'tokenId' | 'certificateId'>): Promise<boolean> {
    const { rows } = await this.#pool.query<{ mayConnect: boolean }>(MAY_CONNECT, [tokenId, certificateId])
    return rows[0]!.mayConnect
  }

  /**
   * Records the end of one connection. `wasTakenOver` says that a newer connection of the same device ended it. On shutdown the node ends
   * all its connections in one statement instead.
   */
  async close(connectionId: string, reason: EndReason, wasTakenOver = false): Promise<void> {
    await this.#changes.add({ close: connectionId, reason, wasTakenOver })
  }

  /**
   * Splits the changes into runs of opens and runs of closes, and writes the runs in order, so that the last change of a device
   * wins. A run opens each device at most once, because one statement can update a row only once.
   */
  async #write(changes: Change[]): Promise<void> {
    for (let from = 0; from < changes.length; ) {
      const isOpening = 'open' in changes[from]!
      const seen = new Set<string>()
      let to = from
      while (to < changes.length && 'open' in changes[to]! === isOpening) {
        const change = changes[to]!
        if ('open' in change) {
          if (seen.has(change.open.deviceId)) break
          seen.add(change.open.deviceId)
        }
        to++
      }
      const run = changes.slice(from, to)
      if (isOpening) await this.#open(run.map(change => (change as { open: Opening }).open))
      else await this.#close(run as Closing[])
      from = to
    }
  }

  async #close(closings: Closing[]): Promise<void> {
    const shutDown = closings.filter(({ reason }) => reason === 'ServerShutdown')
    const takenOver = closings.filter(({ wasTakenOver }) => wasTakenOver)
    await this.#pool.query(
      CLOSE,
      [closings, shutDown, takenOver].map(some => some.map(({ close }) => close)),
    )
  }

  async #open(openings: Opening[]): Promise<void> {
    // If the database connection breaks after the commit, the retry fails because the rows exist. The existing rows are read in that case.
    const { rows } = await this.#pool
      .query<Opened>(OPEN, [
        openings.map(opening => opening.connectionId),
        openings.map(opening => opening.deviceId),
        openings.map(opening => opening.tokenId),
        openings.map(opening => opening.certificateId),
        this.#nodeId,
        openings.map(opening => opening.address),
        openings.map(opening => opening.instance ?? null),
      ])
      .catch(async error => {
        if (!isUniqueViolation(error)) throw error
        return this.#pool.query<Opened>(
          'select connection_id from device_connection where connection_id = any ($1)',
          [openings.map(opening => opening.connectionId)],
        )
      })
    const open = new Set(rows.map(row => row.connection_id))
    for (const opening of openings) opening.isOpen = open.has(opening.connectionId)
    for (const { replaced_id: connectionId, replaced_node_id: nodeId } of rows)
      if (connectionId && nodeId) this.#bus.publish(`node.${nodeId}`, { connectionId })
  }
}
