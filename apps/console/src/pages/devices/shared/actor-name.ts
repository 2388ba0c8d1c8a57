import type { ActionOutput } from '@muster/actions/client'

type Acted = Extract<ActionOutput<'devices_QueryTimeline'>['entries'][number], { type: 'property' }>

/** Name of an actor in words: "Administrator", "This device", "The hub", "A deleted account". */
export function nameOf({ actor, actorName }: Pick<Acted, 'actor' | 'actorName'>): string {
  if (actor.actor === 'Device') return 'This device'
  if (actor.actor === 'System' || actor.actor === 'ClusterNode') return 'The hub'
  return actorName ?? ('userId' in actor ? 'A deleted account' : actor.actor)
}
