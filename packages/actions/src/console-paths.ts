/**
 * Paths of the console's pages, in the notation of its router: `$name` matches any text without a slash. The hub answers 404 to
 * all other page paths. A test compares this list with the router.
 */
export const CONSOLE_PATHS: readonly string[] = [
  '/',
  '/login',
  '/signup',
  '/signup/verify',
  '/confirm-email',
  '/reset-password',
  '/set-password',
  '/design-system',
  '/user/invitations',
  '/settings',
  '/settings/profile',
  '/settings/security',
  '/settings/sessions',
  '/admin',
  '/admin/dashboard',
  '/admin/projects',
  '/admin/users',
  '/admin/log',
  '/admin/actions',
  '/admin/jobs',
  '/admin/cluster',
  '/org_{$organization}',
  '/org_{$organization}/projects',
  '/org_{$organization}/projects/$projectId',
  '/org_{$organization}/projects/$projectId/devices',
  '/org_{$organization}/projects/$projectId/devices/pending',
  '/org_{$organization}/projects/$projectId/devices/connect',
  '/org_{$organization}/projects/$projectId/devices/import',
  '/org_{$organization}/projects/$projectId/devices/$deviceId',
  '/org_{$organization}/projects/$projectId/devices/$deviceId/log',
  '/org_{$organization}/projects/$projectId/devices/$deviceId/timeline',
  '/org_{$organization}/projects/$projectId/devices/$deviceId/events',
  '/org_{$organization}/projects/$projectId/software',
  '/org_{$organization}/projects/$projectId/tokens',
  '/org_{$organization}/projects/$projectId/settings',
  '/org_{$organization}/projects/$projectId/log',
  '/org_{$organization}/projects/$projectId/repositories',
  '/org_{$organization}/repositories',
  '/org_{$organization}/repo_{$repository}',
  '/org_{$organization}/repositories/$repositoryId',
  '/org_{$organization}/repositories/$repositoryId/packages',
  '/org_{$organization}/repositories/$repositoryId/packages/$packageId',
  '/org_{$organization}/repositories/$repositoryId/packages/$packageId/versions/$versionId',
  '/org_{$organization}/repositories/$repositoryId/assets',
  '/org_{$organization}/repositories/$repositoryId/log',
  '/org_{$organization}/repositories/$repositoryId/settings',
  '/org_{$organization}/settings',
  '/org_{$organization}/settings/members',
  '/org_{$organization}/settings/log',
  '/org_{$organization}/settings/general',
  '/org_{$organization}/settings/webhooks',
  '/org_{$organization}/settings/webhooks/$webhookId',
]

const PATTERN = new RegExp(
  `^(?:${CONSOLE_PATHS.map(path =>
    path
      .replace(/\{\$\w+\}|\$\w+/g, '[^/]+')
      // The router accepts each path with and without a trailing slash.
      .replace(/\/?$/, '/?'),
  ).join('|')})$`,
  'i',
)

/** Whether a path is one of the console's pages. */
export function isConsolePath(path: string): boolean {
  return PATTERN.test(path)
}
