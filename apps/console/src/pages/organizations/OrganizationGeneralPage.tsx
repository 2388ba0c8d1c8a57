import { getRouteApi } from '@tanstack/react-router'
import { useAction, useCommand } from '../../api/queries.ts'
import { NameForm } from '../../form/NameForm.tsx'
import { organizationIdOf, useOrganizations } from '../../organization.ts'
import { Page, PageHead } from '../../ui/app/Page.tsx'

const route = getRouteApi('/authenticated/org_{$organization}/settings/general')

/** General settings of an organization: its name. */
export function OrganizationGeneralPage() {
  const organizationId = organizationIdOf(route.useParams())
  // Throws for an organization that does not exist or that the person may not see.
  useAction('organizations_QueryMembers', { organizationId, limit: 1 })
  const organization = useOrganizations()?.find(one => one.organizationId === organizationId)
  const rename = useCommand('organizations_SetName', {
    invalidates: ['users_QueryOrganizations', 'organizations_Query'],
  })
  return (
    <Page width="settings">
      <PageHead title="General" />
      <NameForm
        title="Organization"
        name={organization?.name}
        note="Projects, repositories and members are not affected."
        save={name => rename.mutateAsync({ organizationId, name })}
      />
    </Page>
  )
}
