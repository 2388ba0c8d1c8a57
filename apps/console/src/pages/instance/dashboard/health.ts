import type { ActionOutput } from '@muster/actions/client'

/** Health of the instance as the hub reports it. */
export type Health = ActionOutput<'instance_GetHealth'>

/** A problem that an administrator should see to. */
export type Problem = Health['problems'][number]

/** A node with its last report. */
export type HealthNode = NonNullable<Health['nodes']['value']>[number]
