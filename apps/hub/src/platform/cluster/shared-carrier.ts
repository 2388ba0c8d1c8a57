import type { NodeFacts } from '@muster/actions'
import { AND } from '../bus/carriers.ts'
import { ConfigError } from '../config/config-error.ts'
import type { Db } from '../database/client/connection.ts'
import { runningNodes } from './node.ts'

/** Carriers of a node from its row: releases without the column `carriers` report theirs with the facts about the node. */
export function carriersOfNode({ carriers, facts }: { carriers: string | null; facts: unknown }): string[] {
  return (carriers ?? (facts as Partial<NodeFacts> | null)?.bus?.kind)?.split(AND) ?? []
}

/**
 * Throws `ConfigError` when a running node uses none of this node's carriers of messages: consoles and rights on one of the two would not
 * notice changes on the other. Both have their row before they check, so of two that start together at least one is refused.
 */
export async function requireSharedCarrier(
  db: Db,
  carriers: readonly string[],
  nodeId: string,
): Promise<void> {
  for (const node of await runningNodes(db)) {
    const theirs = carriersOfNode(node)
    if (node.node_id === nodeId || theirs.length === 0 || theirs.some(carrier => carriers.includes(carrier)))
      continue
    throw new ConfigError(
      `MUSTER_BUS: found ${carriers.join(AND)} as carrier of messages, and the running node ${node.name} uses ${theirs.join(AND)}, expected one that all nodes use: set MUSTER_NATS_URL and MUSTER_BUS alike on all nodes, or MUSTER_BUS=both on each node while the carrier changes.`,
    )
  }
}
