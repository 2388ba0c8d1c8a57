import type { ActionName } from '@muster/actions'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { PopulatedStage } from './populated-stage.ts'

/** Paths that lead to another one, such as the first page of a sidebar, and the end of the path to which they lead. */
export const REDIRECTS: Readonly<Record<string, string>> = {
  '/': '/projects',
  '/settings': '/settings/profile',
  '/admin': '/admin/dashboard',
  '/org_{$organization}': '/projects',
  '/org_{$organization}/projects/$projectId': '/devices',
  '/org_{$organization}/repo_{$repository}': '/packages',
  '/org_{$organization}/repositories/$repositoryId': '/packages',
  '/org_{$organization}/settings': '/settings/members',
}

/** Opens a page with an empty query cache and returns the actions that it has sent until it is complete. */
export async function actionsOf(page: Page, url: string): Promise<ActionName[]> {
  const sent: ActionName[] = []
  const listener = (request: { url(): string }): void => {
    const name = /\/invoke\/(\w+)$/.exec(request.url())?.[1]
    if (name !== undefined) sent.push(name as ActionName)
  }
  page.on('request', listener)
  await page.goto(url)
  await page.getByRole('heading', { level: 1 }).waitFor()
  // The samples of the design system stay busy.
  const busy = page.locator(url.endsWith('/design-system') ? '.page[aria-busy="true"]' : '[aria-busy="true"]')
  // An answer may lead to another query.
  let before = -1
  await expect
    .poll(
      async () => {
        const isQuiet = sent.length === before && (await busy.count()) === 0
        before = sent.length
        return isQuiet
      },
      { interval: 400 },
    )
    .toBe(true)
  page.off('request', listener)
  return sent
}

/** The address of a page of `CONSOLE_PATHS`, with the ids of the populated hub. */
export function urlOf(populated: PopulatedStage, path: string): string {
  const { stage, organizationId, projectId, devices, repositoryId, packageId, versionId, webhookId } =
    populated
  const parameters = {
    '{$organization}': organizationId.replace('org_', ''),
    '{$repository}': repositoryId.replace('repo_', ''),
    $projectId: projectId,
    $deviceId: devices.Active,
    $repositoryId: repositoryId,
    $packageId: packageId,
    $versionId: versionId,
    $webhookId: webhookId,
  }
  return Object.entries(parameters).reduce(
    (whole, [name, value]) => whole.replace(name, value),
    stage.hub.url + path,
  )
}
