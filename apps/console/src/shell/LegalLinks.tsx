import type { ReactNode } from 'react'
import { useConfig } from '../api/config.ts'

/** The terms of this instance: a link if the operator has set the URL, else plain text. */
export function TermsLink() {
  return <LegalLink href={useConfig().termsUrl}>Terms of Service</LegalLink>
}

/** The privacy policy of this instance: a link if the operator has set the URL, else plain text. */
export function PrivacyLink() {
  return <LegalLink href={useConfig().privacyUrl}>Privacy Policy</LegalLink>
}

function LegalLink({ href, children }: { href: string | undefined; children: ReactNode }) {
  if (!href) return <span>{children}</span>
  // The link opens a new tab, so that a form on the current page keeps its input.
  return (
    <a href={href} target="_blank" rel="noreferrer">
      {children}
    </a>
  )
}
