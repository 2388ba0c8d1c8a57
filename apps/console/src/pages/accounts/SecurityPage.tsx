import { Page, PageHead } from '../../ui/app/Page.tsx'
import { PasswordSection } from './PasswordSection.tsx'
import { TokensSection } from './TokensSection.tsx'

/** Page with the forms for the password and for personal access tokens. */
export function SecurityPage() {
  return (
    <Page width="settings">
      <PageHead title="Security" />
      <div className="stack">
        <PasswordSection />
        <TokensSection />
      </div>
    </Page>
  )
}
