import type { ActionOutput } from '@muster/actions/client'

/** A deployment token in the list. */
export type Token = ActionOutput<'projects_QueryDeploymentTokens'>['tokens'][number]
