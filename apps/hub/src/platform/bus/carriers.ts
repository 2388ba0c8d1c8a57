import type { Config } from '../config/config.ts'

/** Server that carries messages between nodes. */
export type Carrier = 'PostgreSQL' | 'NATS'

/** Text between the carriers of a node that uses both, in its row and in its reports. */
export const AND = ' and '

/**
 * Carriers that the settings name: none with the embedded database, which has one node. Without `MUSTER_BUS` it is NATS if
 * `MUSTER_NATS_URL` is set, else the database.
 */
export function carriersOf({
  databaseUrl,
  natsUrls,
  bus,
}: Pick<Config, 'databaseUrl' | 'natsUrls' | 'bus'>): Carrier[] {
  if (databaseUrl === undefined) return []
  if (bus === 'both') return ['PostgreSQL', 'NATS']
  return [(bus ?? (natsUrls === undefined ? 'postgresql' : 'nats')) === 'nats' ? 'NATS' : 'PostgreSQL']
}
