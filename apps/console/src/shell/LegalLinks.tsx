import type { ReactNode } from 'react'
import { useConfig } from '../api/config.ts'

/** The terms of this instance: a link where the operator gave an address, plain words elsewhere. */
export function TermsLink() {
  return <LegalLink href={useConfig().termsUrl}>Terms of Service</LegalLink>
}

/** The privacy policy of this instance, as `TermsLink`. */
export function PrivacyLink() {
  return <LegalLink href={useConfig().privacyUrl}>Privacy Policy</LegalLink>
}

function LegalLink({ href, children }: { href: string | undefined; children: ReactNode }) {
  if (!href) return <span>{children}</span>
  // Beside the form, which keeps what was typed.
  return (
    <a href={href} target="_blank" rel="noreferrer">
      {children}
    </a>
  )
}
