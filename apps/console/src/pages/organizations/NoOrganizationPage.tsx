import { Building2 } from 'lucide-react'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { Main } from '../../ui/Main.tsx'
import { Result, ResultIcon } from '../../ui/Result.tsx'

/** The start page of a user without an organization. */
export function NoOrganizationPage() {
  return (
    <Main>
      <Result
        art={<ResultIcon icon={Building2} />}
        title="No organization yet"
        action={<LinkButton to="/user/invitations">Invitations</LinkButton>}
      >
        Projects and repositories belong to organizations. Accept an invitation to join one.
      </Result>
    </Main>
  )
}
