import type { z } from 'zod'
import { accounts } from './accounts.ts'
import { audit } from './audit.ts'
import { bulkActions } from './bulk-actions.ts'
import type { Action } from './define.ts'
import { devicePage } from './device-page.ts'
import { devices } from './devices.ts'
import { instance } from './instance.ts'
import { labels } from './labels.ts'
import { operations } from './operations.ts'
import { organizations } from './organizations.ts'
import { projects } from './projects.ts'
import { repositories } from './repositories.ts'
import { software } from './software.ts'
import { views } from './views.ts'
import { webhooks } from './webhooks.ts'

/** Every action of the hub by its wire name. All transports, clients and documents are built from this list. */
export const actions = {
  ...accounts,
  ...organizations,
  ...projects,
  ...devices,
  ...devicePage,
  ...labels,
  ...bulkActions,
  ...operations,
  ...repositories,
  ...software,
  ...views,
  ...webhooks,
  ...instance,
  ...audit,
}

export type Actions = typeof actions
export type ActionName = keyof Actions
/** Input of an action as a caller sends it. */
export type ActionInput<N extends ActionName> = z.input<Actions[N]['input']>
/** Input of an action after parsing, as its handler gets it. */
export type ParsedInput<N extends ActionName> = z.output<Actions[N]['input']>
/** Output of a handler before it is parsed through the output schema. */
export type HandlerOutput<N extends ActionName> = z.input<Actions[N]['output']>
/** Output of an action as a caller gets it. */
export type ActionOutput<N extends ActionName> = z.output<Actions[N]['output']>

const byAlias = new Map<string, ActionName>(
  Object.entries(actions).flatMap(([name, action]) =>
    [name, ...action.aliases].map(key => [key, name as ActionName]),
  ),
)

/** Finds an action by its current name or an older name, else undefined. Safe for names like `constructor` and `__proto__`. */
export function findAction(name: string): { name: ActionName; action: Action } | undefined {
  const known = byAlias.get(name)
  return known && { name: known, action: actions[known] }
}
