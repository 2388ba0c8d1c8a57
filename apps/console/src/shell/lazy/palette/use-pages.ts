import { useParams } from '@tanstack/react-router'
import { FileInput, Plus } from 'lucide-react'
import type { Organization } from '../../../organization.ts'
import { useSession } from '../../../session.ts'
import {
  ACCOUNT_PAGES,
  ADMIN_PAGES,
  INVITATIONS_PAGE,
  organizationPages,
  type PageLink,
  pendingPage,
  projectPages,
  UNLINKED_ADMIN_PAGES,
} from '../../app/pages.ts'
import type { OptionGroup } from './option.ts'

const importPage = (base: string): PageLink => ({
  to: `${base}/devices/import`,
  icon: FileInput,
  label: 'Import names and labels',
})

/** The pages that the user may open, with the pages of the project first, and the create actions of these pages. */
export function usePages(organization: Organization | undefined): {
  pages: OptionGroup[]
  actions: OptionGroup
} {
  const { isAdmin } = useSession()
  const { projectId, organization: inPath } = useParams({ strict: false })
  const ofOrganization = organization ? organizationPages(organization.organizationId) : []
  const base = `/org_${inPath}/projects/${projectId}`
  const ofProject = projectId && inPath ? [...projectPages(base), pendingPage(base), importPage(base)] : []
  const groups: [string, PageLink[]][] = [
    ['This project', ofProject],
    ['Organization', ofOrganization],
    ['Account', [...ACCOUNT_PAGES, INVITATIONS_PAGE]],
    ['Administration', isAdmin ? [...ADMIN_PAGES, ...UNLINKED_ADMIN_PAGES] : []],
  ]
  return {
    pages: groups.map(([label, links]) => ({
      label,
      options: links.map(({ to, icon, label }) => ({ key: to, to, icon, label })),
    })),
    actions: {
      label: 'Actions',
      options: groups.flatMap(([end, links]) =>
        links.flatMap(({ to, create }) =>
          create ? [{ key: `create ${to}`, to, icon: Plus, label: create, isCreating: true, end }] : [],
        ),
      ),
    },
  }
}
