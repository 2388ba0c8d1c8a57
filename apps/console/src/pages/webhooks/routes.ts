import { createRoute } from '@tanstack/react-router'
import { actionPagesQuery, actionQuery } from '../../api/queries.ts'
import { lazyPage } from '../../lib/load-code.ts'
import { searchTexts } from '../../lib/search-texts.ts'
import { organizationIdOf } from '../../organization.ts'
import { EntityError } from '../../ui/EntityError.tsx'
import { organizationSettings } from '../organizations/routes.ts'
import type { attemptsSearch } from './AttemptsSection.tsx'
import type { webhooksSearch } from './WebhooksPage.tsx'
import { webhooksInput } from './webhooks-input.ts'

const webhooks = createRoute({
  getParentRoute: () => organizationSettings,
  path: 'webhooks',
  validateSearch: searchTexts<typeof webhooksSearch>,
  loader: ({ context, params, location }) => {
    // Prefetches only the unfiltered list. The page loads a filtered list itself.
    if (Object.keys(location.search).length > 0) return
    void context.queryClient.prefetchInfiniteQuery(
      actionPagesQuery('webhooks_Query', webhooksInput(organizationIdOf(params))),
    )
  },
  component: lazyPage(() => import('./WebhooksPage.tsx'), 'WebhooksPage'),
  errorComponent: EntityError,
})

const webhook = createRoute({
  getParentRoute: () => organizationSettings,
  path: 'webhooks/$webhookId',
  validateSearch: searchTexts<typeof attemptsSearch>,
  loader: ({ context, params: { webhookId } }) => {
    void context.queryClient.prefetchQuery(actionQuery('webhooks_GetDetails', { webhookId }))
  },
  component: lazyPage(() => import('./WebhookPage.tsx'), 'WebhookPage'),
  errorComponent: EntityError,
})

/** Webhooks of an organization, children of `organizationSettings`. */
export const webhookRoutes = [webhooks, webhook] as const
